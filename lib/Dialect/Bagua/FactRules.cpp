//===- FactRules.cpp - What each op does to agreement between ranks -------===//
//
// The rules of docs/Rationale.md, "What the verifier proves", one function an
// op or a family of ops.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Bagua.h"

using namespace mlir;
using namespace bagua;

StringRef bagua::stringifyFact(Fact fact) {
  switch (fact) {
  case Fact::Replicated:
    return "replicated";
  case Fact::Pending:
    return "pending";
  case Fact::Varying:
    return "varying";
  }
  llvm_unreachable("all facts are handled");
}

Facts bagua::joinFacts(const Facts &lhs, const Facts &rhs) {
  Facts joined = lhs;
  for (auto [a, b] : llvm::zip_equal(joined, rhs))
    a = std::max(a, b);
  return joined;
}

FactContext::FactContext(StepOp step) : asynchronous(step.isAsynchronous()) {
  for (auto axis : step.lookupCluster().getAxes().getAsRange<AxisAttr>())
    axisNames.push_back(axis.getName());
  dataAxes = maskOf(step.getDataAxes());
}

SmallVector<bool, 4> FactContext::maskOf(AxesAttr axes) const {
  SmallVector<bool, 4> mask(axisCount(), false);
  if (axes)
    for (auto [index, name] : llvm::enumerate(axisNames))
      mask[index] = axes.contains(name);
  return mask;
}

Facts FactContext::varyingOn(AxesAttr axes) const {
  Facts facts = all(Fact::Replicated);
  for (auto [fact, isIn] : llvm::zip_equal(facts, maskOf(axes)))
    if (isIn)
      fact = Fact::Varying;
  return facts;
}

//===----------------------------------------------------------------------===//
// Rules that families share
//===----------------------------------------------------------------------===//

static Facts joinAll(const FactContext &context, ArrayRef<Facts> operands) {
  Facts joined = context.all(Fact::Replicated);
  for (const Facts &facts : operands)
    joined = joinFacts(joined, facts);
  return joined;
}

/// Replicated where all operands are, else varying.
static Facts varyUnlessReplicated(const FactContext &context,
                                  ArrayRef<Facts> operands) {
  Facts facts = joinAll(context, operands);
  for (Fact &fact : facts)
    if (fact != Fact::Replicated)
      fact = Fact::Varying;
  return facts;
}

/// A reduction over `over` makes the value replicated there. Reducing twice, or
/// by another kind than the mean that is wanted, is an error.
static LogicalResult reduceFacts(Operation *op, const FactContext &context,
                                 AxesAttr over, ReduceKind kind,
                                 bool allowsPendingSum, Facts &facts) {
  for (auto [axis, isIn] : llvm::enumerate(context.maskOf(over))) {
    if (!isIn)
      continue;
    StringRef name = context.axisNames[axis];
    if (facts[axis] == Fact::Replicated)
      return op->emitOpError()
             << "reduces over axis '" << name
             << "', where its operand is already the same on all ranks";
    bool isSum = kind == ReduceKind::Sum;
    if (facts[axis] == Fact::Pending && kind != ReduceKind::Mean &&
        !(isSum && allowsPendingSum)) {
      std::string_view found = reduceKindName(kind);
      return op->emitOpError()
             << "expected kind mean for a gradient that is pending over axis '"
             << name << "', found " << StringRef(found.data(), found.size());
    }
    facts[axis] = Fact::Replicated;
  }
  return success();
}

/// The common case: one operand, one result, over the op's own axes.
template <typename OpTy>
static LogicalResult inferReduction(OpTy op, const FactContext &context,
                                    ArrayRef<Facts> operands,
                                    SmallVectorImpl<Facts> &results) {
  Facts facts = operands[0];
  if (failed(reduceFacts(op, context, op.getOver(), op.getKind().getValue(),
                         /*allowsPendingSum=*/false, facts)))
    return failure();
  results.push_back(facts);
  return success();
}

/// Every rank gets values of its own from the others.
static void inferVarying(const FactContext &context, AxesAttr over,
                         const Facts &operand, unsigned resultCount,
                         SmallVectorImpl<Facts> &results) {
  results.append(resultCount, joinFacts(operand, context.varyingOn(over)));
}

//===----------------------------------------------------------------------===//
// Compute and rearrangement
//===----------------------------------------------------------------------===//

LogicalResult ComputeOp::inferFacts(const FactContext &context,
                                    ArrayRef<Facts> operands,
                                    SmallVectorImpl<Facts> &results) {
  Facts unmarked = varyUnlessReplicated(context, operands);
  auto step = cast<StepOp>((*this)->getParentOp());
  for (unsigned index = 0; index < getNumResults(); ++index) {
    Facts &facts = results.emplace_back(unmarked);
    StringAttr name = getGradientParam(getResult(index));
    if (!name)
      continue;
    unsigned param = *step.findArgument(name);
    auto varies = context.maskOf(step.getArgument(param).getVaries());
    for (unsigned axis = 0; axis < context.axisCount(); ++axis)
      if (context.dataAxes[axis] && !varies[axis])
        facts[axis] = Fact::Pending;
  }
  return success();
}

LogicalResult ConcatOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  results.push_back(joinAll(context, operands));
  return success();
}

LogicalResult SplitOp::inferFacts(const FactContext &, ArrayRef<Facts> operands,
                                  SmallVectorImpl<Facts> &results) {
  results.append(getNumResults(), operands[0]);
  return success();
}

LogicalResult SliceOp::inferFacts(const FactContext &, ArrayRef<Facts> operands,
                                  SmallVectorImpl<Facts> &results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult AfterOp::inferFacts(const FactContext &, ArrayRef<Facts> operands,
                                  SmallVectorImpl<Facts> &results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult CastOp::inferFacts(const FactContext &, ArrayRef<Facts> operands,
                                 SmallVectorImpl<Facts> &results) {
  results.push_back(operands[0]);
  return success();
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::inferFacts(const FactContext &context,
                                      ArrayRef<Facts> operands,
                                      SmallVectorImpl<Facts> &results) {
  return inferReduction(*this, context, operands, results);
}

LogicalResult ReduceScatterOp::inferFacts(const FactContext &context,
                                          ArrayRef<Facts> operands,
                                          SmallVectorImpl<Facts> &results) {
  return inferReduction(*this, context, operands, results);
}

LogicalResult ReduceOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  return inferReduction(*this, context, operands, results);
}

LogicalResult PushOp::inferFacts(const FactContext &context,
                                 ArrayRef<Facts> operands,
                                 SmallVectorImpl<Facts> &results) {
  Facts facts = operands[0];
  // Encoded terms arrive unreduced; their decode is the reduction.
  if (isa<EncodedType>(getOutput().getType())) {
    results.push_back(facts);
    return success();
  }
  if (failed(reduceFacts(*this, context, getOver(), getKind().getValue(),
                         /*allowsPendingSum=*/context.asynchronous, facts)))
    return failure();
  results.push_back(facts);
  return success();
}

LogicalResult DecodeOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  Facts facts = operands[0];
  if (AxesAttr terms = getInput().getType().getTerms())
    if (failed(reduceFacts(*this, context, terms, getKind()->getValue(),
                           /*allowsPendingSum=*/false, facts)))
      return failure();
  results.push_back(facts);
  return success();
}

LogicalResult EncodeOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  // The residual is ignored: that a lossy method converges is a promise, not a
  // proof.
  results.push_back(operands[0]);
  if (getNextResidual())
    results.push_back(context.all(Fact::Varying));
  return success();
}

LogicalResult AllGatherOp::inferFacts(const FactContext &,
                                      ArrayRef<Facts> operands,
                                      SmallVectorImpl<Facts> &results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult BroadcastOp::inferFacts(const FactContext &context,
                                      ArrayRef<Facts> operands,
                                      SmallVectorImpl<Facts> &results) {
  Facts facts = operands[0];
  for (auto [fact, isIn] : llvm::zip_equal(facts, context.maskOf(getOver())))
    if (isIn)
      fact = Fact::Replicated;
  results.push_back(facts);
  return success();
}

LogicalResult AllToAllOp::inferFacts(const FactContext &context,
                                     ArrayRef<Facts> operands,
                                     SmallVectorImpl<Facts> &results) {
  // Encoded parts become terms of the same logical value: what they mean is
  // kept, so that decoding what was replicated is found to reduce it twice.
  if (isa<EncodedType>(getInput().getType()))
    results.push_back(operands[0]);
  else
    inferVarying(context, getOver(), operands[0], 1, results);
  return success();
}

LogicalResult ExchangeOp::inferFacts(const FactContext &context,
                                     ArrayRef<Facts> operands,
                                     SmallVectorImpl<Facts> &results) {
  inferVarying(context, getOver(), operands[0], getNumResults(), results);
  return success();
}

LogicalResult PullOp::inferFacts(const FactContext &context,
                                 ArrayRef<Facts> operands,
                                 SmallVectorImpl<Facts> &results) {
  if (context.asynchronous)
    inferVarying(context, getOver(), operands[0], 1, results);
  else
    results.push_back(operands[0]);
  return success();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  results.push_back(joinAll(context, operands));
  return success();
}

/// Linear in each operand by itself: pending stays pending while only one
/// operand is and none varies.
static Facts inferMultilinear(const FactContext &context,
                              ArrayRef<Facts> operands) {
  Facts facts = joinAll(context, operands);
  for (unsigned axis = 0; axis < context.axisCount(); ++axis) {
    auto isPending = [axis](const Facts &operand) {
      return operand[axis] == Fact::Pending;
    };
    if (llvm::count_if(operands, isPending) > 1)
      facts[axis] = Fact::Varying;
  }
  return facts;
}

LogicalResult SgdOp::inferFacts(const FactContext &context,
                                ArrayRef<Facts> operands,
                                SmallVectorImpl<Facts> &results) {
  results.append(getNumResults(), inferMultilinear(context, operands));
  return success();
}

LogicalResult MatmulOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  results.push_back(inferMultilinear(context, operands));
  return success();
}

LogicalResult AdamOp::inferFacts(const FactContext &context,
                                 ArrayRef<Facts> operands,
                                 SmallVectorImpl<Facts> &results) {
  results.append(getNumResults(), varyUnlessReplicated(context, operands));
  return success();
}

LogicalResult AdamApplyOp::inferFacts(const FactContext &context,
                                      ArrayRef<Facts> operands,
                                      SmallVectorImpl<Facts> &results) {
  results.push_back(varyUnlessReplicated(context, operands));
  return success();
}

LogicalResult OrthonormalizeOp::inferFacts(const FactContext &context,
                                           ArrayRef<Facts> operands,
                                           SmallVectorImpl<Facts> &results) {
  results.push_back(varyUnlessReplicated(context, operands));
  return success();
}
