//===- VerifyGraph.cpp - bagua-verify-graph -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the dialect's fact analysis as a pass.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/GraphProof.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Report.h"

namespace bagua {
#define GEN_PASS_DEF_VERIFYGRAPHPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

namespace {
struct VerifyGraphPass
    : public bagua::impl::VerifyGraphPassBase<VerifyGraphPass> {
  void runOnOperation() override {
    if (failed(bagua::verifyGraph(getOperation())))
      return signalPassFailure();
    if (bagua::Report *report = bagua::getReport(&getContext()))
      report->add(getOperation(), getArgument(),
                  llvm::json::Object{{"proved", true}});
    markAllAnalysesPreserved();
  }
};
} // namespace
