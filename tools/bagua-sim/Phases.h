//===- Phases.h - A training of several steps, predicted ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles all steps of a module and simulates each of them by itself: what a
// step leaves running into the next one counts only between two runs of the
// same step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_SIM_PHASES_H
#define BAGUA_TOOLS_BAGUA_SIM_PHASES_H

#include "bagua/Transforms/Bridge/Predict.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace bagua {

/// One row of the phase table.
struct PhasePrediction {
  std::string step;
  /// `at 8`, `until 8`, `every 4 offset 0`, `otherwise`, `background_ns 1000`.
  std::string when;
  std::string strategy;
  Prediction prediction;
  /// How often the row runs in the first iterations; nothing for a background
  /// row, which runs beside others.
  std::optional<int64_t> runs;
};

struct TrainingPrediction {
  std::string training;
  /// The number of iterations that are added up; 0: none.
  int64_t iterations = 0;
  std::vector<PhasePrediction> phases;
};

/// Predicts the rows of the module's only training by a strategy, or by a list
/// of strategies for its steps. Emits errors. O(iterations * rows) besides the
/// compilation.
llvm::FailureOr<TrainingPrediction> predictTraining(mlir::ModuleOp module,
                                                    llvm::StringRef strategy,
                                                    int64_t iterations);

/// Prints a row for each row of the table, and the time of all iterations.
void printTraining(const TrainingPrediction &training, llvm::raw_ostream &os);
llvm::json::Object toJson(const TrainingPrediction &training);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_PHASES_H
