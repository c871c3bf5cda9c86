//===- Accumulate.cpp - bagua-accumulate ----------------------------------===//
//
// Forward and backward once more for each further micro-batch. What is done
// once a step (reductions, updates) gets the sums that the last one makes.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/MicroBatches.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Report.h"

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
class Accumulation {
public:
  explicit Accumulation(StepOp step)
      : step(step), cluster(step.lookupCluster()) {}

  /// Finds what is repeated, and brings what it needs before it.
  void prepare();
  /// Writes micro-batch `number` of `count`; the last is the step's own ops.
  void write(int64_t number, int64_t count);

  ArrayRef<Operation *> getRepeated() const { return repeated; }
  int64_t countSums() const { return static_cast<int64_t>(sums.size()); }

private:
  void findRepeated();
  void hoistSources();
  bool isSummed(OpResult result) const;
  void addSums(ComputeOp op, ComputeOp original);

  StepOp step;
  ClusterOp cluster;
  /// In program order.
  SmallVector<Operation *> repeated;
  llvm::DenseSet<Operation *> isRepeated;
  /// For results of the step's own ops: the sum so far.
  llvm::MapVector<Value, Value> sums;
  /// For state arguments: what the micro-batch before has made of them.
  llvm::DenseMap<Value, Value> states;
};
} // namespace

/// Compute that gives values and belongs to one micro-batch. What needs a
/// reduced gradient comes after all of them.
void Accumulation::findRepeated() {
  llvm::DenseSet<Operation *> depends, isAfter, isUsed;
  SmallVector<Operation *> ops;
  for (Operation &op : step.getBody().front().without_terminator()) {
    ops.push_back(&op);
    auto compute = dyn_cast<ComputeOp>(op);
    bool needsReduced = llvm::any_of(op.getOperands(), [&](Value operand) {
      return isAfter.contains(operand.getDefiningOp()) ||
             (!compute && getGradientParam(operand));
    });
    if (needsReduced)
      isAfter.insert(&op);
    else if (compute ? compute.getPhase() != PhaseKind::Update &&
                           op.getNumResults() > 0
                     : llvm::any_of(op.getOperands(), [&](Value operand) {
                         return depends.contains(operand.getDefiningOp());
                       }))
      depends.insert(&op);
  }
  for (Operation *op : llvm::reverse(ops)) {
    if (!depends.contains(op) || (!isa<ComputeOp>(op) && !isUsed.contains(op)))
      continue;
    isRepeated.insert(op);
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        isUsed.insert(maker);
  }
  for (Operation *op : ops)
    if (isRepeated.contains(op))
      repeated.push_back(op);
}

/// What micro-batches share: no op of theirs goes into it.
void Accumulation::hoistSources() {
  Block &block = step.getBody().front();
  SmallVector<Operation *> stack;
  llvm::DenseSet<Operation *> isSource;
  auto visit = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && !isRepeated.contains(maker) && isSource.insert(maker).second)
        stack.push_back(maker);
  };
  for (Operation *op : repeated)
    visit(op);
  while (!stack.empty())
    visit(stack.pop_back_val());
  Operation *first = repeated.front();
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isSource.contains(&op))
      op.moveBefore(first);
}

/// Whether somebody uses a result once a step, so that it must be that of all
/// micro-batches together.
bool Accumulation::isSummed(OpResult result) const {
  return getGradientParam(result) ||
         llvm::any_of(result.getUsers(), [&](Operation *user) {
           return !isRepeated.contains(user) && !isa<YieldOp>(user);
         });
}

void Accumulation::prepare() {
  findRepeated();
  if (repeated.empty())
    return;
  hoistSources();
  for (Operation *op : repeated)
    if (isa<ComputeOp>(op))
      for (OpResult result : op->getResults())
        if (isSummed(result))
          sums.insert({result, Value()});
}

/// The op reads the sums so far and adds to them.
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
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (Operation *maker = value.getDefiningOp();
        maker && isRepeated.contains(maker))
      states[step.getBody().getArgument(index)] = mapping.lookup(value);
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
    if (step->hasAttr("bagua.contract")) {
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
    accumulation.prepare();
    if (microBatches > 1 && !accumulation.getRepeated().empty())
      for (int64_t i = 0; i < microBatches; ++i)
        accumulation.write(i, microBatches);
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
