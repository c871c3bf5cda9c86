//===- FactRules.cpp - What ops do to agreement between ranks -------------===//
//
// The rules of docs/Rationale.md, "What the verifier proves", that several ops
// share; each op's own is beside its verifier.
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

Facts bagua::joinAll(const FactContext &context, ArrayRef<Facts> operands) {
  Facts joined = context.all(Fact::Replicated);
  for (const Facts &facts : operands)
    joined = joinFacts(joined, facts);
  return joined;
}

Facts bagua::varyUnlessReplicated(const FactContext &context,
                                  ArrayRef<Facts> operands) {
  Facts facts = joinAll(context, operands);
  for (Fact &fact : facts)
    if (fact != Fact::Replicated)
      fact = Fact::Varying;
  return facts;
}

LogicalResult bagua::reduceFacts(Operation *op, const FactContext &context,
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

LogicalResult bagua::expectNotPending(Operation *op, const FactContext &context,
                                      ArrayRef<bool> axes,
                                      const Facts &operand) {
  for (auto [axis, isIn] : llvm::enumerate(axes))
    if (isIn && operand[axis] == Fact::Pending)
      return op->emitOpError()
             << "expected an operand that has been reduced over axis '"
             << context.axisNames[axis]
             << "', found one that is pending over it";
  return success();
}

Facts bagua::inferExchanged(const FactContext &context, AxesAttr over,
                            const Facts &operand) {
  return joinFacts(operand, context.varyingOn(over));
}

Facts bagua::inferMultilinear(const FactContext &context,
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
