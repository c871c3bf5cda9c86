//===- Facts.h - What is known of agreement between ranks -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lattice of docs/Rationale.md, "What the verifier proves": per value and
// axis of the cluster, whether the ranks along it agree on the numbers. Ops
// give the facts of their results through StepOpInterface::inferFacts; the
// analysis that walks a step is in FactAnalysis.h.
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

/// A bit for each trouble, so that joining loses none: a mean is owed, ranks
/// differ by more than contributions to one, each has computed of its own part.
enum class Fact : uint8_t {
  /// All ranks along the axis have the same numbers.
  Replicated = 0,
  /// They differ, and their mean along the axis is what is wanted.
  Pending = 1,
  /// They differ.
  Varying = 2,
  /// They differ, and hold contributions to a mean that is still owed.
  Mixed = Pending | Varying,
  /// They differ, for each has computed of its own part of a tensor: what all
  /// have is wanted, by a reduction of any kind.
  Partial = Varying | 4,
};

/// The worst word for the troubles.
llvm::StringRef stringifyFact(Fact fact);

/// All troubles of both.
inline Fact joinFact(Fact lhs, Fact rhs) {
  return static_cast<Fact>(static_cast<uint8_t>(lhs) |
                           static_cast<uint8_t>(rhs));
}
/// Whether contributions to a mean are in it that have not been reduced.
inline bool isOwed(Fact fact) { return joinFact(fact, Fact::Pending) == fact; }
/// Whether one rank's copy lacks something that others have.
inline bool needsAll(Fact fact) {
  return isOwed(fact) || joinFact(fact, Fact::Partial) == fact;
}

/// One fact for each axis of the cluster, in cluster order.
using Facts = llvm::SmallVector<Fact, 4>;

/// The same on every axis.
Facts joinFacts(const Facts &lhs, const Facts &rhs);

/// What the rules of a step's ops depend on besides operands.
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
  /// Ops that the next states but buffers are made of, other than through
  /// gradients. What the others do is the model's own.
  llvm::DenseSet<mlir::Operation *> updating;
};

//===----------------------------------------------------------------------===//
// Rules that ops share
//===----------------------------------------------------------------------===//

/// The troubles of all operands on every axis: what a linear function of them,
/// the same on all ranks, keeps.
Facts joinAll(const FactContext &context, llvm::ArrayRef<Facts> operands);

/// Any function of the operands: replicated where all are, else varying; what
/// is owed stays so.
Facts varyUnlessReplicated(const FactContext &context,
                           llvm::ArrayRef<Facts> operands);

/// Ranks that store different parts of an operand, or of which a root alone
/// stores it, compute different things: what is not stored like it is partial,
/// or varies.
void varyWhereStoredApart(mlir::Operation *op, const FactContext &context,
                          llvm::MutableArrayRef<Facts> results);

/// Linear in each operand by itself: pending stays pending while only one
/// operand is and none varies.
Facts inferMultilinear(const FactContext &context,
                       llvm::ArrayRef<Facts> operands);

/// A reduction over `over` makes the value replicated there. Reducing twice, or
/// by another kind than the mean that is wanted, is an error, which is emitted.
llvm::LogicalResult reduceFacts(mlir::Operation *op, const FactContext &context,
                                AxesAttr over, ReduceKind kind,
                                bool allowsPendingSum, Facts &facts);

/// Every rank gets values of its own from the others.
Facts inferExchanged(const FactContext &context, AxesAttr over,
                     const Facts &operand);

/// What hands on one rank's copy, or pieces of several ranks' copies, loses
/// what the others have made for a reduction over one of the axes: an error,
/// which is emitted.
llvm::LogicalResult expectReduced(mlir::Operation *op,
                                  const FactContext &context,
                                  llvm::ArrayRef<bool> axes,
                                  const Facts &operand);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_FACTS_H
