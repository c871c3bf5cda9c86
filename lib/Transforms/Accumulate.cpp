//===- Accumulate.cpp - bagua-accumulate ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repeats forward and backward for each further micro-batch. Ops that run once
// a step (reductions, updates) get the sums that the last micro-batch makes.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/Algorithms/MicroBatches.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Report.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace bagua {
#define GEN_PASS_DEF_ACCUMULATEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
/// No step that is trained has more ops; to write so many takes some seconds.
constexpr int64_t kMostOps = 1000000;

class Accumulation {
public:
  explicit Accumulation(StepOp step)
      : step(step), cluster(step.lookupCluster()) {}

  /// Finds the ops to repeat, and moves their shared operands before them.
  /// Fails, with an error, if there are none, or if gradients depend on each
  /// other.
  LogicalResult prepare();
  /// Writes micro-batch `number` of `count`; the last is the step's own ops.
  void write(int64_t number, int64_t count);

  ArrayRef<Operation *> getRepeated() const { return repeated; }
  int64_t countSums() const { return static_cast<int64_t>(sums.size()); }

private:
  LogicalResult findRepeated(const llvm::DenseSet<Value> &carried);
  /// Calls `call` with each state argument that every micro-batch changes, and
  /// with its value after the last one.
  void forEachCarried(function_ref<void(Value argument, Value next)> call);
  void hoistShared();
  bool isSummed(OpResult result) const;
  void addSums(ComputeOp op, ComputeOp original);

  StepOp step;
  ClusterOp cluster;
  /// The ops of one micro-batch, in program order.
  SmallVector<Operation *> repeated;
  llvm::DenseSet<Operation *> isRepeated;
  /// By result of the step's own ops: the sum so far.
  llvm::MapVector<Value, Value> sums;
  /// By state argument: its value after the previous micro-batch.
  llvm::DenseMap<Value, Value> states;
};
} // namespace

/// Finds the ops that every micro-batch repeats: those that depend on the batch
/// and on no gradient and belong to forward and backward, or make the next
/// value of a state, and the ops that these use. An op that needs a gradient
/// comes after all micro-batches. `carried` are the states that a micro-batch
/// may have changed for the next one.
LogicalResult Accumulation::findRepeated(const llvm::DenseSet<Value> &carried) {
  llvm::DenseSet<Operation *> isCandidate, isAfter, isWanted;
  SmallVector<Operation *> ops;
  auto isOfBatch = [&](Value operand) {
    if (auto argument = dyn_cast<BlockArgument>(operand))
      return carried.contains(argument) ||
             step.getArgument(argument.getArgNumber()).getRole() == Role::Batch;
    return isCandidate.contains(operand.getDefiningOp());
  };
  auto needsGradient = [&](Value operand) {
    return getGradientParam(operand) ||
           isAfter.contains(operand.getDefiningOp());
  };
  for (Operation &op : step.getBody().front().without_terminator()) {
    ops.push_back(&op);
    if (llvm::any_of(op.getOperands(), needsGradient)) {
      isAfter.insert(&op);
      for (Value result : op.getResults())
        if (StringAttr param = getGradientParam(result))
          return op.emitError() << "makes the gradient of '" << param.getValue()
                                << "' from another gradient, which all "
                                   "micro-batches have added to first";
    } else if (llvm::any_of(op.getOperands(), isOfBatch)) {
      isCandidate.insert(&op);
    }
  }
  for (Value next : step.getYield().getValues())
    if (Operation *maker = next.getDefiningOp())
      isWanted.insert(maker);
  for (Operation *op : llvm::reverse(ops)) {
    auto compute = dyn_cast<ComputeOp>(op);
    bool isMain = compute && compute.getPhase() != PhaseKind::Update &&
                  op->getNumResults() > 0;
    if (!isCandidate.contains(op) || !(isMain || isWanted.contains(op)))
      continue;
    isRepeated.insert(op);
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        isWanted.insert(maker);
  }
  repeated.clear();
  for (Operation *op : ops)
    if (isRepeated.contains(op))
      repeated.push_back(op);
  return success();
}

void Accumulation::forEachCarried(function_ref<void(Value, Value)> call) {
  for (auto [next, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (Operation *maker = next.getDefiningOp();
        maker && isRepeated.contains(maker))
      call(step.getBody().getArgument(index), next);
}

/// Moves ops that all micro-batches share before the first one.
void Accumulation::hoistShared() {
  llvm::DenseSet<Operation *> isShared;
  SmallVector<Operation *> stack;
  auto visit = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && !isRepeated.contains(maker) && isShared.insert(maker).second)
        stack.push_back(maker);
  };
  for (Operation *op : repeated)
    visit(op);
  while (!stack.empty())
    visit(stack.pop_back_val());
  Operation *first = repeated.front();
  for (Operation *op = first; op;) {
    Operation *next = op->getNextNode();
    if (isShared.contains(op))
      op->moveBefore(first);
    op = next;
  }
}

/// Whether a result is used once a step and must be the sum over all
/// micro-batches. A result that micro-batches use themselves can be no sum.
bool Accumulation::isSummed(OpResult result) const {
  if (getGradientParam(result))
    return true;
  bool isUsedOnce = false;
  for (Operation *user : result.getUsers()) {
    if (isRepeated.contains(user))
      return false;
    isUsedOnce |= !isa<YieldOp>(user);
  }
  return isUsedOnce;
}

LogicalResult Accumulation::prepare() {
  // Ops that depend on a state that is carried are repeated, too.
  llvm::DenseSet<Value> carried;
  size_t known;
  do {
    known = carried.size();
    if (failed(findRepeated(carried)))
      return failure();
    forEachCarried([&](Value argument, Value) { carried.insert(argument); });
  } while (carried.size() > known);
  if (repeated.empty())
    return step.emitError("expected forward and backward that depend on a "
                          "batch, found none");
  hoistShared();
  for (Operation *op : repeated)
    if (isa<ComputeOp>(op))
      for (OpResult result : op->getResults())
        if (isSummed(result))
          sums.insert({result, Value()});
  return success();
}

/// Lets the op read the sums so far and add to them.
void Accumulation::addSums(ComputeOp op, ComputeOp original) {
  int64_t bytes = 0;
  for (OpResult result : original->getResults()) {
    Value sum = sums.lookup(result);
    if (!sum)
      continue;
    op->insertOperands(op->getNumOperands(), sum);
    bytes += maxLocalBytes(cast<RankedTensorType>(sum.getType()), cluster);
  }
  if (op.getBytes() && bytes > 0)
    op.setBytes(*op.getBytes() + bytes);
}

void Accumulation::write(int64_t number, int64_t count) {
  OpBuilder builder(repeated.front());
  IntegerAttr attribute = builder.getI64IntegerAttr(number);
  if (number == count - 1) {
    for (Operation *op : repeated) {
      for (OpOperand &operand : op->getOpOperands())
        if (Value state = states.lookup(operand.get()))
          operand.set(state);
      if (auto compute = dyn_cast<ComputeOp>(op))
        addSums(compute, compute);
      op->setAttr(kMicroBatchAttr, attribute);
    }
    return;
  }
  IRMapping mapping;
  for (auto [argument, state] : states)
    mapping.map(argument, state);
  for (Operation *op : repeated) {
    Operation *copy = builder.clone(*op, mapping);
    copy->setAttr(kMicroBatchAttr, attribute);
    copy->removeAttr("names"); // the last one's
    auto compute = dyn_cast<ComputeOp>(copy);
    if (!compute)
      continue;
    compute.setResultInfoAttr(nullptr);
    addSums(compute, cast<ComputeOp>(op));
  }
  for (auto &[result, sum] : sums)
    sum = mapping.lookup(result);
  forEachCarried([&](Value argument, Value next) {
    states[argument] = mapping.lookup(next);
  });
}

namespace {
struct AccumulatePass : public bagua::impl::AccumulatePassBase<AccumulatePass> {
  using AccumulatePassBase::AccumulatePassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    if (microBatches < 1) {
      step.emitError() << "expected micro-batches of at least 1, found "
                       << microBatches.getValue();
      return signalPassFailure();
    }
    if (step.getOps<ComputeOp>().empty())
      return; // such as a step between iterations
    if (step->hasAttr(kContractAttr)) {
      step.emitError("expected a step before bagua-relax, found one with a "
                     "contract");
      return signalPassFailure();
    }
    for (Operation &op : step.getBody().front())
      if (microBatchOf(&op)) {
        op.emitError("expected a step of one micro-batch, found an op of a "
                     "numbered one");
        return signalPassFailure();
      }
    Accumulation accumulation(step);
    if (microBatches > 1) {
      if (failed(accumulation.prepare()))
        return signalPassFailure();
      auto each = static_cast<int64_t>(accumulation.getRepeated().size());
      if (microBatches > kMostOps / each) {
        step.emitError() << "expected at most " << kMostOps
                         << " ops in all micro-batches, found "
                         << microBatches.getValue() << " of " << each << " ops";
        return signalPassFailure();
      }
      for (int64_t i = 0; i < microBatches; ++i)
        accumulation.write(i, microBatches);
    }
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{
                      {"micro_batches", microBatches.getValue()},
                      {"ops_each",
                       static_cast<int64_t>(accumulation.getRepeated().size())},
                      {"sums", accumulation.countSums()}});
  }
};
} // namespace
