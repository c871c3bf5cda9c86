//===- Hoist.cpp - Reductions out of loops --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks at each value that a loop carries, back from the op that makes its next
// value to the reduction.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Hoist.h"

#include "StableHLO/Graph/Collectives.h"
#include "StableHLO/Graph/Loops.h"
#include "StableHLO/Graph/OpTable.h"
#include "StableHLO/Graph/Splats.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

static StringRef nameOf(Operation *op) {
  auto [dialect, name] = op->getName().getStringRef().split('.');
  return dialect == "stablehlo" || dialect == "mhlo" ? name : StringRef();
}

/// The number that all elements of a value are, if a constant makes it.
static std::optional<double> splatOf(Value value) {
  Operation *def = value.getDefiningOp();
  while (def && def->getNumOperands() == 1 &&
         (nameOf(def) == "broadcast_in_dim" || nameOf(def) == "reshape"))
    def = def->getOperand(0).getDefiningOp();
  return def && nameOf(def) == "constant" ? importer::splatOf(def)
                                          : std::nullopt;
}

/// Whether an op adds up one tensor of floating-point numbers over ranks.
static bool isSumOverRanks(Operation *op) {
  if (nameOf(op) != "all_reduce" || op->getNumOperands() != 1 ||
      op->getNumResults() != 1 || op->getNumRegions() != 1)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.hasStaticShape() && op->getOperand(0).getType() == type &&
         isa<FloatType>(type.getElementType()) &&
         kindOfRegion(op->getRegion(0)) == ReduceKind::Sum;
}

namespace {
/// A well-formed `while`.
class Loop {
public:
  Loop(Operation *op, CallScopes &scopes)
      : op(op), condition(&op->getRegion(0).front()),
        body(&op->getRegion(1).front()), scopes(scopes) {}

  /// Moves what it can.
  void hoist();

private:
  Operation *reductionOf(unsigned index) const;
  Operation *reductionBehind(Value value) const;
  bool isAlike(Value value) const;
  void moveOut(Operation *reduce, unsigned index);

  Operation *op;
  Block *condition, *body;
  CallScopes &scopes;
};
} // namespace

/// The sum over ranks from which a value is made with no other use on the way,
/// by moving elements and by factors that are constants; null for none.
Operation *Loop::reductionBehind(Value value) const {
  while (value.hasOneUse()) {
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != body || def->getNumResults() != 1)
      return nullptr;
    StringRef name = nameOf(def);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    bool isOfTwo = name == "multiply" || name == "divide" || name == "reduce";
    if (!type || !type.hasStaticShape() ||
        def->getNumOperands() != (isOfTwo ? 2 : 1))
      return nullptr;
    if (name == "all_reduce")
      return isSumOverRanks(def) ? def : nullptr;
    unsigned from = 0;
    if (name == "reshape" || name == "transpose" ||
        name == "broadcast_in_dim" ||
        (name == "reduce" && isReduceOfOne(def))) {
      auto given = dyn_cast<RankedTensorType>(def->getOperand(0).getType());
      if (!given || !given.hasStaticShape() ||
          given.getNumElements() != type.getNumElements())
        return nullptr;
    } else if (name == "multiply" && splatOf(def->getOperand(0))) {
      from = 1;
    } else if ((name != "multiply" && name != "divide") ||
               !splatOf(def->getOperand(1))) {
      return nullptr;
    }
    value = def->getOperand(from);
  }
  return nullptr;
}

/// Whether a value of the body is the same on all ranks in each turn: it is
/// computed from constants, and from carried values of which that is true.
bool Loop::isAlike(Value value) const {
  static const llvm::StringSet<> kNumbers = {
      "add",     "subtract", "multiply", "convert", "compare", "select",
      "minimum", "maximum",  "clamp",    "reshape", "constant"};
  SmallVector<Value> pending{value};
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    auto argument = dyn_cast<BlockArgument>(next);
    if (argument && argument.getOwner() == body) {
      pending.push_back(body->back().getOperand(argument.getArgNumber()));
      pending.push_back(op->getOperand(argument.getArgNumber()));
      continue;
    }
    Operation *def = next.getDefiningOp();
    if (!def || !kNumbers.contains(nameOf(def)))
      return false;
    pending.append(def->operand_begin(), def->operand_end());
  }
  return true;
}

/// The reduction of which a carried value is the sum or the stack over the
/// turns; null for none.
Operation *Loop::reductionOf(unsigned index) const {
  BlockArgument carried = body->getArgument(index);
  Value next = body->back().getOperand(index);
  Operation *def = next.getDefiningOp();
  if (!carried.hasOneUse() || !condition->getArgument(index).use_empty() ||
      !def || def != *carried.getUsers().begin() || !next.hasOneUse() ||
      splatOf(op->getOperand(index)) != 0.0)
    return nullptr;
  if (nameOf(def) == "add" && def->getNumOperands() == 2)
    return reductionBehind(def->getOperand(0) == carried ? def->getOperand(1)
                                                         : def->getOperand(0));
  bool isStack = nameOf(def) == "dynamic_update_slice" &&
                 def->getNumOperands() > 2 && def->getOperand(0) == carried &&
                 llvm::all_of(def->getOperands().drop_front(2),
                              [&](Value at) { return isAlike(at); });
  return isStack ? reductionBehind(def->getOperand(1)) : nullptr;
}

void Loop::moveOut(Operation *reduce, unsigned index) {
  Value result = op->getResult(index);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  IRMapping mapping;
  Operation *moved = cloneWhole(builder, *reduce, mapping);
  result.replaceAllUsesWith(moved->getResult(0));
  moved->setOperand(0, result);
  moved->getResult(0).setType(result.getType());
  emitRemark(reduce->getLoc())
      << "the loop adds up the terms of this sum over ranks, or stacks them, "
         "and "
      << result.getType()
      << " is reduced once behind it; --hoist=off leaves it in the loop";
  reduce->getResult(0).replaceAllUsesWith(reduce->getOperand(0));
  if (StringAttr scope = scopes.lookup(reduce))
    scopes[moved] = scope;
  scopes.erase(reduce);
  reduce->erase();
}

void Loop::hoist() {
  for (unsigned index = 0; index < op->getNumResults(); ++index)
    if (Operation *reduce = reductionOf(index))
      moveOut(reduce, index);
}

/// Lets the op, if it is a sum over elements and the only use of a sum over
/// ranks, come first: the ranks then sum less. Newer JAX reduces the gradient
/// of a bias where it was broadcast.
static void sumElementsFirst(Operation *op) {
  if (nameOf(op) != "reduce" || op->getNumOperands() != 2 ||
      op->getNumResults() != 1 || op->getNumRegions() != 1 ||
      isReduceOfOne(op) || kindOfRegion(op->getRegion(0)) != ReduceKind::Sum ||
      splatOf(op->getOperand(1)) != 0.0)
    return;
  Operation *over = op->getOperand(0).getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!over || over->getBlock() != op->getBlock() || !isSumOverRanks(over) ||
      !over->getResult(0).hasOneUse() || !type || !type.hasStaticShape())
    return;
  emitRemark(over->getLoc())
      << "only sums of elements of this sum over ranks are used: they come "
         "first, and "
      << type << " is reduced instead of " << over->getResult(0).getType()
      << "; --hoist=off leaves it";
  op->setOperand(0, over->getOperand(0));
  over->moveAfter(op);
  op->getResult(0).replaceAllUsesWith(over->getResult(0));
  over->setOperand(0, op->getResult(0));
  over->getResult(0).setType(type);
}

/// Works from the inside out, as a sum that has left a loop may leave the next.
static LogicalResult hoistIn(Block &block, const Functions &functions,
                             CallScopes &scopes) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    sumElementsFirst(&op);
    bool isLoop = isWellFormedLoop(&op);
    for (Region &region : op.getRegions()) {
      bool isInlined = isLoop && communicates(region, functions);
      for (Block &inner : region)
        if ((isInlined && failed(inlineCalls(inner, functions, scopes))) ||
            failed(hoistIn(inner, functions, scopes)))
          return failure();
    }
    if (isLoop)
      Loop(&op, scopes).hoist();
  }
  return success();
}

LogicalResult bagua::importer::hoistReductions(func::FuncOp entry,
                                               const Functions &functions,
                                               CallScopes &scopes) {
  return hoistIn(entry.getBody().front(), functions, scopes);
}
