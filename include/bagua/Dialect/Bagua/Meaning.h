//===- Meaning.h - What the elements of a value are computed from ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A symbolic walk over a step at graph level, on logical tensors and in exact
// arithmetic. Buckets, parts, layouts, hierarchies, casts and codecs disappear;
// the meaning of a value says from which elements of which arguments and
// compute results each element of the value is computed, and how. Two values of
// equal meaning are equal on every rank; the converse does not hold.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_MEANING_H
#define BAGUA_DIALECT_BAGUA_MEANING_H

#include "bagua/Dialect/Bagua/FactAnalysis.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace bagua {

/// A function of ranks and elements. Element `i` of an elementwise term is
/// computed from the elements `i + shift` of its operands.
struct MeaningTerm {
  enum class Kind : uint8_t {
    /// An argument of the step.
    Argument,
    /// A result of an op that may use every element of every operand: compute,
    /// matrix products, all_to_all.
    Opaque,
    /// The elements that fill up a striped bucket.
    Padding,
    /// An op that works element by element.
    Elementwise,
    /// A reduction over a set of axes.
    Reduce,
    /// sgd, adam, adam_apply: the operands are first the state that the result
    /// replaces, then the gradient (or its moment), then the rest.
    Update,
  };
  struct Operand {
    int32_t term;
    int64_t shift;
  };

  Kind kind;
  /// Equal for terms of equal meaning, in every step and process.
  uint64_t hash;
  /// The first value with this meaning.
  mlir::Value value;
  llvm::SmallVector<Operand, 3> operands;
  /// For Reduce, and for sums over parts: a bit for each of the cluster's axes.
  uint64_t axes = 0;
  /// For sums over parts: equal for all sums over one logical tensor.
  uint64_t sum = 0;
  ReduceKind reduction = ReduceKind::Sum;
};

/// Elements [offset, offset + count) of a term.
struct MeaningSegment {
  int32_t term;
  int64_t offset;
  int64_t count;
};

/// Meanings of all values of one step. O(ops + segments); a bucket has as many
/// segments as tensors (times parts, if striped).
class MeaningAnalysis {
public:
  using Segments = llvm::SmallVector<MeaningSegment, 1>;

  /// `facts` must have run on the step, without an error.
  MeaningAnalysis(StepOp step, const FactAnalysis &facts);

  /// Emits an error and fails if an op defines no meaning of a result.
  llvm::LogicalResult run();

  /// The meaning of the elements of the logical tensor, in order.
  llvm::ArrayRef<MeaningSegment> of(mlir::Value value) const {
    return meanings.find(value)->second;
  }
  const MeaningTerm &term(int32_t index) const { return terms[index]; }
  size_t termCount() const { return terms.size(); }
  /// A number that values of equal meaning share.
  uint64_t fingerprintOf(mlir::Value value) const;

  // Through these calls an op defines the meaning of its results
  // (StepOpInterface).

  /// The results are any function of all elements of all operands.
  void defineOpaque(mlir::Operation *op);
  /// The result is the first operand.
  void defineSame(mlir::Operation *op);
  /// Elements `i` of results are a function of elements `i` of operands.
  void defineElementwise(mlir::Operation *op);
  /// The result is the operand, reduced over `over`; opaque if the operand is
  /// cut over `over`.
  void defineReduction(mlir::Operation *op, AxesAttr over, ReduceKind kind);
  /// The result is the reduction over ranks of the terms of an encoded operand.
  void defineTermReduction(mlir::Operation *op, AxesAttr terms,
                           ReduceKind kind);
  /// The results are whole values that come from other ranks of the group.
  void defineMoved(mlir::Operation *op, AxesAttr over);
  /// The result is an update's; StepOpInterface::getStateCount gives its
  /// states.
  void defineUpdate(mlir::Operation *op);
  /// The result is a sum over all elements of the operand; in parts, if the
  /// operand is.
  void defineSum(mlir::Operation *op);
  void defineConcat(ConcatOp op);
  void defineSplit(SplitOp op);
  void defineSlice(SliceOp op);
  void defineEncode(EncodeOp op);
  void defineLinear(LinearOp op);

  /// Pushes are applied one by one.
  bool isAsynchronous() const { return facts.getContext().asynchronous; }
  /// Whether ranks along `over` have equal values.
  bool isReplicated(mlir::Value value, AxesAttr over) const;

private:
  using Words = llvm::SmallVector<uint64_t, 8>;

  Segments concatenate(mlir::ValueRange inputs, LayoutAttr striped);
  Segments reduce(mlir::Operation *op, AxesAttr over, ReduceKind kind);
  Segments elementwise(MeaningTerm::Kind kind, const Words &words,
                       mlir::Value result, mlir::ValueRange operands,
                       llvm::ArrayRef<float> coefficients = {});
  void sortAddends(llvm::MutableArrayRef<MeaningSegment> pieces,
                   llvm::ArrayRef<float> coefficients, Words &words) const;

  int32_t internSum(uint64_t sum, uint64_t axes, mlir::Value value);
  int32_t intern(MeaningTerm term, const Words &words);
  int32_t addTerm(MeaningTerm::Kind kind, mlir::Value value, uint64_t hash);
  uint64_t hashOf(mlir::Type type);
  Words wordsOf(mlir::Operation *op);
  llvm::SmallVector<std::pair<int64_t, int64_t>> partsOf(int64_t count,
                                                         LayoutAttr layout);

  StepOp step;
  ClusterOp cluster;
  const FactAnalysis &facts;
  std::vector<MeaningTerm> terms;
  llvm::DenseMap<uint64_t, int32_t> interned;
  llvm::DenseMap<mlir::Type, uint64_t> typeHashes;
  /// The number of compute ops met so far with an equal name and operands, by
  /// hash.
  llvm::DenseMap<uint64_t, uint64_t> twins;
  llvm::DenseMap<mlir::Value, Segments> meanings;
};

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_MEANING_H
