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

/// The update that is the only user of a reduced gradient, if it can be cut.
static std::optional<CuttableUpdate>
readUpdate(AllReduceOp reduce, const BlockOrder &block,
           const CuttableUpdates &updates) {
  Operation *user = onlyUserOf(reduce.getOutput());
  if (reduce.getNamesAttr() || !updates.canCut(user, reduce.getOutput()))
    return std::nullopt;
  auto update = cast<StepOpInterface>(user);
  auto elementBytesOf = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return getElementBytes(type.getElementType());
  };
  unsigned gradient = update.getStateCount();
  CuttableUpdate cut{static_cast<int32_t>(block.indexOf(user)),
                     static_cast<int32_t>(gradient),
                     elementBytesOf(user->getOperand(0)),
                     0,
                     0,
                     update.getHostWork().str()};
  for (auto [index, operand] : llvm::enumerate(user->getOperands())) {
    if (index <= gradient)
      cut.movedElementBytes += elementBytesOf(operand);
    else
      cut.otherBytes +=
          elementBytesOf(operand) *
          getElementCount(cast<RankedTensorType>(operand.getType()));
  }
  for (Value result : user->getResults())
    cut.movedElementBytes += elementBytesOf(result);
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
