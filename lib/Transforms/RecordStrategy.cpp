//===- RecordStrategy.cpp - bagua-record-strategy -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the strategy's text into the module.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace bagua {
#define GEN_PASS_DEF_RECORDSTRATEGYPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

namespace {
struct RecordStrategyPass
    : public bagua::impl::RecordStrategyPassBase<RecordStrategyPass> {
  using RecordStrategyPassBase::RecordStrategyPassBase;

  void runOnOperation() override {
    getOperation()->setAttr(bagua::kStrategyAttr,
                            mlir::StringAttr::get(&getContext(), text));
  }
};
} // namespace
