//===- LowerCompression.cpp - bagua-lower-compression ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatter-gather of encoded parts for each all_reduce that asks for a codec.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Bridge/MessageWriter.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Report.h"

namespace bagua {
#define GEN_PASS_DEF_LOWERCOMPRESSIONPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
struct LowerCompressionPass
    : public bagua::impl::LowerCompressionPassBase<LowerCompressionPass> {
  using LowerCompressionPassBase::LowerCompressionPassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    FailureOr<ClusterModel> model = readClusterModel(step.lookupCluster());
    if (failed(model))
      return signalPassFailure();
    llvm::json::Array lowered;
    auto reduces = step.getBody().front().getOps<AllReduceOp>();
    for (AllReduceOp reduce : llvm::make_early_inc_range(reduces)) {
      Message message = messageOf(reduce);
      if (message.wire.isNone() || !reduce.whyNot(Rewriting::Hierarchy).empty())
        continue;
      OpBuilder builder(reduce);
      Value result = writeMessage(
          builder, reduce, expandMessage(*model, message, {FormKind::Flat, 0}));
      reduce.getOutput().replaceAllUsesWith(result);
      reduce.erase();
      lowered.push_back(
          llvm::json::Object{{"bytes", message.bytes()},
                             {"encoding", encodingText(message.wire)}});
    }
    if (lowered.empty())
      return markAllAnalysesPreserved();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"all_reduces", std::move(lowered)}});
  }
};
} // namespace
