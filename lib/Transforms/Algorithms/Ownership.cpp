//===- Ownership.cpp - What the runtime can keep of a step's arithmetic ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks at the uses of a result and of the state that it overwrites.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Algorithms/Ownership.h"

#include "bagua/Dialect/Bagua/Sources.h"
#include "bagua/Transforms/Utils/Names.h"

using namespace mlir;
using namespace bagua;

/// Whether `op` uses the result of `source`, directly or through other ops.
/// Looks at no op before `source`.
static bool dependsOn(Operation *op, Operation *source) {
  auto visit = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    if (maker == source)
      return WalkResult::interrupt();
    return maker && source->isBeforeInBlock(maker) ? WalkResult::advance()
                                                   : WalkResult::skip();
  };
  return walkOperands(op->getOperands(), visit).wasInterrupted();
}

/// Says who needs, or may need, the old value of a state after the op has
/// overwritten it; nothing if nobody does.
static std::optional<std::string> whoNeedsOld(StepOp step,
                                              ArrayRef<unsigned> states,
                                              BlockArgument state,
                                              Operation *op) {
  StringRef name = nameOf(step, state).getValue();
  for (OpOperand &use : state.getUses()) {
    Operation *user = use.getOwner();
    if (user == op)
      continue;
    if (isa<YieldOp>(user)) {
      unsigned heir = states[use.getOperandNumber()];
      return ("the old value of '" + name + "' becomes '" +
              step.getArgument(heir).getName().getValue() + "'")
          .str();
    }
    bool isProgram = cast<StepOpInterface>(user).isRunByProgram();
    if (isProgram ? dependsOn(user, op) : !dependsOn(op, user))
      return ("the old value of '" + name + "' is needed beside the new one")
          .str();
  }
  return std::nullopt;
}

std::optional<std::string>
bagua::whyNotOwned(StepOp step, ArrayRef<unsigned> states, StepOpInterface op) {
  for (OpResult made : op->getResults()) {
    SmallVector<unsigned> heirs;
    bool isUsedByProgram = false;
    for (OpOperand &use : made.getUses())
      if (isa<YieldOp>(use.getOwner()))
        heirs.push_back(states[use.getOperandNumber()]);
      else
        isUsedByProgram |=
            cast<StepOpInterface>(use.getOwner()).isRunByProgram();
    // The program can take a state back only as the step found it.
    if (isUsedByProgram)
      return "compute of the same step uses what it makes";
    auto nameOfHeir = [&](size_t index) {
      return step.getArgument(heirs[index]).getName().getValue();
    };
    if (heirs.size() > 1)
      return ("it makes the next value of '" + nameOfHeir(0) + "' and of '" +
              nameOfHeir(1) + "'")
          .str();
    if (heirs.empty())
      continue;
    if (auto who = whoNeedsOld(step, states,
                               step.getBody().getArgument(heirs.front()), op))
      return who;
  }
  return std::nullopt;
}
