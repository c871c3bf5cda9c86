//===- StepModel.cpp - Steps as Scheduling sees them ----------------------===//
//
// Clusters, collectives and local work in numbers.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/StepModel.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Scheduling/Roofline.h"
#include "bagua/Transforms/BlockOrder.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bagua;

FailureOr<StepOp> bagua::getOnlyStep(ModuleOp module) {
  auto steps = llvm::to_vector(module.getOps<StepOp>());
  if (steps.size() != 1)
    return module.emitError()
           << "expected a module with one bagua.step, found " << steps.size();
  return steps.front();
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

AxisSet bagua::readAxes(ClusterOp cluster, AxesAttr axes) {
  AxisSet set = 0;
  for (StringAttr name : axes.getNames())
    set |= AxisSet(1) << *cluster.findAxis(name);
  return set;
}

AxesAttr bagua::writeAxes(ClusterOp cluster, AxisSet set) {
  SmallVector<StringAttr> names;
  for (unsigned axis = 0; axis < cluster.getAxisCount(); ++axis)
    if (set >> axis & 1)
      names.push_back(StringAttr::get(cluster.getContext(),
                                      cluster.getAxis(axis).getName()));
  return AxesAttr::get(cluster.getContext(), names);
}

/// `{all_reduce = array<i64: bytes, ns, bytes, ns>}`.
static void readTables(AxisAttr axis, AxisModel &model) {
  if (!axis.getTable())
    return;
  for (NamedAttribute entry : axis.getTable()) {
    auto numbers = cast<DenseI64ArrayAttr>(entry.getValue()).asArrayRef();
    auto &table = model.tables[entry.getName().str()];
    for (size_t i = 0; i + 1 < numbers.size(); i += 2)
      table.emplace_back(numbers[i], numbers[i + 1]);
  }
}

llvm::FailureOr<ClusterModel> bagua::readClusterModel(ClusterOp cluster) {
  ClusterModel model;
  int64_t ranks = cluster.getWorkerCount();
  for (unsigned index = 0; index < cluster.getAxisCount(); ++index) {
    AxisAttr axis = cluster.getAxis(index);
    AxisModel &entry = model.axes.emplace_back();
    entry = {axis.getName().str(), axis.getSize(), axis.getLatencyNs(),
             axis.getBytesPerS(), std::min(axis.getSharers(), ranks)};
    // Where there are fewer ranks than could share a link, all of them do.
    ranks /= axis.getSize();
    if (FloatAttr rate = axis.getOverlappedRate())
      entry.overlappedRate = rate.getValueAsDouble();
    readTables(axis, entry);
  }
  model.dedicatedServers =
      static_cast<int64_t>(cluster.getServers().value_or(0));
  if (AxesAttr on = cluster.getServersOnAttr())
    model.serversOn = readAxes(cluster, on);
  model.hasRingsAndTreesOnly = cluster.getRingsAndTrees();
  if (DeviceAttr device = cluster.getDeviceAttr()) {
    model.launchNs = device.getLaunchNs();
    model.memoryBytesPerS = device.getBytesPerS();
    if (FloatAttr slowdown = device.getCommunicationSlowdown())
      model.communicationSlowdown = slowdown.getValueAsDouble();
  }
  if (std::optional<std::string> wrong = model.check())
    return cluster.emitOpError() << *wrong;
  return model;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

int64_t bagua::trafficOf(Operation *op) {
  int64_t bytes = 0;
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        bytes +=
            getElementCount(tensor) * getElementBytes(tensor.getElementType());
  return bytes;
}

namespace {
class GraphReader {
public:
  GraphReader(StepOp step, const ClusterModel &model)
      : step(step), cluster(step.lookupCluster()), model(model), block(step) {}

  FailureOr<StepGraph> read();

private:
  FailureOr<StepGraphOp> readOp(Operation *op);
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

PlaceAttr bagua::getPlace(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return cast<StepOp>(argument.getOwner()->getParentOp())
        .getArgument(argument.getArgNumber())
        .getPlace();
  auto places = cast<StepOpInterface>(value.getDefiningOp()).getPlacesAttr();
  return places
             ? cast<PlaceAttr>(places[cast<OpResult>(value).getResultNumber()])
             : nullptr;
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

FailureOr<StepGraphOp> GraphReader::readOp(Operation *op) {
  auto stepOp = cast<StepOpInterface>(op);
  StepGraphOp result;
  result.makesGradient = llvm::any_of(op->getResults(), getGradientParam);
  if (auto compute = dyn_cast<ComputeOp>(op)) {
    result.ns = static_cast<double>(compute.getCostNs().value_or(0));
    return result;
  }
  if (stepOp.getGroupAxes()) {
    result.kind = StepOpKind::Collective;
    FailureOr<CollectiveCall> call = readCall(op);
    if (failed(call))
      return failure();
    result.call = *call;
    return result;
  }
  result.kind = StepOpKind::Local;
  if (isa<SgdOp, AdamOp, AdamApplyOp>(op)) {
    result.kind = StepOpKind::Update;
    result.writtenOperand = static_cast<int32_t>(op->getNumResults());
  }
  for (Type type : op->getResultTypes())
    if (!isa<RankedTensorType>(type))
      return op->emitOpError("can't be priced yet: encoded values have no "
                             "cost so far");
  result.ns = model.memoryNs(movedBytes(op));
  return result;
}

FailureOr<StepGraph> GraphReader::read() {
  if (block.size() == 0)
    return step.emitError("expected a step with ops, found none");
  StepGraph graph;
  for (Operation *op : block) {
    FailureOr<StepGraphOp> entry = readOp(op);
    if (failed(entry))
      return failure();
    std::vector<int32_t> operands;
    for (Value operand : op->getOperands()) {
      std::optional<size_t> from = block.definitionOf(operand);
      operands.push_back(
          from ? static_cast<int32_t>(*from)
               : StepGraph::state(static_cast<int32_t>(
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

FailureOr<StepGraph> bagua::readGraph(StepOp step, const ClusterModel &model) {
  return GraphReader(step, model).read();
}

/// As the step says.
static StepSchedule readSchedule(StepOp step) {
  StepSchedule schedule;
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

FailureOr<StepTasks> bagua::readTasks(StepOp step, const ClusterModel &model) {
  if (!step.isScheduled())
    return step.emitError("expected a scheduled step, found one without "
                          "streams");
  FailureOr<StepGraph> graph = readGraph(step, model);
  if (failed(graph))
    return failure();
  CollectivePrices prices(model);
  StepTaskGraph tasks = tasksOf(*graph, readSchedule(step), prices);
  StepTasks result;
  result.graph = std::move(tasks.graph);
  result.bytesSent = tasks.bytesSent;
  result.arenaBytes = arenaBytesOf(step);
  for (Operation &op : step.getBody().front().without_terminator())
    result.ops.push_back(&op);
  return result;
}

//===----------------------------------------------------------------------===//
// The bound
//===----------------------------------------------------------------------===//

/// Time of an update: its own, or that of the memory it touches.
static int64_t updateNsOf(Operation *op, const ClusterModel &model) {
  if (auto compute = dyn_cast<ComputeOp>(op))
    return static_cast<int64_t>(compute.getCostNs().value_or(0));
  if (model.memoryBytesPerS == 0)
    return 0;
  return rooflineNs(0, trafficOf(op),
                    {1, model.memoryBytesPerS, model.launchNs});
}

FailureOr<StepBound> bagua::readBound(StepOp step) {
  ClusterOp cluster = step.lookupCluster();
  FailureOr<ClusterModel> model = readClusterModel(cluster);
  if (failed(model))
    return failure();
  StepBound result;
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
  if (std::optional<std::string> wrong = problem.check())
    return step.emitError() << *wrong;
  return result;
}
