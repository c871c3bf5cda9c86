//===- OpGraphReader.cpp - Steps as index arrays --------------------------===//
//
// Collectives and local work in numbers.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/OpGraphReader.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/ClusterReader.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bagua;

namespace {
class GraphReader {
public:
  GraphReader(StepOp step, const ClusterModel &model)
      : step(step), cluster(step.lookupCluster()), model(model), block(step) {}

  FailureOr<OpGraph> read();

private:
  FailureOr<GraphOp> readOp(Operation *op);
  FailureOr<CollectiveCall> readCall(Operation *op);
  int64_t movedBytes(Operation *op);
  int64_t bytesOf(Value value) {
    return maxLocalBytes(cast<RankedTensorType>(value.getType()), cluster);
  }

  StepOp step;
  ClusterOp cluster;
  const ClusterModel &model;
  BlockOrder block;
};
} // namespace

FailureOr<CollectiveCall> GraphReader::readCall(Operation *op) {
  using Kind = std::pair<Collective, Value>;
  // The collective, and the value that is whole over its axes.
  auto [collective, whole] =
      llvm::TypeSwitch<Operation *, Kind>(op)
          .Case([](AllReduceOp op) {
            return Kind(Collective::AllReduce, op.getInput());
          })
          .Case([](ReduceScatterOp op) {
            return Kind(Collective::ReduceScatter, op.getInput());
          })
          .Case([](AllGatherOp op) {
            return Kind(Collective::AllGather, op.getOutput());
          })
          .Case([](ReduceOp op) {
            return Kind(Collective::Reduce, op.getInput());
          })
          .Case([](BroadcastOp op) {
            return Kind(Collective::Broadcast, op.getOutput());
          })
          .Case([](AllToAllOp op) {
            return Kind(Collective::AllToAll, op.getInput());
          })
          .Case([](ExchangeOp op) {
            return Kind(op.getPattern() == ExchangePattern::Ring
                            ? Collective::ExchangeRing
                            : Collective::ExchangeShiftOne,
                        op.getInput());
          })
          .Case([](PushOp op) { return Kind(Collective::Push, op.getInput()); })
          .Case(
              [](PullOp op) { return Kind(Collective::Pull, op.getOutput()); })
          .Default(
              [](Operation *) { return Kind(Collective::AllReduce, Value()); });
  auto type =
      dyn_cast_or_null<RankedTensorType>(whole ? whole.getType() : Type());
  if (!type)
    return op->emitOpError("can't be priced yet: encoded values have no cost "
                           "so far");
  CollectiveCall call{
      collective, readAxes(cluster, cast<StepOpInterface>(op).getGroupAxes()),
      maxLocalBytes(type, cluster)};
  if (LayoutAttr layout = getLayout(type))
    for (const LayoutEntry &entry : layout.getEntries())
      if (entry.kind == LayoutEntry::Kind::Root)
        call.roots |= readAxes(cluster, entry.getAxes());
  // The other side of a push or pull says which server.
  Value other = isa<PushOp>(op)   ? op->getResult(0)
                : isa<PullOp>(op) ? op->getOperand(0)
                                  : Value();
  if (other)
    call.server = getLayout(cast<RankedTensorType>(other.getType()))
                      .getEntries()
                      .back()
                      .server;
  return call;
}

/// Bytes that a local op reads and writes. A bucket whose tensors lie in it
/// already moves nothing; before there are places, all do.
int64_t GraphReader::movedBytes(Operation *op) {
  if (isa<AfterOp>(op))
    return 0;
  int64_t bytes = 0;
  bool gathers = isa<ConcatOp>(op);
  if (gathers || isa<SplitOp>(op)) {
    Value whole = gathers ? op->getResult(0) : op->getOperand(0);
    PlaceAttr base = getPlace(whole);
    int64_t offset = 0;
    bool isStriped = op->hasAttr("striped");
    for (Value part : gathers ? ValueRange(op->getOperands())
                              : ValueRange(op->getResults())) {
      PlaceAttr place = getPlace(part);
      bool isThere =
          !isStriped && (!base || !place ||
                         (place.getKind() == base.getKind() &&
                          place.getName() == base.getName() &&
                          place.getOffset() == base.getOffset() + offset));
      if (!isThere)
        bytes += 2 * bytesOf(part);
      offset += bytesOf(part);
    }
    return bytes;
  }
  for (Value value : op->getOperands())
    bytes += bytesOf(value);
  for (Value value : op->getResults())
    bytes += bytesOf(value);
  return bytes;
}

FailureOr<GraphOp> GraphReader::readOp(Operation *op) {
  auto stepOp = cast<StepOpInterface>(op);
  GraphOp result;
  result.makesGradient = llvm::any_of(op->getResults(), getGradientParam);
  if (auto compute = dyn_cast<ComputeOp>(op)) {
    result.ns = static_cast<double>(compute.getCostNs().value_or(0));
    return result;
  }
  if (stepOp.getGroupAxes()) {
    result.kind = GraphOpKind::Collective;
    FailureOr<CollectiveCall> call = readCall(op);
    if (failed(call))
      return failure();
    result.call = *call;
    return result;
  }
  result.kind = GraphOpKind::Local;
  if (isa<SgdOp, AdamOp, AdamApplyOp>(op)) {
    result.kind = GraphOpKind::Update;
    result.writtenOperand = static_cast<int32_t>(op->getNumResults());
  }
  for (Type type : op->getResultTypes())
    if (!isa<RankedTensorType>(type))
      return op->emitOpError("can't be priced yet: encoded values have no "
                             "cost so far");
  result.ns = model.memoryNs(movedBytes(op));
  return result;
}

FailureOr<OpGraph> GraphReader::read() {
  if (block.size() == 0)
    return step.emitError("expected a step with ops, found none");
  OpGraph graph;
  for (Operation *op : block) {
    FailureOr<GraphOp> entry = readOp(op);
    if (failed(entry))
      return failure();
    std::vector<int32_t> operands;
    for (Value operand : op->getOperands()) {
      std::optional<size_t> from = block.definitionOf(operand);
      operands.push_back(
          from ? static_cast<int32_t>(*from)
               : OpGraph::state(static_cast<int32_t>(
                     cast<BlockArgument>(operand).getArgNumber())));
    }
    graph.add(*entry, operands);
  }
  graph.yields.assign(step.getBody().getNumArguments(), -1);
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (std::optional<size_t> from = block.definitionOf(value))
      graph.yields[index] = static_cast<int32_t>(*from);
  return graph;
}

FailureOr<OpGraph> bagua::readGraph(StepOp step, const ClusterModel &model) {
  return GraphReader(step, model).read();
}

/// As the step says.
static LaunchSchedule readSchedule(StepOp step) {
  LaunchSchedule schedule;
  BlockOrder block(step);
  // Program and runtime share no stream.
  llvm::MapVector<std::pair<StringAttr, int>, int32_t> numbers;
  for (auto [index, op] : llvm::enumerate(block)) {
    auto stepOp = cast<StepOpInterface>(op);
    auto [entry, isNew] =
        numbers.insert({{stepOp.getStreamAttr(), int(stepOp.isRunByProgram())},
                        static_cast<int32_t>(schedule.streams.size())});
    if (isNew)
      schedule.streams.push_back(
          {stepOp.getStreamAttr().str(), stepOp.isRunByProgram()});
    schedule.streamOf.push_back(entry->second);
    schedule.order.push_back(static_cast<int32_t>(index));
  }
  return schedule;
}

static int64_t arenaBytesOf(StepOp step) {
  ClusterOp cluster = step.lookupCluster();
  llvm::MapVector<StringAttr, int64_t> arenas;
  auto touch = [&](Value value) {
    PlaceAttr place = getPlace(value);
    if (place && place.getKind() == PlaceKind::Arena)
      arenas[place.getName()] = std::max(
          arenas[place.getName()],
          place.getOffset() +
              maxLocalBytes(cast<RankedTensorType>(value.getType()), cluster));
  };
  for (BlockArgument argument : step.getBody().getArguments())
    touch(argument);
  for (Operation &op : step.getBody().front().without_terminator())
    llvm::for_each(op.getResults(), touch);
  int64_t total = 0;
  for (auto &[name, bytes] : arenas)
    total += bytes;
  return total;
}

FailureOr<ScheduledTasks> bagua::readTasks(StepOp step,
                                           const ClusterModel &model) {
  if (!step.isScheduled())
    return step.emitError("expected a scheduled step, found one without "
                          "streams");
  FailureOr<OpGraph> graph = readGraph(step, model);
  if (failed(graph))
    return failure();
  CollectivePrices prices(model);
  PricedTasks tasks = tasksOf(*graph, readSchedule(step), prices);
  ScheduledTasks result;
  result.graph = std::move(tasks.graph);
  result.bytesSent = tasks.bytesSent;
  result.arenaBytes = arenaBytesOf(step);
  for (Operation &op : step.getBody().front().without_terminator())
    result.ops.push_back(&op);
  return result;
}
