//===- Facts.h - What is known of agreement between ranks -----------------===//
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

/// In ascending order: the worse of two facts is the larger.
enum class Fact : uint8_t {
  /// All ranks along the axis have the same numbers.
  Replicated = 0,
  /// They differ, and their mean along the axis is what is wanted.
  Pending = 1,
  /// They differ.
  Varying = 2,
};

llvm::StringRef stringifyFact(Fact fact);

/// One fact for each axis of the cluster, in cluster order.
using Facts = llvm::SmallVector<Fact, 4>;

/// The worse fact on every axis.
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
  /// Pushes are applied one by one as they arrive (asp, ssp).
  bool asynchronous;
};

//===----------------------------------------------------------------------===//
// Rules that ops share
//===----------------------------------------------------------------------===//

/// The worst fact of all operands on every axis: what a linear function of
/// them, the same on all ranks, keeps.
Facts joinAll(const FactContext &context, llvm::ArrayRef<Facts> operands);

/// Replicated where all operands are, else varying: any function of them.
Facts varyUnlessReplicated(const FactContext &context,
                           llvm::ArrayRef<Facts> operands);

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
/// contributions to a mean that is still owed over one of the axes: an error,
/// which is emitted.
llvm::LogicalResult expectNotPending(mlir::Operation *op,
                                     const FactContext &context,
                                     llvm::ArrayRef<bool> axes,
                                     const Facts &operand);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_FACTS_H
