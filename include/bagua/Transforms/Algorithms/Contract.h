//===- Contract.h - What a step promises of the program's tensors ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Relations and updates that a contract lists, and who asks for them.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_CONTRACT_H
#define BAGUA_TRANSFORMS_ALGORITHMS_CONTRACT_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "llvm/ADT/DenseSet.h"

namespace bagua {

/// Promises for updates of states by reduced gradients that the runtime runs.
llvm::SmallVector<mlir::Attribute> promiseUpdates(StepOp step);

/// Adds relations for the step's own communication, and names its operands and
/// results.
void promiseExchanged(StepOp step,
                      llvm::SmallVectorImpl<mlir::Attribute> &contract);

/// The tensors that relations are about or begin at.
llvm::DenseSet<mlir::StringAttr>
relatedBy(llvm::ArrayRef<mlir::Attribute> contract);

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

#endif // BAGUA_TRANSFORMS_ALGORITHMS_CONTRACT_H
