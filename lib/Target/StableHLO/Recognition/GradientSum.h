//===- GradientSum.h - The reductions of a gradient as one sum ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gradient may be summed over one axis after another, or use by use: sums in
// a chain, and sums that are added up, are one sum.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_GRADIENTSUM_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_GRADIENTSUM_H

#include "StableHLO/Recognition/Rewrites.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace bagua::importer {

/// Reductions whose result is `factor()` times a mean.
struct GradientSum {
  /// In the graph's order.
  llvm::SmallVector<OpId, 1> ops;
  /// Each op sums what the one before has made, over other axes. Otherwise all
  /// sum over the same axes, and their results are added up.
  bool isChain = true;
  bool isMean = false;
  /// Some of it is divided before the rest is added.
  bool isDividedBetween = false;
  /// The divisions that make a mean of the sum; none if it is no mean.
  llvm::SmallVector<Division, 1> divisions;
  AxisMask axes = 0;
  /// The number of ranks of the sum, and the product of all divisors.
  double size = 1, divisor = 1;
  /// The divisor of those ops that are means by themselves.
  double divisorOfMeans = 1;
  /// The value that is the whole sum, in the param's shape; kNone if only the
  /// result of the last op is, in another shape.
  ValueId whole = kNone;

  double factor() const { return size / divisor; }
};

/// Reads the reductions that reach one param as one sum.
class SumReader {
public:
  SumReader(const Graph &graph, const Uses &uses);

  /// Returns why the reductions are no multiple of a mean; empty if they are.
  /// `isInPlace` says whether a value of the param's shape has its elements
  /// where the param has them.
  std::string read(llvm::ArrayRef<OpId> ids, ValueId param,
                   llvm::function_ref<bool(ValueId)> isInPlace,
                   GradientSum &sum) const;

private:
  OpId onlyUserOf(ValueId value) const;
  bool isOnlyUse(ValueId value, OpId user) const;
  ValueId meetingOf(llvm::ArrayRef<ValueId> sums) const;
  bool append(OpId id, GradientSum &sum) const;
  bool addUp(llvm::ArrayRef<OpId> ids, GradientSum &sum) const;
  bool isMean(const GradientSum &sum) const;
  std::string whyNoMultiple(const GradientSum &sum) const;
  ValueId inPlace(ValueId value, const GradientSum &sum, ValueId param,
                  llvm::function_ref<bool(ValueId)> isInPlace) const;

  const Graph &graph;
  const Uses &uses;
  /// By value: whether the step returns it.
  std::vector<bool> isOutput;
};

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_GRADIENTSUM_H
