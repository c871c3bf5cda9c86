//===- StrategyPipeline.h - Rows of decisions as passes -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the pipeline of a strategy from its text
// (Scheduling/Search/StrategyText.h).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_BRIDGE_STRATEGYPIPELINE_H
#define BAGUA_TRANSFORMS_BRIDGE_STRATEGYPIPELINE_H

#include "bagua/Scheduling/Search/StrategyText.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace bagua {

/// The pipeline, for a module, of `NAME` or `NAME{option=value ...}`. An
/// unknown name, option or word is an error that lists the known ones.
llvm::Expected<std::string> expandStrategy(llvm::StringRef text);

/// The pipeline without preparationPipeline, for a step that has passed it.
llvm::Expected<std::string> expandDecisions(llvm::StringRef text);

/// The beginning of every strategy's pipeline: it turns an imported step into
/// one whose gradients are reduced.
std::string preparationPipeline();

/// Registers `--bagua-strategy`.
void registerStrategyPipeline();

} // namespace bagua

#endif // BAGUA_TRANSFORMS_BRIDGE_STRATEGYPIPELINE_H
