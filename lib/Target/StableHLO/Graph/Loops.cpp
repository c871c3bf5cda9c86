//===- Loops.cpp - What is known about a loop -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads condition and increment of a `while`, and walks bodies and callees.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Loops.h"

#include "StableHLO/Graph/OpTable.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bagua::importer;

bool bagua::importer::isWellFormedLoop(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if ((dialect != "stablehlo" && dialect != "mhlo") ||
      op->getName().stripDialect() != "while" || op->getNumRegions() != 2 ||
      !op->getRegion(0).hasOneBlock() || !op->getRegion(1).hasOneBlock())
    return false;
  Block &condition = op->getRegion(0).front(), &body = op->getRegion(1).front();
  unsigned count = op->getNumResults();
  return !body.empty() && !condition.empty() && op->getNumOperands() == count &&
         body.getNumArguments() == count &&
         condition.getNumArguments() == count &&
         body.back().getNumOperands() == count &&
         condition.back().getNumOperands() == 1;
}

/// The element type of a tensor of integers; null for any other type.
static IntegerType integersOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast<IntegerType>(tensor.getElementType())
                : IntegerType();
}

/// Whether elements of the type can be the number.
static bool holds(IntegerType type, int64_t number) {
  unsigned width = type.getWidth();
  if (type.isUnsigned() || width == 1)
    return number >= 0 && (width >= 63 || number >> width == 0);
  return width >= 64 || (number >= -(int64_t(1) << (width - 1)) &&
                         number < int64_t(1) << (width - 1));
}

std::optional<int64_t> bagua::importer::integerOf(Value value) {
  SmallVector<IntegerType> types;
  // Stub dialects verify nothing, not even that a value comes from before it.
  for (int step = 0; step < 8; ++step) {
    Operation *op = value.getDefiningOp();
    IntegerType type = integersOf(value.getType());
    if (!op || !type || type.getWidth() > 64)
      return std::nullopt;
    types.push_back(type);
    StringRef name = op->getName().stripDialect();
    if (name == "constant") {
      auto elements = op->getAttrOfType<DenseElementsAttr>("value");
      if (!elements || !elements.isSplat() ||
          !isa<IntegerType>(elements.getElementType()))
        return std::nullopt;
      APInt number = elements.getSplatValue<APInt>();
      if (number.getBitWidth() > 64 ||
          (type.isUnsigned() && number.getActiveBits() > 63))
        return std::nullopt;
      int64_t integer = type.isUnsigned() || type.getWidth() == 1
                            ? static_cast<int64_t>(number.getZExtValue())
                            : number.getSExtValue();
      bool isExact = llvm::all_of(
          types, [&](IntegerType each) { return holds(each, integer); });
      return isExact ? std::optional(integer) : std::nullopt;
    }
    if ((name != "convert" && name != "reshape") || op->getNumOperands() != 1)
      return std::nullopt;
    value = op->getOperand(0);
  }
  return std::nullopt;
}

/// The number that a body adds to its counter in each turn, possibly in calls.
static std::optional<int64_t> incrementOf(Value next, Value counter,
                                          const Functions &functions) {
  // Calls may be recursive, which is refused elsewhere.
  for (int depth = 0; depth < 16; ++depth) {
    Operation *op = next.getDefiningOp();
    auto call = dyn_cast_or_null<func::CallOp>(op);
    if (!call) {
      if (!op || op->getName().stripDialect() != "add" ||
          op->getNumOperands() != 2)
        return std::nullopt;
      for (unsigned i : {0u, 1u})
        if (op->getOperand(i) == counter)
          return integerOf(op->getOperand(1 - i));
      return std::nullopt;
    }
    func::FuncOp callee = functions.lookup(call.getCallee());
    if (!callee || callee.isExternal())
      return std::nullopt;
    Block &body = callee.getBody().front();
    auto operand = llvm::find(call.getOperands(), counter);
    if (operand == call.getOperands().end())
      return std::nullopt;
    next = body.getTerminator()->getOperand(
        cast<OpResult>(next).getResultNumber());
    counter = body.getArgument(operand.getIndex());
  }
  return std::nullopt;
}

/// The turns of a loop from `begin` while less than `end`, or not more; nothing
/// if the counter would leave its type.
static std::optional<int64_t> turnsOf(IntegerType type, int64_t begin,
                                      int64_t end, int64_t step, bool isLess) {
  int64_t span, last, turns = 0;
  if (step <= 0 || (!isLess && llvm::AddOverflow(end, int64_t(1), end)) ||
      llvm::SubOverflow(end, begin, span))
    return std::nullopt;
  if (span > 0)
    turns = (span - 1) / step + 1;
  if (llvm::MulOverflow(turns, step, last) ||
      llvm::AddOverflow(begin, last, last) || !holds(type, last))
    return std::nullopt;
  return turns;
}

std::optional<CountedLoop>
bagua::importer::readCountedLoop(Operation *op, InitialValue initial,
                                 const Functions &functions) {
  if (!isWellFormedLoop(op))
    return std::nullopt;
  Block &condition = op->getRegion(0).front(), &body = op->getRegion(1).front();
  // A condition may also use values from outside.
  auto carriedOf = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &condition ? argument
                                                         : BlockArgument();
  };
  Operation *compare = condition.back().getOperand(0).getDefiningOp();
  if (!compare || compare->getBlock() != &condition ||
      compare->getName().stripDialect() != "compare" ||
      compare->getNumOperands() != 2)
    return std::nullopt;
  auto direction = compare->getAttrOfType<OpaqueAttr>("comparison_direction");
  BlockArgument counter = carriedOf(compare->getOperand(0));
  IntegerType type = counter ? integersOf(counter.getType()) : IntegerType();
  if (!direction || !type || type.getWidth() > 64)
    return std::nullopt;
  unsigned index = counter.getArgNumber();
  std::optional<int64_t> end = integerOf(compare->getOperand(1));
  if (BlockArgument carried = carriedOf(compare->getOperand(1))) {
    unsigned at = carried.getArgNumber();
    if (body.back().getOperand(at) == body.getArgument(at))
      end = initial(at);
  }
  std::optional<int64_t> begin = initial(index);
  std::optional<int64_t> step = incrementOf(body.back().getOperand(index),
                                            body.getArgument(index), functions);
  bool isLess = direction.getAttrData().contains("comparison_direction LT");
  if (!begin || !end || !step ||
      (!isLess && !direction.getAttrData().contains("comparison_direction LE")))
    return std::nullopt;
  std::optional<int64_t> turns = turnsOf(type, *begin, *end, *step, isLess);
  if (!turns)
    return std::nullopt;
  return CountedLoop{index, *begin, *step, *turns};
}

static bool communicates(Region &region, const Functions &functions,
                         llvm::DenseSet<Operation *> &seen) {
  return region
      .walk([&](Operation *op) {
        OpTraits traits = traitsOf(op);
        bool found =
            traits.isOtherCommunication || isCommunication(traits.kind);
        for (func::FuncOp callee : functionsOf(op, functions))
          found |= seen.insert(callee).second &&
                   communicates(callee.getBody(), functions, seen);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool bagua::importer::communicates(Region &region, const Functions &functions) {
  llvm::DenseSet<Operation *> seen;
  return ::communicates(region, functions, seen);
}
