//===- CastWire.cpp - bagua-cast-wire -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cast before each all_reduce of a gradient or bucket, and one back; or the
// request for an encoding that is no cast.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Provenance.h"
#include "bagua/Transforms/Algorithms/GradientReduces.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Bridge/MessageWriter.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Report.h"

namespace bagua {
#define GEN_PASS_DEF_CASTWIREPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// Sends the operand of `reduce` as `wire`. For an encoding that is no cast,
/// this only sets a request, which bagua-lower-hierarchy or
/// bagua-lower-compression carries out.
static void sendAs(AllReduceOp reduce, const ClusterModel &cluster,
                   const Encoding &wire) {
  if (!isReducible(wire))
    return reduce.setCodecAttr(EncodingAttr::get(reduce.getContext(), wire));
  OpBuilder builder(reduce);
  Message message = messageOf(reduce);
  message.wire = wire;
  Value result = writeMessage(
      builder, reduce, expandMessage(cluster, message, {FormKind::Flat, 0}));
  if (Attribute form = reduce->getAttr(kFormAttr))
    result.getDefiningOp()->getOperand(0).getDefiningOp()->setAttr(kFormAttr,
                                                                   form);
  reduce.getOutput().replaceAllUsesWith(result);
  reduce.erase();
}

namespace {
struct CastWirePass : public bagua::impl::CastWirePassBase<CastWirePass> {
  using CastWirePassBase::CastWirePassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    FailureOr<ClusterModel> cluster = readClusterModel(step.lookupCluster());
    if (failed(cluster))
      return signalPassFailure();
    int64_t casts = 0, left = 0;
    bool isChanged = false;
    auto reduces = step.getBody().front().getOps<AllReduceOp>();
    for (AllReduceOp reduce : llvm::make_early_inc_range(reduces)) {
      FailureOr<Encoding> wire = readWire(reduce, type.getValue());
      if (failed(wire))
        return signalPassFailure();
      isChanged |= reduce->removeAttr(kWireAttr) != nullptr;
      if (wire->isNone())
        continue;
      if (!canNarrow(reduce)) {
        ++left;
        continue;
      }
      sendAs(reduce, *cluster, *wire);
      isChanged = true;
      ++casts;
    }
    if (left > 0 && casts == 0)
      step.emitRemark() << "the wire changes nothing: expected an all_reduce "
                           "of float32 gradients, found none among "
                        << left;
    if (!isChanged)
      markAllAnalysesPreserved();
    // The casts have changed the step's meaning on purpose.
    if (casts > 0 && step->hasAttr(kMeaningAttr) && failed(recordMeaning(step)))
      return signalPassFailure();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"type", encodingText(type.getValue())},
                                     {"all_reduces", casts}});
  }
};
} // namespace
