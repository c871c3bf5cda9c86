//===- Loops.cpp - What is known about a loop -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads condition and increment of a `while`, and walks bodies and callees.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Loops.h"

#include "StableHLO/Graph/OpTable.h"
#include "StableHLO/Graph/Splats.h"

#include "llvm/ADT/DenseSet.h"

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

std::optional<int64_t> bagua::importer::integerOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    StringRef name = op->getName().stripDialect();
    if (name == "constant") {
      std::optional<double> splat = splatOf(op);
      return splat ? std::optional<int64_t>(static_cast<int64_t>(*splat))
                   : std::nullopt;
    }
    if ((name != "convert" && name != "reshape") || op->getNumOperands() != 1)
      return std::nullopt;
    value = op->getOperand(0);
  }
  return std::nullopt;
}

/// The number that a body adds to its counter in each turn, possibly in a call.
static std::optional<int64_t> incrementOf(Value next, Value counter,
                                          const Functions &functions) {
  Operation *op = next.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto call = dyn_cast<func::CallOp>(op)) {
    func::FuncOp callee = functions.lookup(call.getCallee());
    if (!callee || callee.isExternal())
      return std::nullopt;
    Block &body = callee.getBody().front();
    for (auto [index, operand] : llvm::enumerate(call.getOperands()))
      if (operand == counter)
        return incrementOf(body.getTerminator()->getOperand(
                               cast<OpResult>(next).getResultNumber()),
                           body.getArgument(index), functions);
    return std::nullopt;
  }
  if (op->getName().stripDialect() != "add" || op->getNumOperands() != 2)
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (op->getOperand(i) == counter)
      return integerOf(op->getOperand(1 - i));
  return std::nullopt;
}

std::optional<CountedLoop>
bagua::importer::readCountedLoop(Operation *op, InitialValue initial,
                                 const Functions &functions) {
  if (!isWellFormedLoop(op))
    return std::nullopt;
  Block &body = op->getRegion(1).front();
  Operation *compare =
      op->getRegion(0).front().back().getOperand(0).getDefiningOp();
  if (!compare || compare->getName().stripDialect() != "compare" ||
      compare->getNumOperands() != 2)
    return std::nullopt;
  auto direction = compare->getAttrOfType<OpaqueAttr>("comparison_direction");
  auto counter = dyn_cast<BlockArgument>(compare->getOperand(0));
  if (!direction || !counter)
    return std::nullopt;
  unsigned index = counter.getArgNumber();
  std::optional<int64_t> end = integerOf(compare->getOperand(1));
  if (auto carried = dyn_cast<BlockArgument>(compare->getOperand(1))) {
    unsigned at = carried.getArgNumber();
    if (body.back().getOperand(at) == body.getArgument(at))
      end = initial(at);
  }
  std::optional<int64_t> begin = initial(index);
  std::optional<int64_t> step = incrementOf(body.back().getOperand(index),
                                            body.getArgument(index), functions);
  if (!begin || !end || !step || *step <= 0)
    return std::nullopt;
  int64_t span = *end - *begin;
  if (direction.getAttrData().contains("comparison_direction LE"))
    ++span;
  else if (!direction.getAttrData().contains("comparison_direction LT"))
    return std::nullopt;
  return CountedLoop{index, *begin, *step,
                     std::max<int64_t>(0, (span + *step - 1) / *step)};
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
