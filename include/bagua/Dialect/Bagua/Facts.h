//===- Facts.h - What is known about agreement between ranks --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lattice of docs/Rationale.md, "What the verifier proves": for each value
// and axis of the cluster, whether the ranks along the axis agree on the
// numbers. Ops give the facts of their results through
// StepOpInterface::inferFacts; FactAnalysis.h walks a step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_FACTS_H
#define BAGUA_DIALECT_BAGUA_FACTS_H

#include "bagua/Support/ReduceKind.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>

namespace mlir {
class Operation;
}

namespace bagua {

class AxesAttr;
class StepOp;

/// Each trouble is a bit, so that a join loses none: a mean is owed; ranks
/// differ by more than contributions to a mean; each rank has computed from its
/// own part; each has summed over its own part.
enum class Fact : uint8_t {
  /// All ranks along the axis have the same numbers.
  Replicated = 0,
  /// They differ, and their mean along the axis is wanted.
  Pending = 1,
  /// They differ.
  Varying = 2,
  /// They differ, and hold contributions to a mean that is still owed.
  Mixed = Pending | Varying,
  /// They differ, because each rank has computed from its own part of a tensor.
  /// The result for all parts is wanted, by a reduction of any kind.
  Partial = Varying | 4,
  /// They differ, because each rank has the sum over its own part of a tensor.
  /// The sum over all parts is wanted.
  Addend = Varying | 8,
};

/// The word for the worst trouble of a fact.
llvm::StringRef stringifyFact(Fact fact);

/// The troubles of both facts.
inline Fact joinFact(Fact lhs, Fact rhs) {
  return static_cast<Fact>(static_cast<uint8_t>(lhs) |
                           static_cast<uint8_t>(rhs));
}
/// Whether the value has contributions to a mean that have not been reduced.
inline bool isOwed(Fact fact) { return joinFact(fact, Fact::Pending) == fact; }
/// Whether one rank's copy lacks something that other ranks have.
inline bool needsAll(Fact fact) {
  return isOwed(fact) || joinFact(fact, Fact::Partial) == fact ||
         joinFact(fact, Fact::Addend) == fact;
}
/// Whether the ranks' sums over their parts have not been added.
inline bool isAddend(Fact fact) { return joinFact(fact, Fact::Addend) == fact; }

/// One fact for each axis of the cluster, in cluster order.
using Facts = llvm::SmallVector<Fact, 4>;

/// joinFact on every axis.
Facts joinFacts(const Facts &lhs, const Facts &rhs);

/// The inputs of ops' rules besides the operands' facts.
struct FactContext {
  explicit FactContext(StepOp step);

  /// Number of the cluster's axes.
  unsigned axisCount() const { return axisNames.size(); }
  /// A mask over the cluster's axes; all false for a null list.
  llvm::SmallVector<bool, 4> maskOf(AxesAttr axes) const;
  /// All axes with the same fact.
  Facts all(Fact fact) const { return Facts(axisCount(), fact); }
  /// `varying` on the axes of the list, `replicated` on the others.
  Facts varyingOn(AxesAttr axes) const;

  llvm::SmallVector<llvm::StringRef, 4> axisNames;
  llvm::SmallVector<bool, 4> dataAxes;
  /// The step's arguments by name.
  llvm::DenseMap<mlir::StringAttr, unsigned> arguments;
  /// Pushes are applied one by one as they arrive (asp, ssp).
  bool asynchronous;
  /// Ops of which the next states but buffers are made, other than through
  /// gradients. All other ops belong to the model itself.
  llvm::DenseSet<mlir::Operation *> updating;
};

//===----------------------------------------------------------------------===//
// Rules that ops share
//===----------------------------------------------------------------------===//

/// The troubles of all operands on every axis. A linear function that is the
/// same on all ranks keeps them.
Facts joinAll(const FactContext &context, llvm::ArrayRef<Facts> operands);

/// The facts of any function of the operands: replicated if all operands are,
/// else varying; an owed mean stays owed.
Facts varyUnlessReplicated(const FactContext &context,
                           llvm::ArrayRef<Facts> operands);

/// Ranks that store different parts of an operand, or not at all because only a
/// root stores it, compute different things. So results that are not stored
/// like the operand become partial, or vary.
void varyWhereStoredApart(mlir::Operation *op, const FactContext &context,
                          llvm::MutableArrayRef<Facts> results);

/// The facts of a function that is linear in each operand by itself: pending
/// stays pending if only one operand is pending and none varies.
Facts inferMultilinear(const FactContext &context,
                       llvm::ArrayRef<Facts> operands);

/// Makes the value replicated by a reduction over `over`. Emits an error if it
/// is reduced twice, or by another kind than the mean that is wanted.
llvm::LogicalResult reduceFacts(mlir::Operation *op, const FactContext &context,
                                AxesAttr over, ReduceKind kind,
                                bool allowsPendingSum, Facts &facts);

/// The facts of an exchange in which every rank gets values of its own from the
/// others.
Facts inferExchanged(const FactContext &context, AxesAttr over,
                     const Facts &operand);

/// Emits an error if a value is owed a reduction over one of the axes: an op
/// that passes on one rank's copy, or pieces of several ranks' copies, would
/// lose what the other ranks have for that reduction.
llvm::LogicalResult expectReduced(mlir::Operation *op,
                                  const FactContext &context,
                                  llvm::ArrayRef<bool> axes,
                                  const Facts &operand);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_FACTS_H
