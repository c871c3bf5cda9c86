//===- BoundReader.cpp - What a step leaves to decide ---------------------===//
//
// Compute in its order, gradients, and the updates that depend on them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/BoundReader.h"

#include "bagua/Scheduling/Roofline.h"
#include "bagua/Transforms/Utils/ClusterReader.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace bagua;

/// Time of an update: its own, or that of the memory it touches.
static int64_t updateNsOf(Operation *op, const ClusterModel &model) {
  if (auto compute = dyn_cast<ComputeOp>(op))
    return static_cast<int64_t>(compute.getCostNs().value_or(0));
  if (model.memoryBytesPerS == 0)
    return 0;
  return rooflineNs(0, trafficOf(op),
                    {1, model.memoryBytesPerS, model.launchNs});
}

FailureOr<NamedBoundProblem> bagua::readBound(StepOp step) {
  ClusterOp cluster = step.lookupCluster();
  FailureOr<ClusterModel> model = readClusterModel(cluster);
  if (failed(model))
    return failure();
  NamedBoundProblem result;
  BoundProblem &problem = result.problem;
  problem.cluster = *model;

  // Updates are what depends on a reduced gradient.
  llvm::DenseSet<Value> updated;
  llvm::DenseMap<Value, size_t> gradientOf;
  llvm::DenseMap<Operation *, int32_t> numbers;
  llvm::DenseMap<Value, int32_t> firstUse;
  for (Operation &op : step.getBody().front().without_terminator()) {
    auto reduce = dyn_cast<AllReduceOp>(op);
    if (reduce && getGradientParam(reduce.getInput())) {
      auto type = cast<RankedTensorType>(reduce.getInput().getType());
      BoundGradient &gradient = problem.gradients.emplace_back();
      gradient.bytes =
          getElementCount(type) * getElementBytes(type.getElementType());
      gradient.over = readAxes(cluster, reduce.getOver());
      gradient.readyAfter = numbers.lookup(reduce.getInput().getDefiningOp());
      gradientOf[reduce.getOutput()] = problem.gradients.size() - 1;
      result.params.push_back(getGradientParam(reduce.getInput()));
      updated.insert(reduce.getOutput());
      continue;
    }
    auto user = llvm::find_if(op.getOperands(), [&](Value operand) {
      return updated.contains(operand);
    });
    if (user != op.getOperands().end()) {
      updated.insert(op.result_begin(), op.result_end());
      if (auto found = gradientOf.find(*user); found != gradientOf.end())
        problem.gradients[found->second].updateNs += updateNsOf(&op, *model);
      continue;
    }
    auto compute = dyn_cast<ComputeOp>(op);
    if (!compute)
      continue;
    auto number = static_cast<int32_t>(problem.computeNs.size());
    numbers[&op] = number;
    problem.computeNs.push_back(
        static_cast<int64_t>(compute.getCostNs().value_or(0)));
    for (Value operand : op.getOperands())
      firstUse.try_emplace(operand, number);
  }
  for (auto [gradient, param] :
       llvm::zip_equal(problem.gradients, result.params)) {
    Value argument = step.getBody().getArgument(*step.findArgument(param));
    auto use = firstUse.find(argument);
    gradient.neededBy = use == firstUse.end() ? -1 : use->second;
  }
  if (failed(expectSound(step, problem.check())))
    return failure();
  return result;
}
