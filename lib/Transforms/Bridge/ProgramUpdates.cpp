//===- ProgramUpdates.cpp - Who runs a step's optimizer -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces structured updates by compute of the program.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/ProgramUpdates.h"

#include "bagua/Dialect/Bagua/Sources.h"
#include "bagua/Scheduling/Prices/LaunchScheduling.h"
#include "bagua/Transforms/Algorithms/Contract.h"
#include "bagua/Transforms/Algorithms/Ownership.h"
#include "bagua/Transforms/Algorithms/ProgramOps.h"
#include "bagua/Transforms/Bridge/OpGraphReader.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/Names.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace bagua;

/// Whether an op undoes a conversion for the wire: between the two conversions
/// the value was sent, and nothing else. A step's own conversion there and back
/// rounds, and its result is not the gradient's mean.
static bool isBackFromWire(Operation *op) {
  auto isConversion = [](Operation *op) {
    auto stepOp = cast<StepOpInterface>(op);
    return stepOp.isTransit() && !stepOp.getGroupAxes();
  };
  if (!isConversion(op))
    return false;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  bool isSent = false;
  for (Operation *maker = op->getOperand(0).getDefiningOp(); maker;
       maker = maker->getOperand(0).getDefiningOp()) {
    if (isConversion(maker))
      return isSent &&
             getElementTypeOrSelf(maker->getOperand(0).getType()) == element;
    if (!cast<StepOpInterface>(maker).getGroupAxes())
      return false;
    isSent = true;
  }
  return false;
}

/// Whether the program can run an op of the runtime.
static bool isWholeArithmetic(Operation *op) {
  return cast<StepOpInterface>(op).isArithmetic() &&
         llvm::all_of(op->getResultTypes(), isWhole);
}

/// Ops are visited from last to first, so that users are decided before their
/// operands.
int64_t bagua::giveUpdatesToProgram(StepOp step) {
  int64_t given = 0;
  if (step.runsBetweenIterations())
    return given;
  auto isProgram = [](Operation *user) {
    auto stepOp = dyn_cast<StepOpInterface>(user); // null for the yield
    return !stepOp || stepOp.isRunByProgram();
  };
  BlockOrder block(step);
  for (size_t index = block.size(); index-- > 0;) {
    Operation *op = block[index];
    if (isWholeArithmetic(op) && !isBackFromWire(op) &&
        llvm::all_of(op->getUsers(), isProgram)) {
      giveTimed(step, op);
      ++given;
    }
  }
  return given;
}

/// Whether an update by the runtime leads to an op through ops of the runtime
/// alone.
static bool isFromUpdates(Operation *op) {
  auto visit = [](Value value) {
    auto maker = dyn_cast_or_null<StepOpInterface>(value.getDefiningOp());
    if (!maker || maker.isRunByProgram())
      return WalkResult::skip();
    return maker.isUpdate() ? WalkResult::interrupt() : WalkResult::advance();
  };
  return walkOperands(op->getOperands(), visit).wasInterrupted();
}

/// Whether an op is arithmetic apart from updates whose results only the
/// program gets: within the step, where the runtime has no name by which the
/// program could take them back, or as a state that no update leads to (a
/// statistic's running mean).
static bool isForProgramAlone(Operation *op) {
  return isWholeArithmetic(op) && !cast<StepOpInterface>(op).isUpdate() &&
         !isBackFromWire(op) &&
         (llvm::all_of(op->getUsers(), llvm::IsaPred<ComputeOp>) ||
          (llvm::all_of(op->getUsers(), llvm::IsaPred<ComputeOp, YieldOp>) &&
           !isFromUpdates(op)));
}

/// Why the program has to run an op instead of the runtime; nothing if it
/// needn't. `isOwn`: no wait can order the op.
static std::optional<std::string>
whyProgramsOwn(StepOp step, ArrayRef<unsigned> states,
               const ContractTensors &contract, Operation *op, bool isOwn) {
  if (!isWholeArithmetic(op))
    return std::nullopt;
  auto stepOp = cast<StepOpInterface>(op);
  if (isOwn)
    return "no wait could order it with the program's own compute";
  if (stepOp.isUpdate() && !contract.allow(stepOp))
    return "the program is promised the gradient itself";
  if (isBackFromWire(op)) // it lies where the gradient does
    return std::nullopt;
  return whyNotOwned(step, states, stepOp);
}

/// Gives the program its own arithmetic (isForProgramAlone). Returns the number
/// of ops.
static int64_t giveWhatIsApart(StepOp step) {
  int64_t given = 0;
  BlockOrder block(step);
  for (size_t index = block.size(); index-- > 0;)
    if (isForProgramAlone(block[index])) {
      giveTimed(step, block[index]);
      ++given;
    }
  return given;
}

/// Each op that is given becomes late compute, which may read other states and
/// uses results of ops before it; so the search is repeated until it gives
/// nothing.
FailureOr<SharedStep> bagua::giveProgramsOwn(StepOp step,
                                             const ClusterModel &cluster) {
  SharedStep result;
  SmallVector<unsigned> states = step.getStateArguments();
  ContractTensors contract(step);
  bool hasProgram = !step.runsBetweenIterations();
  while (true) {
    if (hasProgram)
      result.given += giveWhatIsApart(step);
    FailureOr<OpGraph> graph = readGraph(step, cluster);
    if (failed(graph))
      return failure();
    BlockOrder block(step);
    llvm::BitVector isOwn(block.size());
    for (int32_t index : findProgramsOwn(*graph))
      isOwn.set(index);
    int64_t before = result.given;
    for (size_t index = block.size(); hasProgram && index-- > 0;) {
      std::optional<std::string> why =
          whyProgramsOwn(step, states, contract, block[index], isOwn[index]);
      if (!why)
        continue;
      result.reasons.push_back({block[index]->getLoc(),
                                ("'" + block[index]->getName().getStringRef() +
                                 "' op is left to the program: " + *why)
                                    .str()});
      giveTimed(step, block[index]);
      ++result.given;
    }
    if (result.given == before) {
      result.graph = std::move(*graph);
      return result;
    }
  }
}

/// Whether a result of the runtime is a reduction of gradients that the program
/// gave, in their own memory: the program takes back all given tensors of its
/// type from which it can be made. A result with a name has a place of its own,
/// in which the program would find what the next step makes.
static bool isTakenBack(StepOp step, const ContractTensors &contract,
                        Value value) {
  if (nameOf(step, value))
    return false;
  bool isAny = false;
  auto visit = [&](Value from) {
    Operation *maker = from.getDefiningOp();
    if (maker && !isa<ComputeOp>(maker))
      return nameOf(step, from) ? WalkResult::interrupt()
                                : WalkResult::advance();
    if (!maker || from.getType() != value.getType())
      return WalkResult::skip();
    // A gradient that the program itself reads is reduced in another place.
    StringAttr name = nameOf(step, from);
    if (!name || !contract.giveBack(name) ||
        llvm::any_of(from.getUsers(), llvm::IsaPred<ComputeOp>))
      return WalkResult::interrupt();
    isAny = true;
    return WalkResult::skip();
  };
  return !walkOperands(value, visit).wasInterrupted() && isAny;
}

void bagua::offerLate(StepOp step, OpGraph &graph) {
  ContractTensors contract(step);
  KeptStates kept(step);
  for (auto [index, op] :
       llvm::enumerate(step.getBody().front().without_terminator())) {
    auto fromRuntime = [](Value value) {
      Operation *maker = value.getDefiningOp();
      return maker && !isa<ComputeOp>(maker);
    };
    auto canWait = [&](Value value) {
      return !fromRuntime(value) || isTakenBack(step, contract, value);
    };
    if (isa<ComputeOp>(op) && llvm::all_of(op.getOperands(), canWait) &&
        !kept.isTouchedBy(&op))
      graph.setMayBeLate(static_cast<int32_t>(index));
  }
}
