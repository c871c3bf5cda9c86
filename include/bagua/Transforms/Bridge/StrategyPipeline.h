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
#include "bagua/Transforms/Bridge/StepStrategies.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace bagua {

/// The pipeline, for a module, of `NAME` or `NAME{option=value ...}`, or of a
/// list of strategies for its steps (StepStrategies.h). An unknown name, option
/// or word is an error that lists the known ones.
llvm::Expected<std::string> expandStrategy(llvm::StringRef text);

/// The pipeline without preparationPipeline, for a step that has passed it.
llvm::Expected<std::string> expandDecisions(llvm::StringRef text);

/// An entry of a list, and the pipelines of its strategy for the step: up to
/// the end of the graph level, and to the end.
struct CompiledStep {
  StepStrategy entry;
  std::string graphLevel, scheduledLevel;
};

/// The entries of a list of strategies. An error names the step whose strategy
/// is wrong or searches.
llvm::Expected<llvm::SmallVector<CompiledStep>>
expandStepList(llvm::StringRef text);

/// The passes that prove the steps of a module together, between both levels
/// and at the end.
inline constexpr llvm::StringLiteral kProofAtGraphLevel = "bagua-verify-graph";
inline constexpr llvm::StringLiteral kProofOfStates = "bagua-verify-states";

/// The beginning of every strategy's pipeline: it turns an imported step into
/// one whose gradients are reduced.
std::string preparationPipeline();

/// Registers `--bagua-strategy`.
void registerStrategyPipeline();

} // namespace bagua

#endif // BAGUA_TRANSFORMS_BRIDGE_STRATEGYPIPELINE_H
