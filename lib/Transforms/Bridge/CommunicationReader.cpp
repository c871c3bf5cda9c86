//===- CommunicationReader.cpp - What a search of plans needs of a step ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the step twice: with the program's updates and with the runtime's.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/CommunicationReader.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/Algorithms/CuttableUpdates.h"
#include "bagua/Transforms/Algorithms/GradientReduces.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Bridge/MessageWriter.h"
#include "bagua/Transforms/Bridge/ProgramUpdates.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace bagua;

static int64_t elementBytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return getElementBytes(type.getElementType());
}

/// The update by a reduced gradient, if it can be cut.
static std::optional<CuttableUpdate>
readUpdate(AllReduceOp reduce, const BlockOrder &block,
           const CuttableUpdates &updates) {
  std::optional<UpdateOps> ops =
      reduce.getNamesAttr() ? std::nullopt : updates.find(reduce.getOutput());
  if (!ops)
    return std::nullopt;
  auto numberOf = [&](Operation *op) {
    return static_cast<int32_t>(block.indexOf(op));
  };
  StepOpInterface update = ops->update;
  unsigned gradient = update.getStateCount();
  CuttableUpdate cut{numberOf(update),
                     static_cast<int32_t>(gradient),
                     elementBytesOf(update->getOperand(0)),
                     0,
                     0,
                     update.getHostWork().str()};
  for (auto [index, operand] : llvm::enumerate(update->getOperands())) {
    if (index <= gradient)
      cut.movedElementBytes += elementBytesOf(operand);
    else
      cut.otherBytes +=
          elementBytesOf(operand) *
          getElementCount(cast<RankedTensorType>(operand.getType()));
  }
  for (Value result : update->getResults())
    cut.movedElementBytes += elementBytesOf(result);
  if (ops->hasNorms()) {
    CuttableUpdate::Norms &norms = cut.norms.emplace();
    norms.direction = numberOf(ops->direction);
    norms.ofParam = numberOf(ops->paramNorm);
    norms.ofDirection = numberOf(ops->directionNorm);
    norms.work = ops->directionNorm.getHostWork().str();
    for (Value value : ops->direction->getOperands())
      norms.directionElementBytes += elementBytesOf(value);
    norms.directionElementBytes += elementBytesOf(ops->direction.getOutput());
  }
  return cut;
}

FailureOr<CommunicationProblem> bagua::readCommunication(ModuleOp module,
                                                         bool offersLate) {
  FailureOr<StepOp> step = getOnlyStep(module);
  if (failed(step))
    return failure();
  FailureOr<ClusterModel> cluster = readClusterModel(step->lookupCluster());
  FactAnalysis analysis(*step);
  if (failed(cluster) || failed(analysis.run()))
    return failure();
  CommunicationProblem problem;
  problem.cluster = std::move(*cluster);
  SmallVector<GradientReduce> reduces = collectGradientReduces(*step);
  problem.bucketing = readBucketing(reduces, analysis);
  BlockOrder block(*step);
  CuttableUpdates updates(*step);
  for (GradientReduce &reduce : reduces) {
    auto type = cast<RankedTensorType>(reduce.op.getInput().getType());
    bool isStatistic = !getGradientParam(reduce.op.getInput());
    problem.gradients.push_back(
        {static_cast<int32_t>(block.indexOf(reduce.op)), getElementCount(type),
         getElementBytes(type.getElementType()),
         readAxes(step->lookupCluster(), reduce.op.getOver()),
         !isStatistic && type.getElementType().isF32(), isStatistic,
         readUpdate(reduce.op, block, updates)});
  }
  for (AllReduceOp reduce : collectOtherReduces(*step, reduces)) {
    auto type = cast<RankedTensorType>(reduce.getInput().getType());
    bool isGradient = isOfGradients(reduce.getInput());
    problem.others.push_back({static_cast<int32_t>(block.indexOf(reduce)),
                              messageOf(reduce), isGradient, canNarrow(reduce),
                              !getLayout(type),
                              canBeServed(reduce, problem.cluster)});
  }
  // Reads the step as bagua-schedule will schedule it.
  auto read = [&](bool isByProgram) -> FailureOr<OpGraph> {
    OwningOpRef<ModuleOp> copy = module.clone();
    StepOp own = *getOnlyStep(*copy);
    if (isByProgram)
      giveUpdatesToProgram(own);
    FailureOr<SharedStep> shared = giveProgramsOwn(own, problem.cluster);
    if (failed(shared))
      return failure();
    if (offersLate && isByProgram)
      offerLate(own, shared->graph);
    return std::move(shared->graph);
  };
  FailureOr<OpGraph> byRuntime = read(/*isByProgram=*/false);
  FailureOr<OpGraph> byProgram = read(/*isByProgram=*/true);
  if (failed(byRuntime) || failed(byProgram))
    return failure();
  problem.byRuntime = std::move(*byRuntime);
  problem.byProgram = std::move(*byProgram);
  if (failed(expectSound(*step, problem.check())))
    return failure();
  return problem;
}
