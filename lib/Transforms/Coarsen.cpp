//===- Coarsen.cpp - bagua-coarsen ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds where communication can start or must end, asks Scheduling for
// clusters, and writes each cluster as one compute op.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Origins.h"
#include "bagua/Scheduling/Search/Coarsening.h"
#include "bagua/Transforms/Algorithms/MicroBatches.h"
#include "bagua/Transforms/Algorithms/ProgramOps.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Report.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

#include <array>
#include <map>

namespace bagua {
#define GEN_PASS_DEF_COARSENPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
/// Keeps ops apart whose results ranks must go on to agree about: the
/// statistics of a batch, once reduced, while the ops beside them compute on
/// each rank's own data; or what the gradient of a whole param is computed
/// from, while the ops beside them compute on each rank's part of another
/// param. Gradients need no agreement along the data axes, because they will
/// be reduced over them.
class AgreementClasses {
public:
  explicit AgreementClasses(StepOp step) : step(step), context(step) {
    readFacts();
    readNeeds();
  }

  /// The class of an op; 0 if no agreement about its results is needed.
  int32_t of(Operation *op) const { return classes.lookup(op); }

private:
  void readFacts();
  void readNeeds();
  /// The facts of an op's results, from its operands; gradients apart.
  Facts made(Operation *op) const;
  /// All axes but those of the list, which may be null.
  llvm::SmallBitVector elsewhere(AxesAttr axes) const;
  /// The axes along which ranks must agree about a gradient.
  llvm::SmallBitVector needOfGradient(Value gradient);

  StepOp step;
  FactContext context;
  /// Facts as the dialect infers them, once gradients are reduced.
  llvm::DenseMap<Value, Facts> facts;
  llvm::DenseMap<Operation *, int32_t> classes;
};
} // namespace

void AgreementClasses::readFacts() {
  // Errors are silenced, because a step that reduces its gradients itself is
  // valid here.
  ScopedDiagnosticHandler quiet(step.getContext(),
                                [](Diagnostic &) { return success(); });
  Block &body = step.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    ArgumentAttr info = step.getArgument(argument.getArgNumber());
    facts[argument] = context.varyingOn(
        info.getRole() == Role::Batch ? step.getDataAxes() : info.getVaries());
  }
  for (Operation &op : body.without_terminator()) {
    SmallVector<Facts> operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(facts.lookup(operand));
    if (failed(
            cast<StepOpInterface>(op).inferFacts(context, operands, results)))
      results.assign(op.getNumResults(), joinAll(context, operands));
    for (auto [result, inferred] : llvm::zip_equal(op.getResults(), results)) {
      StringAttr param = getGradientParam(result);
      facts[result] =
          param ? context.varyingOn(
                      step.getArgument(context.arguments.at(param)).getVaries())
                : inferred;
    }
  }
}

Facts AgreementClasses::made(Operation *op) const {
  auto compute = dyn_cast<ComputeOp>(op);
  Facts joined = context.varyingOn(compute ? compute.getVariesAttr() : nullptr);
  for (Value operand : op->getOperands())
    joined = joinFacts(joined, facts.lookup(operand));
  return joined;
}

llvm::SmallBitVector AgreementClasses::elsewhere(AxesAttr axes) const {
  llvm::SmallBitVector others(context.axisCount(), true);
  for (auto [axis, isListed] : llvm::enumerate(context.maskOf(axes)))
    if (isListed)
      others.reset(axis);
  return others;
}

llvm::SmallBitVector AgreementClasses::needOfGradient(Value gradient) {
  unsigned param = context.arguments.at(getGradientParam(gradient));
  llvm::SmallBitVector need = elsewhere(step.getArgument(param).getVaries());
  need &= elsewhere(step.getDataAxes());
  return need;
}

/// Walks backward from next states and gradients.
void AgreementClasses::readNeeds() {
  Facts worst = context.all(Fact::Replicated);
  for (const auto &entry : facts)
    worst = joinFacts(worst, entry.second);
  std::map<Facts, int32_t> numbers;
  // The axes along which ranks must agree about a value.
  llvm::DenseMap<Value, llvm::SmallBitVector> needs;
  Block &body = step.getBody().front();
  for (auto [next, state] : llvm::zip_equal(body.getTerminator()->getOperands(),
                                            step.getStateArguments()))
    needs[next] |= elsewhere(step.getArgument(state).getVaries());
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    llvm::SmallBitVector need(context.axisCount());
    for (Value result : op.getResults())
      need |= getGradientParam(result) ? needOfGradient(result)
                                       : needs.lookup(result);
    AxesAttr group = cast<StepOpInterface>(op).getGroupAxes();
    // Ranks of a group may give it different values.
    if (group)
      need &= elsewhere(group);
    if (need.none())
      continue;
    if (!group) {
      // Only along the needed axes can the operands of another op do harm, and
      // only where ranks do not differ as much as they do about anything.
      Facts kept = worst, own = made(&op);
      for (unsigned axis : need.set_bits())
        kept[axis] = own[axis];
      if (kept == worst)
        continue;
      classes[&op] =
          numbers.try_emplace(kept, static_cast<int32_t>(numbers.size()) + 1)
              .first->second;
    }
    for (Value operand : op.getOperands())
      needs[operand] |= need;
  }
}

/// Describes every op of the step; only compute that stays on its rank merges.
static std::vector<CoarseningOp> readProblem(StepOp step,
                                             ArrayRef<Operation *> ops) {
  // Micro-batches are cut alike, except for names, which only the last one has.
  llvm::DenseSet<std::pair<Value, Attribute>> seen;
  auto isFirstUse = [&](Operation *op, Value operand) {
    // A gradient will be communicated, at the latest by bagua-relax.
    bool communicates =
        operand.getDefiningOp() &&
        (!isa<ComputeOp>(operand.getDefiningOp()) || getGradientParam(operand));
    auto argument = dyn_cast<BlockArgument>(operand);
    bool isParam =
        argument &&
        step.getArgument(argument.getArgNumber()).getRole() == Role::Param;
    return (communicates || isParam) &&
           seen.insert({operand, microBatchOf(op)}).second;
  };
  AgreementClasses agreement(step);
  std::map<std::array<int32_t, 3>, int32_t> mergeClasses;
  auto numberOf = [&](const std::array<int32_t, 3> &words) {
    return mergeClasses.try_emplace(words, mergeClasses.size()).first->second;
  };
  std::vector<CoarseningOp> problem;
  for (Operation *op : ops) {
    CoarseningOp &entry = problem.emplace_back(CoarseningOp{-1, false, false});
    auto compute = dyn_cast<ComputeOp>(op);
    for (Value operand : op->getOperands())
      entry.startsCluster |= isFirstUse(op, operand);
    if (!compute || compute.getCommunicates())
      continue;
    IntegerAttr microBatch = microBatchOf(op);
    int32_t batch =
        microBatch ? 1 + static_cast<int32_t>(microBatch.getInt()) : 0;
    entry.mergeClass = numberOf(
        {static_cast<int32_t>(compute.getPhase()), batch, agreement.of(op)});
    for (OpResult result : op->getResults()) {
      entry.endsCluster |=
          compute.getResultInfo(result.getResultNumber()) != nullptr;
      for (Operation *user : result.getUsers())
        entry.endsCluster |=
            !isa<ComputeOp>(user) || microBatchOf(user) != microBatch;
    }
  }
  return problem;
}

/// The sum of an optional quantity over a cluster; null if no member has it.
template <typename Getter>
static IntegerAttr sumOf(ArrayRef<ComputeOp> cluster, Getter get) {
  std::optional<int64_t> total;
  for (ComputeOp op : cluster)
    if (std::optional<int64_t> value = get(op))
      total = total.value_or(0) + *value;
  ComputeOp first = cluster.front();
  Builder builder(first.getContext());
  return total ? builder.getI64IntegerAttr(*total) : nullptr;
}

/// The weight of an op; the costliest member of a cluster has the largest.
static std::tuple<int64_t, int64_t, int64_t> weightOf(ComputeOp op) {
  return {op.getCostNs().value_or(0), op.getFlops().value_or(0),
          op.getBytes().value_or(0)};
}

/// The axes along which any op of the cluster varies by itself; null if none
/// does.
static AxesAttr variesOf(ArrayRef<ComputeOp> cluster) {
  SmallVector<AxesAttr> lists;
  for (ComputeOp op : cluster)
    lists.push_back(op.getVariesAttr());
  return joinAxes(cast<StepOp>(cluster.front()->getParentOp()), lists);
}

/// Beyond 70 years durations are as good as without end.
constexpr int64_t kLongestNs = INT64_MAX / 4;

/// Sets the duration of a cluster, if any member has one or can be estimated.
/// Kernels run one after the other, so their times add up; those that nobody
/// measured are launched together.
static void setDuration(ComputeOp merged, ArrayRef<ComputeOp> cluster,
                        const std::optional<DeviceRates> &device) {
  int64_t knownNs = 0, longestNs = -1, estimatedNs = 0;
  // The larger part says where the duration comes from.
  ComputeOp timed;
  bool isEstimated = false;
  for (ComputeOp op : cluster) {
    if (std::optional<int64_t> ns = op.getCostNs()) {
      knownNs += *ns;
      if (*ns > longestNs)
        timed = op;
      longestNs = std::max(longestNs, *ns);
    } else if (device && (op.getFlops() || op.getBytes())) {
      int64_t ns = kernelNsOf(op, *device);
      estimatedNs = std::min(estimatedNs, kLongestNs - ns) + ns;
      isEstimated = true;
    }
  }
  if (!timed && !isEstimated)
    return;
  merged.setCostNs(knownNs +
                   (isEstimated ? withLaunchNs(estimatedNs, *device) : 0));
  merged.setCostSource(timed && longestNs >= estimatedNs
                           ? *timed.getCostSource()
                           : CostSource::Roofline);
}

static void mergeCluster(ArrayRef<ComputeOp> cluster,
                         const std::optional<DeviceRates> &device) {
  auto [inputs, outputs] = borderOf(cluster);
  ComputeOp costliest = *std::max_element(
      cluster.begin(), cluster.end(),
      [](ComputeOp a, ComputeOp b) { return weightOf(a) < weightOf(b); });
  ComputeOp first = cluster.front();
  OpBuilder builder(cluster.back());
  SmallVector<Type> types;
  for (OpResult output : outputs)
    types.push_back(output.getType());
  auto merged = builder.create<ComputeOp>(
      costliest.getLoc(), types, inputs, first.getPhase(), costliest.getName());
  merged.setFlopsAttr(
      sumOf(cluster, [](ComputeOp op) { return op.getFlops(); }));
  merged.setBytesAttr(
      sumOf(cluster, [](ComputeOp op) { return op.getBytes(); }));
  setDuration(merged, cluster, device);
  merged.setVariesAttr(variesOf(cluster));
  setOrigin(merged, cluster);
  if (IntegerAttr microBatch = microBatchOf(first))
    merged->setAttr(kMicroBatchAttr, microBatch);
  for (auto [index, output] : llvm::enumerate(outputs)) {
    auto owner = cast<ComputeOp>(output.getOwner());
    if (ResultAttr info = owner.getResultInfo(output.getResultNumber()))
      merged.setResultInfo(index, info);
    output.replaceAllUsesWith(merged->getResult(index));
  }
  for (ComputeOp op : llvm::reverse(cluster))
    op.erase();
}

namespace {
struct CoarsenPass : public bagua::impl::CoarsenPassBase<CoarsenPass> {
  void runOnOperation() override {
    StepOp step = getOperation();
    SmallVector<Operation *> ops;
    for (Operation &op : step.getBody().front().without_terminator())
      ops.push_back(&op);
    std::vector<int32_t> clusters = coarsen(readProblem(step, ops));
    std::optional<DeviceRates> device = ratesOf(step);
    SmallVector<ComputeOp> cluster;
    bool isChanged = false;
    for (size_t i = 0; i < ops.size(); ++i) {
      auto compute = dyn_cast<ComputeOp>(ops[i]);
      if (compute)
        cluster.push_back(compute);
      if (i + 1 < ops.size() && clusters[i + 1] == clusters[i])
        continue;
      if (cluster.size() > 1) {
        mergeCluster(cluster, device);
        isChanged = true;
      }
      cluster.clear();
    }
    if (!isChanged)
      markAllAnalysesPreserved();
    if (Report *report = getReport(&getContext()))
      report->add(
          step, getArgument(),
          llvm::json::Object{
              {"ops", static_cast<int64_t>(ops.size())},
              {"ops_after", clusters.empty() ? 0 : clusters.back() + 1}});
  }
};
} // namespace
