//===- Relaxations.h - Algorithms of distributed training as rows ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of algorithms. Each row says how an algorithm changes a step whose
// gradients are the ranks' own, and what it promises of the result. bagua-relax
// applies one row.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_RELAXATIONS_H
#define BAGUA_TRANSFORMS_ALGORITHMS_RELAXATIONS_H

#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Scheduling/Search/Strategy.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace bagua {

struct Relaxation {
  std::string_view name;
  StrategyClass strategyClass;
  /// The gradients that the algorithm still has to communicate, in block order.
  llvm::SmallVector<mlir::OpResult> (*findGradients)(StepOp step,
                                                     const FactAnalysis &facts);
  /// The algorithm's promises for a step that is not rewritten yet, with those
  /// for the step's own communication. Names the tensors of which the promises
  /// speak.
  llvm::SmallVector<mlir::Attribute> (*promise)(
      StepOp step, const FactAnalysis &facts,
      llvm::ArrayRef<mlir::OpResult> gradients);
  /// Adds the algorithm's communication to the gradients.
  void (*rewrite)(StepOp step, const FactAnalysis &facts,
                  llvm::ArrayRef<mlir::OpResult> gradients);
};

/// In alphabetical order.
llvm::ArrayRef<Relaxation> getRelaxations();
/// Null if no row has this name.
const Relaxation *findRelaxation(std::string_view name);

/// A row as an option of a pass; its word is the row's name.
struct RelaxationChoice {
  const Relaxation *row = findRelaxation(kDataParallel);
};
inline std::string_view wordOf(const RelaxationChoice &choice) {
  return choice.row->name;
}
template <> std::optional<RelaxationChoice> parseWord(std::string_view word);
template <>
std::string listWords<RelaxationChoice>(std::string_view separator,
                                        std::string_view before);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_RELAXATIONS_H
