//===- Unroll.cpp - Loops written out -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works from the outside in: a loop's copies are looked at again, for the loops
// in them.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Unroll.h"

#include "StableHLO/Graph/Flatten.h"
#include "StableHLO/Graph/Loops.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace bagua::importer;

/// Where so many ops communicate one after the other, passes take minutes.
constexpr int64_t kMostOps = 100000;

namespace {
class Unroller {
public:
  Unroller(const Functions &functions, CallScopes &scopes)
      : functions(functions), scopes(scopes) {}

  LogicalResult unrollIn(Block &block);

private:
  FailureOr<bool> unroll(Operation *op);
  void writeTurns(Operation *op, const CountedLoop &loop);
  static bool isNew(Operation *op, llvm::DenseSet<Location> &said) {
    return said.insert(op->getLoc()).second;
  }

  const Functions &functions;
  CallScopes &scopes;
  int64_t opsWritten = 0;
  /// Copies of one loop get one remark.
  llvm::DenseSet<Location> saidUnrolled, saidLarge;
};
} // namespace

/// The number of a loop's turn, as a constant of the counter's type; null if
/// that is no integer.
static Value writeCounter(OpBuilder &builder, Location loc, Type type,
                          int64_t number) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto element =
      tensor ? dyn_cast<IntegerType>(tensor.getElementType()) : IntegerType();
  if (!element || !tensor.hasStaticShape())
    return nullptr;
  OperationState state(loc, "stablehlo.constant");
  state.addTypes(type);
  state.addAttribute(
      "value",
      DenseElementsAttr::get(tensor, builder.getIntegerAttr(element, number)));
  return builder.create(state)->getResult(0);
}

/// Copies the body once for each turn in front of the loop. The counter of each
/// copy is a constant, so places in stacks of layers are known.
void Unroller::writeTurns(Operation *op, const CountedLoop &loop) {
  Block &body = op->getRegion(1).front();
  OpBuilder builder(op);
  SmallVector<Value> carried(op->getOperands());
  for (int64_t turn = 0; turn < loop.turns; ++turn) {
    if (Value counter =
            writeCounter(builder, op->getLoc(), carried[loop.counter].getType(),
                         loop.begin + turn * loop.step))
      carried[loop.counter] = counter;
    IRMapping mapping;
    mapping.map(body.getArguments(), carried);
    for (Operation &inner : llvm::drop_end(body)) {
      cloneWhole(builder, inner, mapping);
      inner.walk([&](Operation *source) {
        if (StringAttr scope = scopes.lookup(source))
          scopes[mapping.lookup(source)] = scope;
      });
    }
    for (auto [value, next] :
         llvm::zip_equal(carried, body.back().getOperands()))
      value = mapping.lookupOrDefault(next);
  }
  op->replaceAllUsesWith(carried);
}

FailureOr<bool> Unroller::unroll(Operation *op) {
  if (!isWellFormedLoop(op) || !communicates(op->getRegion(1), functions))
    return false;
  std::optional<CountedLoop> loop = readCountedLoop(
      op, [&](unsigned i) { return integerOf(op->getOperand(i)); }, functions);
  // Nobody knows how often a condition communicates.
  if (!loop || communicates(op->getRegion(0), functions))
    return false;
  if (failed(inlineCalls(op->getRegion(1).front(), functions, scopes)))
    return failure();
  int64_t size = 0;
  op->getRegion(1).walk([&](Operation *) { ++size; });
  if (loop->turns > (kMostOps - opsWritten) / size) {
    if (isNew(op, saidLarge))
      emitRemark(op->getLoc())
          << "the loop communicates in each of " << loop->turns << " turns of "
          << size << " ops, and stays a loop, as the step would have more than "
          << kMostOps << " ops";
    return false;
  }
  opsWritten += loop->turns * size;
  if (loop->turns > 0 && isNew(op, saidUnrolled))
    emitRemark(op->getLoc())
        << "the loop communicates in each of its " << loop->turns
        << " turns, which become ops one after the other: a program that runs "
           "the plan writes the loop out, too; --unroll=off keeps it";
  writeTurns(op, *loop);
  return true;
}

LogicalResult Unroller::unrollIn(Block &block) {
  for (auto next = block.begin(); next != block.end();) {
    Operation *op = &*next;
    // Copies stand in front of the loop, behind the op that is there now.
    Operation *before = op->getPrevNode();
    FailureOr<bool> isUnrolled = unroll(op);
    if (failed(isUnrolled))
      return failure();
    if (*isUnrolled) {
      op->walk([&](Operation *inner) { scopes.erase(inner); });
      op->erase();
      next = before ? std::next(before->getIterator()) : block.begin();
      continue;
    }
    if (op->getName().getStringRef() == kManualComputation)
      for (Region &region : op->getRegions())
        for (Block &inner : region)
          if (failed(unrollIn(inner)))
            return failure();
    ++next;
  }
  return success();
}

LogicalResult bagua::importer::unrollLoops(func::FuncOp entry,
                                           const Functions &functions,
                                           CallScopes &scopes) {
  return Unroller(functions, scopes).unrollIn(entry.getBody().front());
}
