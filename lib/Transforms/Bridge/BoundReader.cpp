//===- BoundReader.cpp - What a step leaves to decide ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads compute in its order, gradients, and the updates that depend on them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/BoundReader.h"

#include "bagua/Dialect/Bagua/Sources.h"
#include "bagua/Scheduling/Prices/Roofline.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace bagua;

using GradientSets = llvm::DenseMap<Value, llvm::BitVector>;

/// The time of an update: its own duration, or the time to move its bytes. It
/// is 0 where the host's cores run updates: their caches may hold the tensors,
/// and are faster than any memory rate.
static int64_t updateNsOf(Operation *op, const ClusterModel &model) {
  if (auto compute = dyn_cast<ComputeOp>(op))
    return static_cast<int64_t>(compute.getCostNs().value_or(0));
  if (model.memoryBytesPerS == 0 || !model.host.empty())
    return 0;
  return rooflineNs(0, trafficOf(op),
                    {1, model.memoryBytesPerS, model.launchNs});
}

/// The gradients that an op depends on; nothing if there are none.
static std::optional<llvm::BitVector> uniteOf(Operation &op,
                                              const GradientSets &gradientsOf) {
  std::optional<llvm::BitVector> all;
  for (Value operand : op.getOperands())
    if (auto found = gradientsOf.find(operand); found != gradientsOf.end()) {
      if (!all)
        all.emplace();
      *all |= found->second;
    }
  return all;
}

/// The first gradient whose mean the op reads directly.
static std::optional<unsigned> firstGradient(Operation &op,
                                             const GradientSets &gradientsOf) {
  for (Value operand : op.getOperands())
    if (auto found = gradientsOf.find(operand);
        found != gradientsOf.end() && operand.getDefiningOp<AllReduceOp>())
      return found->second.find_first();
  return std::nullopt;
}

/// Sets the op that needs each gradient: the first that uses any state to which
/// the gradient leads.
static void findNeeds(StepOp step, const GradientSets &gradientsOf,
                      const llvm::DenseMap<Value, int32_t> &firstUse,
                      std::vector<BoundGradient> &gradients) {
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    auto use = firstUse.find(step.getBody().getArgument(index));
    auto read = gradientsOf.find(value);
    if (use == firstUse.end() || read == gradientsOf.end())
      continue;
    for (unsigned gradient : read->second.set_bits()) {
      int32_t &needed = gradients[gradient].neededBy;
      needed = needed < 0 ? use->second : std::min(needed, use->second);
    }
  }
}

/// Adds the times of updates. An op that reads a gradient's mean must be done
/// before the op that needs the gradient first, if that one uses its result.
/// Ops that lead only to other states, or to none, have time. `readers` has the
/// first gradient that each op reads.
static void addUpdates(StepOp step,
                       const llvm::MapVector<Operation *, unsigned> &readers,
                       const GradientSets &gradientsOf,
                       const llvm::DenseMap<Value, int32_t> &firstUse,
                       BoundProblem &problem) {
  for (auto [op, gradient] : readers)
    problem.updatesNs += updateNsOf(op, problem.cluster);
  llvm::DenseSet<Operation *> added;
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    auto use = firstUse.find(step.getBody().getArgument(index));
    if (use == firstUse.end())
      continue;
    (void)walkOperands(value, [&, neededBy = use->second](Value from) {
      if (!gradientsOf.contains(from))
        return WalkResult::skip();
      Operation *maker = from.getDefiningOp();
      auto reader = readers.find(maker);
      if (reader == readers.end())
        return WalkResult::advance();
      BoundGradient &gradient = problem.gradients[reader->second];
      if (gradient.neededBy == neededBy && added.insert(maker).second)
        gradient.updateNs += updateNsOf(maker, problem.cluster);
      return WalkResult::advance();
    });
  }
}

/// A reduction of the result of the op numbered `readyAfter`.
static BoundGradient readReduction(AllReduceOp reduce, int32_t readyAfter) {
  auto type = cast<RankedTensorType>(reduce.getInput().getType());
  BoundGradient gradient;
  gradient.bytes =
      getElementCount(type) * getElementBytes(type.getElementType());
  gradient.over = readAxes(reduce->getParentOfType<StepOp>().lookupCluster(),
                           reduce.getOver());
  gradient.readyAfter = readyAfter;
  return gradient;
}

namespace {
/// Reductions of a step other than those of gradients: statistics, and the
/// exchanges between parts of a model.
class OtherReductions {
public:
  /// Visits ops in the step's order. `number` is that of compute that counts,
  /// -1 for other ops.
  void visit(Operation &op, int32_t number);

  std::vector<BoundGradient> reductions;
  std::vector<BoundWait> waits;

private:
  /// By value: the last compute from which it is made, and the reductions on
  /// the way from there.
  llvm::DenseMap<Value, int32_t> madeBy;
  llvm::DenseMap<Value, SmallVector<BoundWait, 1>> behind;
};
} // namespace

void OtherReductions::visit(Operation &op, int32_t number) {
  int32_t after = number;
  SmallVector<BoundWait, 1> open;
  for (Value operand : op.getOperands()) {
    auto maker = madeBy.find(operand);
    if (number < 0 && maker != madeBy.end())
      after = std::max(after, maker->second);
    llvm::append_range(open, behind.lookup(operand));
  }
  if (number >= 0) {
    for (BoundWait &wait : open) {
      wait.op = number;
      waits.push_back(wait);
    }
    open.clear();
  } else if (auto reduce = dyn_cast<AllReduceOp>(op);
             reduce && after >= 0 && !reduce->use_empty()) {
    reductions.push_back(readReduction(reduce, after));
    open.assign(
        {{/*op=*/-1, after, reductions.back().bytes, reductions.back().over}});
  }
  for (Value made : op.getResults()) {
    if (after >= 0)
      madeBy[made] = after;
    if (!open.empty())
      behind[made] = open;
  }
}

/// Finds compute that waits for communication and leads to no gradient (a
/// statistic that is kept or printed): it can be put off, wherever it stands in
/// the step.
static llvm::DenseSet<Operation *> findPutOff(StepOp step) {
  auto ops = step.getBody().front().without_terminator();
  llvm::DenseSet<Operation *> leading, waiting, putOff;
  for (Operation &op : llvm::reverse(ops))
    if (llvm::any_of(op.getResults(), getGradientParam) ||
        llvm::any_of(op.getUsers(),
                     [&](Operation *user) { return leading.contains(user); }))
      leading.insert(&op);
  for (Operation &op : ops) {
    auto isWaiting = [&](Value operand) {
      return waiting.contains(operand.getDefiningOp());
    };
    if (!cast<StepOpInterface>(op).getGroupAxes() &&
        llvm::none_of(op.getOperands(), isWaiting))
      continue;
    waiting.insert(&op);
    if (!leading.contains(&op))
      putOff.insert(&op);
  }
  return putOff;
}

FailureOr<NamedBoundProblem> bagua::readBound(StepOp step) {
  ClusterOp cluster = step.lookupCluster();
  FailureOr<ClusterModel> model = readClusterModel(cluster);
  if (failed(model))
    return failure();
  NamedBoundProblem result;
  BoundProblem &problem = result.problem;
  problem.cluster = *model;

  // Updates are the ops that depend on a reduced gradient, or on several if
  // these are clipped by their common norm.
  GradientSets gradientsOf;
  const llvm::DenseSet<Operation *> putOff = findPutOff(step);
  OtherReductions others;
  llvm::MapVector<Operation *, unsigned> readers;
  llvm::DenseMap<Operation *, int32_t> numbers;
  llvm::DenseMap<Value, int32_t> firstUse;
  for (Operation &op : step.getBody().front().without_terminator()) {
    auto reduce = dyn_cast<AllReduceOp>(op);
    if (reduce && getGradientParam(reduce.getInput())) {
      problem.gradients.push_back(readReduction(
          reduce, numbers.lookup(reduce.getInput().getDefiningOp())));
      result.params.push_back(getGradientParam(reduce.getInput()));
      llvm::BitVector own(problem.gradients.size());
      own.set(own.size() - 1);
      gradientsOf[reduce.getOutput()] = std::move(own);
      continue;
    }
    if (std::optional<llvm::BitVector> read = uniteOf(op, gradientsOf)) {
      if (std::optional<unsigned> first = firstGradient(op, gradientsOf))
        readers[&op] = *first;
      for (Value made : op.getResults())
        gradientsOf[made] = *read;
      continue;
    }
    auto compute = dyn_cast<ComputeOp>(op);
    if (!compute || putOff.contains(&op)) {
      if (compute)
        problem.anyTimeNs +=
            static_cast<int64_t>(compute.getCostNs().value_or(0));
      others.visit(op, /*number=*/-1);
      continue;
    }
    auto number = static_cast<int32_t>(problem.computeNs.size());
    numbers[&op] = number;
    problem.computeNs.push_back(
        static_cast<int64_t>(compute.getCostNs().value_or(0)));
    others.visit(op, number);
    for (Value operand : op.getOperands())
      firstUse.try_emplace(operand, number);
  }
  findNeeds(step, gradientsOf, firstUse, problem.gradients);
  addUpdates(step, readers, gradientsOf, firstUse, problem);
  llvm::append_range(problem.gradients, others.reductions);
  problem.waits = std::move(others.waits);
  if (failed(expectSound(step, problem.check())))
    return failure();
  return result;
}
