//===- OpGraphReader.cpp - Steps as index arrays --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads collectives and local work as numbers.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/OpGraphReader.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Scheduling/Prices/LateOps.h"
#include "bagua/Support/Parts.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace bagua;

namespace {
class GraphReader {
public:
  GraphReader(StepOp step, const ClusterModel &model)
      : step(step), cluster(step.lookupCluster()), model(model), block(step),
        kept(step) {}

  FailureOr<OpGraph> read();

private:
  FailureOr<GraphOp> readOp(StepOpInterface op);
  FailureOr<SizedCollective> readCall(StepOpInterface op);
  int64_t movedBytes(StepOpInterface op);
  int64_t bytesOf(Value value) {
    return maxLocalBytes(value.getType(), cluster);
  }

  StepOp step;
  ClusterOp cluster;
  const ClusterModel &model;
  BlockOrder block;
  KeptStates kept;
};
} // namespace

FailureOr<SizedCollective> GraphReader::readCall(StepOpInterface op) {
  Value whole = op.getWholeValue();
  SizedCollective call{*op.getCollective(),
                       readAxes(cluster, op.getGroupAxes()), bytesOf(whole)};
  if (LayoutAttr layout = getLayout(logicalTensor(whole.getType())))
    for (const LayoutEntry &entry : layout.getEntries())
      if (entry.kind == LayoutEntry::Kind::Root)
        call.roots |= readAxes(cluster, entry.getAxes());
  if (usesServers(call.collective))
    call.server = getLayout(logicalTensor(op.getPartialValue().getType()))
                      .getEntries()
                      .back()
                      .server;
  return call;
}

/// Bytes that a local op reads and writes. A bucket moves nothing if its
/// tensors lie in it already, and all of its bytes before places are decided.
int64_t GraphReader::movedBytes(StepOpInterface op) {
  int64_t bytes = 0;
  if (std::optional<BucketView> bucket = op.getBucket()) {
    PlaceAttr base = getPlace(bucket->whole);
    int64_t offset = 0;
    for (Value tensor : bucket->tensors) {
      PlaceAttr place = getPlace(tensor);
      bool isThere = !bucket->striped &&
                     (!base || !place ||
                      (place.getKind() == base.getKind() &&
                       place.getName() == base.getName() &&
                       place.getOffset() == base.getOffset() + offset));
      if (!isThere)
        bytes += 2 * bytesOf(tensor);
      offset += bytesOf(tensor);
    }
    return bytes;
  }
  for (Value value : op->getOperands())
    bytes += bytesOf(value);
  for (Value value : op->getResults())
    bytes += bytesOf(value);
  return bytes;
}

KeptStates::KeptStates(StepOp step) {
  NextValues next(step);
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    auto kept = dyn_cast<BlockArgument>(value);
    BlockArgument heir = step.getBody().getArgument(index);
    if (!kept || kept == heir)
      continue;
    for (BlockArgument argument : {kept, heir}) {
      states.insert(argument);
      // A batch may be kept as a state, and has no next value.
      Value made = next.of(argument);
      if (Operation *maker = made ? made.getDefiningOp() : nullptr)
        makers.insert(maker);
    }
  }
}

bool KeptStates::isTouchedBy(Operation *op) const {
  return makers.contains(op) ||
         llvm::any_of(op->getOperands(), [this](Value operand) {
           return states.contains(operand);
         });
}

/// Describes an op, without its price.
static GraphOp describe(StepOpInterface op, const KeptStates &kept) {
  GraphOp result;
  result.makesGradient = llvm::any_of(op->getResults(), getGradientParam);
  if (auto compute = dyn_cast<ComputeOp>(*op)) {
    result.mayBeLate = compute.getLate() && !kept.isTouchedBy(compute);
  } else if (op.getCollective()) {
    result.kind = GraphOpKind::Collective;
  } else if (op.isUpdate()) {
    result.kind = GraphOpKind::Update;
    result.writtenOperand = static_cast<int32_t>(op.getStateCount());
  } else {
    result.kind = GraphOpKind::Local;
  }
  return result;
}

/// Connects ops in block order; operands and yields are their numbers.
static OpGraph connect(StepOp step, const BlockOrder &block,
                       ArrayRef<GraphOp> ops) {
  OpGraph graph;
  for (auto [index, op] : llvm::enumerate(block)) {
    std::vector<int32_t> operands;
    for (Value operand : op->getOperands()) {
      std::optional<size_t> from = block.definitionOf(operand);
      operands.push_back(
          from ? static_cast<int32_t>(*from)
               : OpGraph::state(static_cast<int32_t>(
                     cast<BlockArgument>(operand).getArgNumber())));
    }
    graph.add(ops[index], operands);
  }
  graph.yields.assign(step.getBody().getNumArguments(), -1);
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (std::optional<size_t> from = block.definitionOf(value))
      graph.yields[index] = static_cast<int32_t>(*from);
  return graph;
}

OpGraph bagua::readDataFlow(StepOp step) {
  BlockOrder block(step);
  KeptStates kept(step);
  return connect(step, block, llvm::map_to_vector(block, [&](Operation *op) {
                   return describe(cast<StepOpInterface>(op), kept);
                 }));
}

FailureOr<GraphOp> GraphReader::readOp(StepOpInterface op) {
  GraphOp result = describe(op, kept);
  if (auto compute = dyn_cast<ComputeOp>(*op)) {
    result.ns = static_cast<double>(compute.getCostNs().value_or(0));
    return result;
  }
  if (op.getCollective()) {
    FailureOr<SizedCollective> call = readCall(op);
    if (failed(call))
      return failure();
    result.call = *call;
    return result;
  }
  result.ns = model.localNs(op.getHostWork().str(), movedBytes(op));
  LayoutAttr layout = getLayout(logicalTensor(op->getResult(0).getType()));
  result.isOnServers =
      layout && layout.getEntries().back().kind == LayoutEntry::Kind::Server;
  return result;
}

FailureOr<OpGraph> GraphReader::read() {
  if (block.size() == 0)
    return step.emitError("expected a step with ops, found none");
  SmallVector<GraphOp> ops;
  for (Operation *op : block) {
    FailureOr<GraphOp> entry = readOp(cast<StepOpInterface>(op));
    if (failed(entry))
      return failure();
    ops.push_back(*entry);
  }
  return connect(step, block, ops);
}

FailureOr<OpGraph> bagua::readGraph(StepOp step, const ClusterModel &model) {
  return GraphReader(step, model).read();
}

/// The schedule that the step has.
static LaunchSchedule readSchedule(StepOp step, const OpGraph &graph) {
  LaunchSchedule schedule;
  schedule.lateBefore = findLateOps(graph);
  BlockOrder block(step);
  // Streams of one name, told apart by side: program and runtime share no
  // stream.
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
      arenas[place.getName()] =
          std::max(arenas[place.getName()],
                   place.getOffset() + maxLocalBytes(value.getType(), cluster));
  };
  for (BlockArgument argument : step.getBody().getArguments())
    touch(argument);
  for (Operation &op : step.getBody().front().without_terminator())
    llvm::for_each(op.getResults(), touch);
  int64_t total = 0;
  for (auto &[name, bytes] : arenas)
    total += arenaAligned(bytes);
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
  LaunchSchedule schedule = readSchedule(step, *graph);
  if (failed(expectSound(step, schedule.verify(*graph))))
    return failure();
  CollectivePrices prices(model);
  PricedTasks tasks = tasksOf(*graph, schedule, prices);
  if (failed(expectSound(step, tasks.graph.check())))
    return failure();
  ScheduledTasks result;
  result.graph = std::move(tasks.graph);
  result.bytesSent = tasks.bytesSent;
  result.arenaBytes = arenaBytesOf(step);
  BlockOrder block(step);
  for (int32_t op : tasks.ops)
    result.ops.push_back(block[op]);
  return result;
}
