//===- Relaxations.h - Algorithms of distributed training as rows ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of algorithms. Each row says how an algorithm changes a step whose
// gradients are the ranks' own, and what it promises of the result. bagua-relax
// applies one row.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_RELAXATIONS_H
#define BAGUA_TRANSFORMS_UTILS_RELAXATIONS_H

#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Scheduling/Strategy.h"

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

/// Gives the program, with a remark, the arithmetic between a gradient and the
/// step's own reduction of it: no relation can say what becomes of the
/// gradient, but one can say what becomes of the result of that arithmetic.
/// Does the same for arithmetic that makes a statistic from a batch, or from
/// what the program computes. Returns the number of ops. Invalidates the facts
/// if there are any.
int64_t giveUnreduced(StepOp step, const FactAnalysis &facts);

/// Promises for updates of states by reduced gradients that the runtime runs.
llvm::SmallVector<mlir::Attribute> promiseUpdates(StepOp step);

/// The tensors of which a step's contract speaks.
class ContractTensors {
public:
  /// O(contract).
  explicit ContractTensors(StepOp step);

  /// Whether the contract says what the program finds in a tensor that it gave.
  /// Always true for a step without a contract.
  bool giveBack(mlir::StringAttr tensor) const {
    return !isThere || related.contains(tensor);
  }

  /// Whether the contract lets the runtime run an update: it says what the
  /// update makes of its states, or promises nobody the gradient. Otherwise
  /// (arithmetic stands between reduction and update, say) the program must run
  /// the update to get the gradient that was promised.
  bool allow(StepOpInterface update) const;

private:
  bool isPromised(mlir::Value value) const;

  StepOp step;
  bool isThere;
  /// Tensors that a relation is about or begins at; states that an update of
  /// the contract makes.
  llvm::DenseSet<mlir::StringAttr> related, updated;
};

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_RELAXATIONS_H
