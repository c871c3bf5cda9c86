//===- FactRules.cpp - The rules of agreement between ranks ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of docs/Rationale.md, "What the verifier proves", that several ops
// share. Each op's own rule is beside its verifier.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Dialect/Bagua/Sources.h"

using namespace mlir;
using namespace bagua;

StringRef bagua::stringifyFact(Fact fact) {
  if (fact == Fact::Replicated)
    return "replicated";
  if (fact == Fact::Pending)
    return "pending";
  if (isOwed(fact))
    return "mixed";
  if (isAddend(fact))
    return "partly summed";
  return fact == Fact::Varying ? "varying" : "partial";
}

Facts bagua::joinFacts(const Facts &lhs, const Facts &rhs) {
  Facts joined = lhs;
  for (auto [a, b] : llvm::zip_equal(joined, rhs))
    a = joinFact(a, b);
  return joined;
}

FactContext::FactContext(StepOp step)
    : arguments(step.numberArguments()), asynchronous(step.isAsynchronous()) {
  for (auto axis : step.lookupCluster().getAxes().getAsRange<AxisAttr>())
    axisNames.push_back(axis.getName());
  dataAxes = maskOf(step.getDataAxes());
  SmallVector<Value> next;
  for (auto [value, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (step.getArgument(argument).getRole() != Role::Buffer)
      next.push_back(value);
  walkSources(next, [&](Value value) {
    if (getGradientParam(value))
      return WalkResult::skip();
    if (Operation *op = value.getDefiningOp())
      updating.insert(op);
    return WalkResult::advance();
  });
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
      fact = joinFact(fact, Fact::Varying);
  return facts;
}

/// How ranks along an axis store a tensor; nothing if each rank stores all of
/// it.
static std::optional<LayoutEntry::Kind> storageOver(Type type, StringRef axis) {
  if (LayoutAttr layout = getLayout(cast<RankedTensorType>(type)))
    for (const LayoutEntry &entry : layout.getEntries())
      if (entry.kind != LayoutEntry::Kind::Server &&
          entry.getAxes().contains(axis))
        return entry.kind;
  return std::nullopt;
}

void bagua::varyWhereStoredApart(Operation *op, const FactContext &context,
                                 MutableArrayRef<Facts> results) {
  for (auto [axis, name] : llvm::enumerate(context.axisNames))
    for (Type operand : op->getOperandTypes()) {
      std::optional<LayoutEntry::Kind> kind = storageOver(operand, name);
      for (auto [type, facts] : llvm::zip_equal(op->getResultTypes(), results))
        if (kind && kind != storageOver(type, name))
          facts[axis] =
              joinFact(facts[axis], kind == LayoutEntry::Kind::Shard &&
                                            context.updating.contains(op)
                                        ? Fact::Partial
                                        : Fact::Varying);
    }
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
    if (isOwed(facts[axis]) && kind != ReduceKind::Mean &&
        !(isSum && allowsPendingSum)) {
      std::string_view found = reduceKindName(kind);
      return op->emitOpError()
             << "expected kind mean for a gradient that is pending over axis '"
             << name << "', found " << StringRef(found.data(), found.size());
    }
    if (isAddend(facts[axis]) && !isSum) {
      std::string_view found = reduceKindName(kind);
      return op->emitOpError()
             << "expected kind sum for a sum over the parts along axis '"
             << name << "', found " << StringRef(found.data(), found.size());
    }
    facts[axis] = Fact::Replicated;
  }
  return success();
}

LogicalResult bagua::expectReduced(Operation *op, const FactContext &context,
                                   ArrayRef<bool> axes, const Facts &operand) {
  for (auto [axis, isIn] : llvm::enumerate(axes))
    if (isIn && needsAll(operand[axis]))
      return op->emitOpError()
             << "expected an operand that has been reduced over axis '"
             << context.axisNames[axis] << "', found one that is "
             << stringifyFact(operand[axis]) << " over it";
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
      return isOwed(operand[axis]);
    };
    if (llvm::count_if(operands, isPending) > 1)
      facts[axis] = joinFact(facts[axis], Fact::Varying);
  }
  return facts;
}
