//===- Strategies.h - Published systems as pipelines ----------------------===//
//
// One table: a strategy is a name, its paper, and a pipeline over the passes
// with options that can be changed.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_STRATEGIES_H
#define BAGUA_TRANSFORMS_UTILS_STRATEGIES_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace bagua {

struct Strategy {
  llvm::StringRef name;
  llvm::StringRef paper;
  /// Pipeline text; `${option=value}` stands for an option with its default.
  llvm::StringRef pipeline;
  /// Means something without options.
  bool isPreset = true;
};

struct StrategyOption {
  std::string name;
  std::string value;
};

/// What may be changed, with defaults, each once.
llvm::SmallVector<StrategyOption> optionsOf(const Strategy &strategy);

/// All strategies, in alphabetical order.
llvm::ArrayRef<Strategy> getStrategies();

/// The pipeline, on a module, of `NAME` or `NAME{option=value ...}`. An unknown
/// name or option is an error that lists those there are.
llvm::Expected<std::string> expandStrategy(llvm::StringRef text);

/// What every strategy begins with: from an imported step to one whose
/// gradients are reduced.
std::string preparationPipeline();

/// Registers `--bagua-strategy`.
void registerStrategyPipeline();

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_STRATEGIES_H
