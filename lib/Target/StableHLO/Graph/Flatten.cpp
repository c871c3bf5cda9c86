//===- Flatten.cpp - From a module to the flat graph ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks over the public function once, after calls are inlined, and through
// wrappers. Values that a wrapper only renames share an index, so that names of
// arguments survive.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Flatten.h"

#include "StableHLO/Graph/Collectives.h"
#include "StableHLO/Graph/Cost.h"
#include "StableHLO/Graph/CustomCalls.h"
#include "StableHLO/Graph/DeviceNumbers.h"
#include "StableHLO/Graph/Hoist.h"
#include "StableHLO/Graph/Inline.h"
#include "StableHLO/Graph/OpTable.h"
#include "StableHLO/Graph/Splats.h"
#include "StableHLO/Graph/Unroll.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bagua::importer;

namespace {
class Flattener {
public:
  Flattener(ModuleOp module, const LoopOptions &options)
      : module(module), options(options), graph(module.getLoc()) {}

  FailureOr<Graph> run();

private:
  LogicalResult readModule(func::FuncOp &entry);
  LogicalResult readArguments(func::FuncOp entry);
  LogicalResult readOutputs(func::FuncOp entry, ArrayRef<ValueId> results);
  LogicalResult buildMesh();
  void nameAxes();
  LogicalResult checkTypes();

  FailureOr<SmallVector<ValueId>> visitBlock(Block &block,
                                             ArrayRef<ValueId> arguments);
  LogicalResult visitOp(Operation *op);
  LogicalResult visitManual(Operation *op);
  LogicalResult visitCustomCall(Operation *op);
  LogicalResult visitCollective(Operation *op, OpKind kind);
  LogicalResult addOp(Operation *op, OpTraits traits);
  void addInnerCommunication(Operation *inner, OpKind kind, FlatOp &flat);
  void addCaptures(Operation *op, FlatOp &flat);
  FailureOr<ValueId> addValue(Value source, OpId def);
  Argument *argumentOf(ValueId value);
  StringRef scopeOfCalls(Operation *op) const {
    StringAttr scope = callScopes.lookup(op);
    return scope ? scope.getValue() : StringRef();
  }
  void alias(Operation *op);

  ModuleOp module;
  LoopOptions options;
  Graph graph;
  CallScopes callScopes;
  llvm::StringMap<Mesh> meshes;
  /// The mesh of the manual computation, if Shardy made it.
  std::optional<Mesh> namedMesh;
  /// Shardings of shard_map's values, arguments or not.
  std::vector<Sharding> shardings;
  Block *entryBlock = nullptr;
};
} // namespace

//===----------------------------------------------------------------------===//
// Module and signature
//===----------------------------------------------------------------------===//

static int64_t integerAttr(Operation *op, StringRef name, int64_t otherwise) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : otherwise;
}

LogicalResult Flattener::readModule(func::FuncOp &entry) {
  graph.name = module.getSymName().value_or("step").str();
  graph.replicas = integerAttr(module, "mhlo.num_replicas", 1);
  graph.partitions = integerAttr(module, "mhlo.num_partitions", 1);
  if (graph.replicas < 1 || graph.partitions < 1 ||
      (graph.replicas > 1 && graph.partitions > 1))
    return emitError(module.getLoc())
           << "expected replicas or partitions, found " << graph.replicas
           << " replicas of " << graph.partitions << " partitions";
  for (Operation &op : *module.getBody()) {
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      graph.functions[function.getSymName()] = function;
      // The stub dialects' ops might end a block, as far as MLIR knows.
      if (!function.isExternal() &&
          (!function.getBody().hasOneBlock() ||
           !isa<func::ReturnOp>(function.getBody().front().back())))
        return emitError(function.getLoc())
               << "expected a function of one block that ends in func.return";
      if (function.isPublic() && entry)
        return emitError(function.getLoc())
               << "expected one public function, found '" << entry.getSymName()
               << "' and '" << function.getSymName() << "'";
      if (function.isPublic())
        entry = function;
      continue;
    }
    if (op.getName().getStringRef() != "sdy.mesh")
      return emitError(op.getLoc())
             << "expected functions and meshes in the module, found '"
             << op.getName() << "'";
    auto text = op.getAttrOfType<OpaqueAttr>("mesh");
    auto name = op.getAttrOfType<StringAttr>("sym_name");
    if (!text || !name)
      return emitError(op.getLoc()) << "expected a mesh with a name";
    FailureOr<Mesh> mesh = parseShardyMesh(op.getLoc(), text.getAttrData());
    if (failed(mesh))
      return failure();
    meshes[name.getValue()] = *mesh;
  }
  if (!entry || entry.isExternal())
    return emitError(module.getLoc())
           << "expected a public function with a body, found none";
  return success();
}

LogicalResult Flattener::readArguments(func::FuncOp entry) {
  for (BlockArgument argument : entry.getArguments()) {
    unsigned index = argument.getArgNumber();
    FailureOr<ValueId> value = addValue(argument, kNone);
    if (failed(value))
      return failure();
    Argument &info = graph.arguments.emplace_back(argument.getLoc());
    info.value = *value;
    info.index = index;
    if (auto name = dyn_cast<NameLoc>(argument.getLoc()))
      info.path = name.getName().str();
    if (auto aliased =
            entry.getArgAttrOfType<IntegerAttr>(index, "tf.aliasing_output"))
      info.aliasedOutput = aliased.getInt();
    auto isSet = [&](StringRef name) {
      auto attr = entry.getArgAttrOfType<BoolAttr>(index, name);
      return attr && attr.getValue();
    };
    info.isDonated = info.aliasedOutput != kNone || isSet("jax.buffer_donor");
    info.isSame = isSet("mhlo.is_same_data_across_replicas");
  }
  return success();
}

LogicalResult Flattener::readOutputs(func::FuncOp entry,
                                     ArrayRef<ValueId> results) {
  Operation *terminator = entry.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(results)) {
    Output &output = graph.outputs.emplace_back(terminator->getLoc());
    output.value = value;
    if (auto path =
            entry.getResultAttrOfType<StringAttr>(index, "jax.result_info"))
      output.path = path.str();
  }
  for (const Argument &argument : graph.arguments)
    if (argument.aliasedOutput >= static_cast<int64_t>(results.size()))
      return emitError(argument.loc)
             << "expected tf.aliasing_output below " << results.size()
             << ", found " << argument.aliasedOutput;
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

FailureOr<ValueId> Flattener::addValue(Value source, OpId def) {
  auto tensor = dyn_cast<RankedTensorType>(source.getType());
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
    return emitError(source.getLoc())
           << "expected a tensor of static shape, found " << source.getType();
  FlatValue &value = graph.values.emplace_back();
  value.type = tensor;
  value.source = source;
  value.def = def;
  return static_cast<ValueId>(graph.values.size() - 1);
}

Argument *Flattener::argumentOf(ValueId value) {
  // Arguments are the first values.
  return value < static_cast<ValueId>(graph.arguments.size())
             ? &graph.arguments[value]
             : nullptr;
}

/// Gives the results the indices of the operands.
void Flattener::alias(Operation *op) {
  for (auto [result, operand] :
       llvm::zip_equal(op->getResults(), op->getOperands()))
    graph.ids[result] = graph.ids.lookup(operand);
}

FailureOr<SmallVector<ValueId>>
Flattener::visitBlock(Block &block, ArrayRef<ValueId> arguments) {
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments))
    graph.ids[argument] = value;
  for (Operation &op : llvm::make_range(block.begin(), --block.end()))
    if (failed(visitOp(&op)))
      return failure();
  SmallVector<ValueId> results;
  for (Value operand : block.back().getOperands())
    results.push_back(graph.ids.lookup(operand));
  return results;
}

LogicalResult Flattener::visitOp(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name == kManualComputation)
    return visitManual(op);
  if (isIdentity(op)) {
    alias(op);
    return success();
  }
  if (isCustomCall(op))
    return visitCustomCall(op);
  OpTraits traits = traitsOf(op);
  if (traits.isOtherCommunication)
    return emitError(op->getLoc())
           << "expected all_reduce, reduce_scatter, all_gather, all_to_all or "
              "collective_permute as communication, found '"
           << name << "', which the importer doesn't support";
  if (isCommunication(traits.kind))
    return visitCollective(op, traits.kind);
  return addOp(op, traits);
}

LogicalResult Flattener::visitManual(Operation *op) {
  auto text = op->getAttrOfType<OpaqueAttr>("in_shardings");
  if (!text || op->getNumRegions() != 1 || op->getRegion(0).empty())
    return emitError(op->getLoc())
           << "expected a manual computation with in_shardings and a body";
  FailureOr<std::vector<Sharding>> cuts =
      parseShardySharding(op->getLoc(), text.getAttrData());
  if (failed(cuts))
    return failure();
  if (cuts->size() != op->getNumOperands())
    return emitError(op->getLoc())
           << "expected one sharding for each of " << op->getNumOperands()
           << " operands, found " << cuts->size();
  StringRef rest = text.getAttrData();
  rest = rest.drop_front(std::min(rest.find("<@"), rest.size() - 2) + 2);
  StringRef meshName =
      rest.take_until([](char c) { return c == ',' || c == '>'; });
  if (!meshes.count(meshName) || namedMesh)
    return emitError(op->getLoc()) << "expected one manual computation over a "
                                      "mesh of the module, found "
                                      "mesh @"
                                   << meshName;
  namedMesh = meshes[meshName];
  auto manual = op->getAttrOfType<OpaqueAttr>("manual_axes");
  for (const MeshAxis &axis : namedMesh->axes)
    if (axis.size > 1 &&
        !(manual && manual.getAttrData().contains("\"" + axis.name + "\"")))
      return emitError(op->getLoc())
             << "expected a computation that is manual over all axes of "
             << namedMesh->str() << ", found axis '" << axis.name
             << "' left to a partitioner";
  graph.isManual = true;
  Block &body = op->getRegion(0).front();
  graph.body = &body;
  if (body.getNumArguments() != op->getNumOperands() || body.empty() ||
      body.back().getNumOperands() != op->getNumResults() ||
      !llvm::all_of(body.getArgumentTypes(), llvm::IsaPred<RankedTensorType>))
    return emitError(op->getLoc())
           << "expected a body with one tensor for each operand and result";
  SmallVector<ValueId> arguments;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    arguments.push_back(graph.ids.lookup(operand));
    if (Argument *argument = argumentOf(arguments.back()))
      argument->sharding = (*cuts)[index];
    graph.values[arguments.back()].type =
        cast<RankedTensorType>(body.getArgument(index).getType());
    graph.values[arguments.back()].source = body.getArgument(index);
  }
  FailureOr<SmallVector<ValueId>> results = visitBlock(body, arguments);
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *results))
    graph.ids[result] = value;
  return success();
}

LogicalResult Flattener::visitCustomCall(Operation *op) {
  if (!isShardingWrapper(op))
    return addOp(op, traitsOf(op));
  alias(op);
  auto text = op->getAttrOfType<StringAttr>("mhlo.sharding");
  ValueId value = graph.ids.lookup(op->getResult(0));
  if (targetOf(op) == "SPMDFullToShardShape") {
    graph.isManual = true;
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (type && argumentOf(value)) {
      graph.values[value].type = type;
      graph.values[value].source = op->getResult(0);
    }
    return success();
  }
  if (!text)
    return success();
  FailureOr<Sharding> sharding =
      parseGspmdSharding(op->getLoc(), text.getValue());
  if (failed(sharding))
    return failure();
  shardings.push_back(*sharding);
  // The mark on an argument itself tells how the mesh cuts it.
  auto marked = dyn_cast<BlockArgument>(op->getOperand(0));
  if (marked && marked.getOwner() == entryBlock)
    argumentOf(value)->sharding = *sharding;
  return success();
}

LogicalResult Flattener::visitCollective(Operation *op, OpKind kind) {
  if (op->getNumOperands() != op->getNumResults())
    return emitError(op->getLoc()) << "expected as many results as operands";
  Collective collective;
  if (failed(readCollective(op, kind, collective)))
    return failure();
  // A variadic all_reduce becomes one for each operand.
  for (auto [operand, result] :
       llvm::zip_equal(op->getOperands(), op->getResults())) {
    FailureOr<ValueId> value =
        addValue(result, static_cast<OpId>(graph.ops.size()));
    if (failed(value))
      return failure();
    FlatOp &flat = graph.ops.emplace_back(op->getLoc());
    flat.kind = kind;
    flat.source = op;
    flat.callScope = scopeOfCalls(op);
    flat.operands.push_back(graph.ids.lookup(operand));
    flat.results.push_back(*value);
    flat.collective = collective;
    graph.ids[result] = *value;
  }
  return success();
}

/// The op's name, with the target of a custom call.
static std::string nameWithTarget(Operation *op) {
  StringRef target = targetOf(op);
  return "'" + op->getName().getStringRef().str() + "'" +
         (target.empty() ? "" : " @" + target.str());
}

static void remarkUnknown(Operation *op) {
  if (isKnownCustomCall(op))
    return; // kept for its side effects
  emitRemark(op->getLoc()) << nameWithTarget(op)
                           << " is not known; kept as opaque compute";
}

static void remarkCommunication(Operation *op) {
  emitRemark(op->getLoc())
      << nameWithTarget(op)
      << " communicates, or may communicate, in a form that the import does "
         "not read: it is kept as it is, and no pass plans it";
}

LogicalResult Flattener::addOp(Operation *op, OpTraits traits) {
  if (!isWellFormed(op, traits.kind))
    return emitError(op->getLoc())
           << "expected the operands and results of '" << op->getName()
           << "', found " << op->getNumOperands() << " operands and "
           << op->getNumResults() << " results of other shapes or number";
  FlatOp flat(op->getLoc());
  flat.kind = traits.kind;
  flat.communicates = traits.isOtherCommunication;
  flat.dependsOnRank =
      traits.kind == OpKind::RankDependent || flat.communicates;
  flat.source = op;
  flat.callScope = scopeOfCalls(op);
  for (Value operand : op->getOperands())
    flat.operands.push_back(graph.ids.lookup(operand));
  addCaptures(op, flat);
  auto id = static_cast<OpId>(graph.ops.size());
  for (OpResult result : op->getResults()) {
    FailureOr<ValueId> value = addValue(result, id);
    if (failed(value))
      return failure();
    flat.results.push_back(*value);
    graph.ids[result] = *value;
  }
  bool isStatic = flat.kind != OpKind::Opaque && !flat.dependsOnRank &&
                  !flat.communicates &&
                  llvm::all_of(flat.operands, [&](ValueId operand) {
                    return graph.values[operand].isStatic;
                  });
  if (traits.isOtherCommunication)
    remarkCommunication(op);
  else if (traits.kind == OpKind::Opaque)
    remarkUnknown(op);
  for (ValueId result : flat.results)
    graph.values[result].isStatic = isStatic;
  graph.ops.push_back(std::move(flat));
  if (isStatic)
    inferSplat(graph, graph.ops.back());
  return success();
}

/// Marks an op whose region communicates. The graph does not show how often a
/// region runs, so the communication stays inside it.
void Flattener::addInnerCommunication(Operation *inner, OpKind kind,
                                      FlatOp &flat) {
  if (!flat.communicates)
    emitRemark(inner->getLoc())
        << nameWithTarget(inner) << " stays in the body of '"
        << flat.source->getName()
        << "', which communicates by itself: no pass plans it";
  flat.communicates = true;
  // A reduction or a gather keeps ranks in agreement.
  flat.dependsOnRank |= kind != OpKind::AllReduce && kind != OpKind::AllGather;
}

/// Turns values from outside that the op's regions use into operands. The op
/// also runs the functions that it names: a call's callee, a composite's
/// decomposition, the called computations of a custom call.
void Flattener::addCaptures(Operation *op, FlatOp &flat) {
  SmallVector<Operation *> pending = {op};
  llvm::StringSet<> visited;
  while (!pending.empty()) {
    Operation *root = pending.pop_back_val();
    root->walk([&](Operation *inner) {
      for (func::FuncOp callee : functionsOf(inner, graph.functions))
        if (visited.insert(callee.getSymName()).second)
          pending.push_back(callee);
      if (inner == root)
        return;
      OpTraits traits = traitsOf(inner);
      if (traits.isOtherCommunication || isCommunication(traits.kind))
        addInnerCommunication(inner, traits.kind, flat);
      flat.dependsOnRank |= traits.kind == OpKind::RankDependent;
      // A loop around an unknown op has that op's effects.
      if (traits.kind == OpKind::Opaque &&
          !isa<func::CallOp, func::FuncOp>(inner) &&
          !inner->getName().getStringRef().ends_with(".return")) {
        if (!traits.isOtherCommunication)
          remarkUnknown(inner);
        flat.kind = OpKind::Opaque;
      }
      for (Value operand : inner->getOperands())
        if (root == op &&
            !op->isAncestor(operand.getParentBlock()->getParentOp()))
          flat.operands.push_back(graph.ids.lookup(operand));
    });
  }
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

/// Names the axes, which GSPMD does not. A single axis is called data; of
/// several, those that cut a donated argument (state) are called model, the
/// others data.
void Flattener::nameAxes() {
  AxisMask state = 0;
  for (const Argument &argument : graph.arguments)
    if (argument.isDonated)
      state |= argument.sharded;
  if (graph.mesh.axes.size() == 1)
    state = 0;
  for (bool isModel : {false, true}) {
    SmallVector<MeshAxis *> axes;
    for (auto [index, axis] : llvm::enumerate(graph.mesh.axes))
      if ((state >> index & 1) == isModel)
        axes.push_back(&axis);
    for (auto [index, axis] : llvm::enumerate(axes))
      axis->name = std::string(isModel ? "model" : "data") +
                   (axes.size() > 1 ? std::to_string(index) : "");
  }
}

LogicalResult Flattener::buildMesh() {
  if (graph.partitions > 1 && !graph.isManual)
    return emitError(graph.loc)
           << "expected a step written for one device (pmap, shard_map or "
              "Shardy's manual computation), found "
           << graph.partitions
           << " partitions left to a partitioner; export_step.py runs XLA's "
              "partitioner first";
  // Pairs of a permutation run along whole axes of a mesh that the text has.
  FailureOr<std::vector<Sharding>> groups =
      shardingsOfGroups(graph, /*withPairs=*/!namedMesh);
  if (failed(groups))
    return failure();
  if (namedMesh) {
    bool isWhole =
        namedMesh->axes.size() <= kMaxAxes &&
        namedMesh->sizeOf(namedMesh->allAxes()) == graph.deviceCount();
    graph.mesh = isWhole ? cutAxes(*namedMesh, *groups) : *namedMesh;
  } else {
    shardings.insert(shardings.end(), groups->begin(), groups->end());
    FailureOr<Mesh> mesh =
        meshOfShardings(graph.loc, graph.deviceCount(), shardings);
    if (failed(mesh))
      return failure();
    graph.mesh = *mesh;
  }
  if (graph.mesh.axes.size() > kMaxAxes ||
      (graph.mesh.sizeOf(graph.mesh.allAxes()) != graph.deviceCount() &&
       graph.deviceCount() > 1))
    return emitError(graph.loc) << "expected a mesh of " << graph.deviceCount()
                                << " devices on at most " << kMaxAxes
                                << " axes, found " << graph.mesh.str();
  for (Argument &argument : graph.arguments) {
    FailureOr<AxisMask> mask =
        axesOfSharding(argument.loc, graph.mesh, argument.sharding);
    if (failed(mask))
      return failure();
    argument.sharded = *mask;
    if (!graph.isManual && !argument.isSame && graph.deviceCount() > 1)
      argument.own = graph.mesh.allAxes();
  }
  if (!namedMesh)
    nameAxes();
  return resolveGroups(graph);
}

/// Checks that a value that a wrapper renames has one shape. A file that uses
/// it in another shape leaves part of the step to a partitioner.
LogicalResult Flattener::checkTypes() {
  for (const FlatOp &op : graph.ops)
    for (auto [index, operand] : llvm::enumerate(op.source->getOperands())) {
      if (isCommunication(op.kind))
        break;
      if (graph.values[op.operands[index]].type != operand.getType())
        return emitError(op.loc)
               << "expected operand " << index << " in the shape of one device "
               << graph.values[op.operands[index]].type << ", found "
               << operand.getType() << ", which is left to a partitioner";
    }
  return success();
}

FailureOr<Graph> Flattener::run() {
  func::FuncOp entry;
  if (failed(readModule(entry)) || failed(readArguments(entry)))
    return failure();
  SmallVector<ValueId> arguments;
  for (const Argument &argument : graph.arguments)
    arguments.push_back(argument.value);
  FailureOr<CallScopes> scopes = inlineCalls(entry, graph.functions);
  if (failed(scopes))
    return failure();
  callScopes = std::move(*scopes);
  if (options.hoists &&
      failed(hoistReductions(entry, graph.functions, callScopes)))
    return failure();
  if (options.unrolls &&
      failed(unrollLoops(entry, graph.functions, callScopes)))
    return failure();
  entryBlock = &entry.getBody().front();
  graph.entry = entry;
  graph.body = entryBlock;
  FailureOr<SmallVector<ValueId>> results = visitBlock(*entryBlock, arguments);
  if (failed(results) || failed(readOutputs(entry, *results)) ||
      failed(buildMesh()) || failed(checkTypes()))
    return failure();
  graph.removeDeadOps();
  CostModel(graph.functions).annotate(graph);
  findDeviceNumbers(graph);
  return std::move(graph);
}

FailureOr<Graph> bagua::importer::flatten(ModuleOp module,
                                          const LoopOptions &options) {
  return Flattener(module, options).run();
}
