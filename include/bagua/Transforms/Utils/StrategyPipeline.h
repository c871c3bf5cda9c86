//===- StrategyPipeline.h - Rows of decisions as passes -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipeline of a strategy, as its text says (Scheduling/StrategyText.h).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_STRATEGYPIPELINE_H
#define BAGUA_TRANSFORMS_UTILS_STRATEGYPIPELINE_H

#include "bagua/Scheduling/StrategyText.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace bagua {

/// The pipeline, on a module, of `NAME` or `NAME{option=value ...}`. An unknown
/// name, option or word is an error that lists those there are.
llvm::Expected<std::string> expandStrategy(llvm::StringRef text);

/// The same without what every strategy begins with, for a step that has it.
llvm::Expected<std::string> expandDecisions(llvm::StringRef text);

/// What every strategy begins with: from an imported step to one whose
/// gradients are reduced.
std::string preparationPipeline();

/// Registers `--bagua-strategy`.
void registerStrategyPipeline();

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_STRATEGYPIPELINE_H
