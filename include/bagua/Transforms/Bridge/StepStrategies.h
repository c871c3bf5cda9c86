//===- StepStrategies.h - A strategy for each step of a module ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a list such as `@warmup=ddp{wire=bf16} @compressed=ddp`, and finds its
// steps in a module.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_BRIDGE_STEPSTRATEGIES_H
#define BAGUA_TRANSFORMS_BRIDGE_STEPSTRATEGIES_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace bagua {

/// One entry of a list: a step's name and the text of its strategy.
struct StepStrategy {
  std::string step, strategy;
};

/// Whether a strategy's text is a list: it begins with '@'.
bool isStepList(llvm::StringRef text);

/// Splits a list at spaces outside braces. An entry that is no
/// `@STEP=STRATEGY`, and a step named twice, is an error. The strategies are
/// not read.
llvm::Expected<llvm::SmallVector<StepStrategy>>
parseStepList(llvm::StringRef text);

/// The steps of the list, in its order. Emits an error if an entry names no
/// step of the module, or a step has no entry.
llvm::FailureOr<llvm::SmallVector<StepOp>>
findSteps(mlir::ModuleOp module, llvm::ArrayRef<StepStrategy> list);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_BRIDGE_STEPSTRATEGIES_H
