//===- Relaxations.h - Algorithms of distributed training as rows ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an algorithm does to a step whose gradients are the ranks' own, and what
// it promises of the result. One row each; bagua-relax applies one.
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
  /// The gradients that the algorithm has still to communicate, in block order.
  llvm::SmallVector<mlir::OpResult> (*findGradients)(StepOp step,
                                                     const FactAnalysis &facts);
  /// What it promises of a step that is still as it was, and gives names to
  /// what it speaks of: to what the step itself communicates, too.
  llvm::SmallVector<mlir::Attribute> (*promise)(
      StepOp step, const FactAnalysis &facts,
      llvm::ArrayRef<mlir::OpResult> gradients);
  /// Puts its communication on the gradients.
  void (*rewrite)(StepOp step, const FactAnalysis &facts,
                  llvm::ArrayRef<mlir::OpResult> gradients);
};

/// In alphabetical order.
llvm::ArrayRef<Relaxation> getRelaxations();
/// Null where there is none of this name.
const Relaxation *findRelaxation(std::string_view name);

/// A row as the option of a pass: its word is the row's name.
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

/// Makes compute of the arithmetic that stands between a gradient and the
/// step's own reduction of it, with a remark: no relation says what becomes of
/// a gradient that way, but one does of what the program makes of it. The same
/// of arithmetic by which a statistic is made of a batch, or of what the
/// program computes. Returns how many ops. Invalidates the facts if there are
/// any.
int64_t giveUnreduced(StepOp step, const FactAnalysis &facts);

/// What the step's updates of states by reduced gradients promise, where the
/// runtime runs them.
llvm::SmallVector<mlir::Attribute> promiseUpdates(StepOp step);

/// A step's contract, by the tensors that it speaks of.
class ContractTensors {
public:
  /// O(contract).
  explicit ContractTensors(StepOp step);

  /// Whether the contract says what the program finds in a tensor that it gave.
  /// A step without a contract leaves that open.
  bool giveBack(mlir::StringAttr tensor) const {
    return !isThere || related.contains(tensor);
  }

  /// Whether the runtime may run an update, as far as the contract goes: it
  /// says what the update makes of its states, or promises nobody the gradient.
  /// Otherwise (arithmetic stands between reduction and update, say) only the
  /// program gets what was promised.
  bool allow(StepOpInterface update) const;

private:
  bool isPromised(mlir::Value value) const;

  StepOp step;
  bool isThere;
  /// Which relations are about or begin at, and which updates make.
  llvm::DenseSet<mlir::StringAttr> related, updated;
};

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_RELAXATIONS_H
