//===- Emit.cpp - From the analysed graph to a bagua.step -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits one compute op for each op of the graph, structured ops for updates,
// and collectives that are not gradients'.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Writing/Emit.h"

#include "StableHLO/Graph/Flatten.h"
#include "StableHLO/Reading/Scope.h"
#include "StableHLO/Reading/TreePath.h"
#include "StableHLO/Recognition/Phases.h"
#include "StableHLO/Writing/Axes.h"

#include "bagua/Dialect/Bagua/Origins.h"
#include "bagua/Target/Clusters.h"
#include "bagua/Target/SizeScale.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

#include <cmath>

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

namespace {
class Emitter {
public:
  Emitter(MLIRContext *context, const Graph &graph, const ImportedStep &model,
          const StableHLOImportOptions &options)
      : graph(graph), model(model), options(options), builder(context),
        values(graph.values.size()), types(graph.values.size()),
        gradientOf(graph.values.size(), kNone),
        isGradientCast(graph.values.size(), false) {}

  FailureOr<EmittedStep> run();

private:
  ClusterOp emitCluster();
  void scaleTypes();
  llvm::DenseMap<ValueId, StringAttr> countsOfMoments();
  StepOp emitStepOp(ClusterOp cluster);
  void emitOp(const FlatOp &op, PhaseKind phase);
  void emitCompute(const FlatOp &op, PhaseKind phase);
  void emitCollective(const FlatOp &op, PhaseKind phase);
  Operation *createCollective(const FlatOp &op, Value input);
  AxesAttr variesAttr(AxisMask mask) const;
  AxisMask ofDevice(ValueId id) const;
  Value givenOf(ValueId id, OpKind kind, PhaseKind phase);
  Operation *createUpdate(const FlatOp &op, ArrayRef<Value> states, Value grad,
                          Value lr, FloatAttr lrValue);
  void emitUpdate(const FlatOp &op);
  void emitOutputs();
  Value valueOf(ValueId id);
  EmittedOp &number(Operation *op, OpId source);
  bool isCastOfGradient(const FlatOp &op) const;
  std::string nameOf(const FlatOp &op);
  OpId idOf(const FlatOp &op) const {
    return static_cast<OpId>(&op - graph.ops.data());
  }
  IntegerAttr countAttr(int64_t count) {
    return builder.getI64IntegerAttr(
        static_cast<int64_t>(std::llround(count * options.sizeScale)));
  }
  FloatAttr floatAttr(float value) { return builder.getF32FloatAttr(value); }

  const Graph &graph;
  const ImportedStep &model;
  const StableHLOImportOptions &options;
  OpBuilder builder;
  std::optional<AxisMap> axes;
  std::vector<Value> values;
  std::vector<RankedTensorType> types;
  /// By value: the argument of the step whose gradient it is; kNone for others.
  std::vector<int32_t> gradientOf;
  std::vector<bool> isGradientCast;
  std::vector<PhaseKind> phases;
  DenseMap<Attribute, std::string> scopes;
  std::vector<EmittedOp> emittedOps;
  DenseMap<Value, Value> givenValues;
};
} // namespace

//===----------------------------------------------------------------------===//
// Types and names
//===----------------------------------------------------------------------===//

/// Scales all types. A scalar stays a scalar. A tensor that is cut into pieces
/// keeps a size that the group divides.
void Emitter::scaleTypes() {
  std::vector<int64_t> multiples(graph.values.size(), 1);
  for (const FlatOp &op : graph.ops) {
    if (op.isDead)
      continue;
    if (op.kind == OpKind::AllToAll || op.kind == OpKind::ReduceScatter)
      multiples[op.operands[0]] = axes->sizeOf(op.collective.axes);
    if (op.kind == OpKind::AllToAll || op.kind == OpKind::AllGather)
      multiples[op.results[0]] = axes->sizeOf(op.collective.axes);
  }
  for (auto [index, value] : llvm::enumerate(graph.values)) {
    types[index] = scaleType(value.type, options.sizeScale, multiples[index]);
  }
  if (options.sizeScale == 1)
    return;
  for (const FlatOp &op : graph.ops) {
    bool isCut = op.kind == OpKind::ReduceScatter;
    if (op.isDead || (!isCut && op.kind != OpKind::AllGather))
      continue;
    ValueId whole = isCut ? op.operands[0] : op.results[0];
    ValueId piece = isCut ? op.results[0] : op.operands[0];
    types[piece] = RankedTensorType::get(
        {types[whole].getNumElements() / axes->sizeOf(op.collective.axes)},
        types[whole].getElementType());
  }
}

/// The op's scope. An op from a call has that of the call, since helpers are
/// shared; an op without scopes has its own name.
std::string Emitter::nameOf(const FlatOp &op) {
  auto [entry, isNew] = scopes.try_emplace(LocationAttr(op.loc), "");
  if (isNew)
    entry->second = scopeOf(op.loc);
  StringRef scope = entry->second;
  std::string own =
      op.source ? op.source->getName().stripDialect().str() : "scale";
  std::string name = scope.empty() ? own : scope.str();
  if (!op.callScope.empty())
    name = (op.callScope + "/" + StringRef(name).rsplit('/').second).str();
  if (!op.callScope.empty() && !scope.contains('/'))
    name =
        (op.callScope + "/" + (scope.empty() ? StringRef(own) : scope)).str();
  return op.kind == OpKind::Scale ? name + "/scale" : name;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Gives the op its origin.
EmittedOp &Emitter::number(Operation *op, OpId source) {
  auto number = static_cast<int64_t>(emittedOps.size());
  setOrigin(op, OriginRun{number, number});
  return emittedOps.emplace_back(EmittedOp{op, source, kNone});
}

/// The SSA value of a graph's value. A value that depends on no argument is
/// part of the ops that use it; a compute op makes it only if an SSA value is
/// needed.
Value Emitter::valueOf(ValueId id) {
  if (values[id])
    return values[id];
  auto constant =
      builder.create<ComputeOp>(graph.loc, TypeRange(types[id]), ValueRange(),
                                PhaseKind::Forward, "constant");
  constant.setVariesAttr(variesAttr(ofDevice(id)));
  number(constant, kNone);
  return values[id] = constant.getResult(0);
}

/// The axes over which a value that depends on the device alone differs: all
/// axes if the number of ranks is not the exported one, for which alone the
/// value is known.
AxisMask Emitter::ofDevice(ValueId id) const {
  const FlatValue &value = graph.values[id];
  return value.isOfDevice &&
                 axes->sizeOf(graph.mesh.allAxes()) != graph.deviceCount()
             ? graph.mesh.allAxes()
             : value.ofDevice;
}

/// The axes as an attribute; null for none.
AxesAttr Emitter::variesAttr(AxisMask mask) const {
  AxesAttr varies = axes->axesOf(mask);
  return varies.empty() ? nullptr : varies;
}

/// The value that the program gives to a collective. An argument belongs to the
/// program, and so does the result of one collective that goes into another
/// one; the program gives a copy of each. It also gives a copy of a value on
/// which nothing proves that ranks agree, and that copy varies.
Value Emitter::givenOf(ValueId id, OpKind kind, PhaseKind phase) {
  Value value = valueOf(id);
  AxesAttr unproven = variesAttr(graph.values[id].unproven);
  auto argument = dyn_cast<BlockArgument>(value);
  // One relation describes a chain of reductions; other collectives have one
  // each.
  auto made = value.getDefiningOp<StepOpInterface>();
  bool isOthers = made && made.getCollective() &&
                  !(isa<AllReduceOp>(*made) && kind == OpKind::AllReduce);
  if (!argument && !isOthers && !unproven)
    return value;
  Value &given = givenValues[value];
  if (!given) {
    auto compute = builder.create<ComputeOp>(
        graph.loc, TypeRange(value.getType()), value,
        argument ? PhaseKind::Forward : phase,
        argument ? model.arguments[argument.getArgNumber()].name
                 : nameOf(*graph.defOf(id)));
    compute.setFlopsAttr(countAttr(0));
    compute.setBytesAttr(countAttr(0));
    compute.setVariesAttr(unproven);
    number(compute, kNone);
    given = compute.getResult(0);
  }
  return given;
}

/// Conversions of a gradient stay cast ops, which keep it pending.
bool Emitter::isCastOfGradient(const FlatOp &op) const {
  if (op.kind != OpKind::Elementwise ||
      op.source->getName().stripDialect() != "convert")
    return false;
  ValueId operand = op.operands[0];
  return (gradientOf[operand] != kNone || isGradientCast[operand]) &&
         gradientOf[op.results[0]] == kNone &&
         isa<FloatType>(types[op.results[0]].getElementType());
}

void Emitter::emitCompute(const FlatOp &op, PhaseKind phase) {
  SmallVector<Value> operands;
  AxisMask varies = op.dependsOnRank ? graph.mesh.allAxes() : 0;
  for (ValueId operand : op.operands) {
    varies |= ofDevice(operand);
    if (!graph.values[operand].isStatic)
      operands.push_back(values[operand]);
  }
  SmallVector<Type> results;
  SmallVector<Attribute> infos;
  bool hasInfo = false;
  for (ValueId result : op.results) {
    results.push_back(types[result]);
    Attribute info = builder.getUnitAttr();
    if (int32_t param = gradientOf[result]; param != kNone) {
      info = ResultAttr::get(builder.getContext(),
                             builder.getStringAttr(model.arguments[param].name),
                             nullptr, false);
      hasInfo = true;
    }
    infos.push_back(info);
  }
  auto compute =
      builder.create<ComputeOp>(op.loc, results, operands, phase, nameOf(op));
  compute.setFlopsAttr(countAttr(op.flops));
  compute.setBytesAttr(countAttr(op.bytes));
  compute.setVariesAttr(variesAttr(varies));
  compute.setCommunicates(op.communicates);
  if (hasInfo)
    compute.setResultInfoAttr(builder.getArrayAttr(infos));
  number(compute, idOf(op));
  for (auto [id, result] : llvm::zip_equal(op.results, compute.getResults()))
    values[id] = result;
}

Operation *Emitter::createCollective(const FlatOp &op, Value input) {
  const importer::Collective &collective = op.collective;
  AxesAttr over = axes->axesOf(collective.axes);
  auto kind = ReduceKindAttr::get(builder.getContext(), collective.kind);
  // Scaled tensors have one dimension.
  bool isFlat = options.sizeScale != 1;
  int64_t split = isFlat ? 0 : collective.splitDimension;
  int64_t concat = isFlat ? 0 : collective.concatDimension;
  Type output = types[op.results[0]];
  switch (op.kind) {
  case OpKind::ReduceScatter:
    return builder.create<ReduceScatterOp>(op.loc, output, kind, input, over,
                                           /*names=*/nullptr,
                                           builder.getI64IntegerAttr(split));
  case OpKind::AllGather:
    return builder.create<AllGatherOp>(op.loc, output, input, over,
                                       /*names=*/nullptr,
                                       builder.getI64IntegerAttr(concat));
  case OpKind::AllToAll:
    return builder.create<AllToAllOp>(op.loc, output, input, split, concat,
                                      over);
  case OpKind::Permute:
    return builder.create<PermuteOp>(op.loc, input, collective.pairs, over);
  default:
    return builder.create<AllReduceOp>(op.loc, kind, input, over);
  }
}

void Emitter::emitCollective(const FlatOp &op, PhaseKind phase) {
  Operation *emitted =
      createCollective(op, givenOf(op.operands[0], op.kind, phase));
  number(emitted, idOf(op));
  values[op.results[0]] = emitted->getResult(0);
}

Operation *Emitter::createUpdate(const FlatOp &op, ArrayRef<Value> states,
                                 Value grad, Value lr, FloatAttr lrValue) {
  const Update &update = op.update;
  ArrayRef<float> constants = update.constants;
  if (update.rule == UpdateRule::Sgd)
    return builder.create<SgdOp>(op.loc, states, grad, lr, lrValue,
                                 constants.empty() ? nullptr
                                                   : floatAttr(constants[0]));
  if (update.rule == UpdateRule::Adam) {
    auto adam = builder.create<AdamOp>(
        op.loc, states, grad, lr, lrValue, floatAttr(constants[0]),
        floatAttr(constants[1]), floatAttr(constants[2]), update.bias);
    adam.setDecayAttr(floatAttr(constants[3]));
    return adam;
  }
  auto rule = UpdateRuleAttr::get(builder.getContext(), update.rule);
  auto list = builder.getDenseF32ArrayAttr(constants);
  auto bias = BiasCorrectionAttr::get(builder.getContext(), update.bias);
  SmallVector<Value, 2> norms;
  if (rowOf(update.rule).needsNorms()) {
    auto direction =
        builder.create<DirectionOp>(op.loc, rule, list, bias, states, grad);
    number(direction, kNone).isOfUpdate = true;
    for (Value value : {states.front(), Value(direction)}) {
      auto norm = builder.create<SquaredNormOp>(op.loc, value);
      number(norm, kNone).isOfUpdate = true;
      norms.push_back(norm);
    }
  }
  return builder.create<UpdateOp>(op.loc, rule, list, bias, states, grad, norms,
                                  lr, lrValue);
}

void Emitter::emitUpdate(const FlatOp &op) {
  const Update &update = op.update;
  SmallVector<Value> states;
  for (unsigned i = 0; i < update.stateCount; ++i)
    states.push_back(values[op.operands[i]]);
  Value grad = valueOf(op.operands[update.stateCount]);
  Value lr = update.lr ? nullptr : valueOf(op.operands[update.stateCount + 1]);
  FloatAttr lrValue = update.lr ? floatAttr(*update.lr) : nullptr;
  Operation *emitted = createUpdate(op, states, grad, lr, lrValue);
  number(emitted, idOf(op));
  for (auto [id, result] : llvm::zip_equal(op.results, emitted->getResults()))
    values[id] = result;
}

void Emitter::emitOp(const FlatOp &op, PhaseKind phase) {
  bool isStatic =
      !op.results.empty() && llvm::all_of(op.results, [&](ValueId result) {
        return graph.values[result].isStatic;
      });
  if (op.isDead || isStatic)
    return;
  if (isCommunication(op.kind))
    return emitCollective(op, phase);
  if (op.kind == OpKind::Update)
    return emitUpdate(op);
  if (!isCastOfGradient(op))
    return emitCompute(op, phase);
  ValueId result = op.results[0];
  isGradientCast[result] = true;
  auto cast = builder.create<CastOp>(op.loc, values[op.operands[0]],
                                     types[result].getElementType());
  number(cast, idOf(op));
  values[result] = cast;
}

/// Adds an op without results for each output that is no state.
void Emitter::emitOutputs() {
  std::vector<bool> isState(graph.outputs.size(), false);
  std::vector<ValueId> gradients;
  for (const StepArgument &argument : model.arguments)
    if (argument.isState())
      isState[argument.output] = true;
  gradients.reserve(model.gradients.size());
  for (const Gradient &gradient : model.gradients)
    gradients.push_back(gradient.value);
  std::vector<bool> afterGradient = dependents(graph, gradients);
  for (auto [index, output] : llvm::enumerate(graph.outputs)) {
    if (isState[index] || output.isForMapping)
      continue;
    std::string path = joinPath(parseTreePath(output.path));
    if (path.empty())
      path = std::to_string(index);
    bool isLate = afterGradient[output.value];
    auto user = builder.create<ComputeOp>(
        output.loc, TypeRange(), ValueRange(valueOf(output.value)),
        isLate ? PhaseKind::Update : PhaseKind::Forward, "output." + path);
    number(user, kNone).output = static_cast<int32_t>(index);
  }
}

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

ClusterOp Emitter::emitCluster() {
  if (!options.cluster) {
    SmallVector<std::pair<std::string, int64_t>> sizes;
    for (const MeshAxis &axis : graph.mesh.axes)
      sizes.emplace_back(axis.name, axis.size);
    return buildDefaultCluster(builder, graph.loc, sizes);
  }
  ClusterOp given = options.cluster;
  return cast<ClusterOp>(builder.clone(*given.getOperation()));
}

/// By value of a moment: the name of the count by which the module corrects it.
llvm::DenseMap<ValueId, StringAttr> Emitter::countsOfMoments() {
  llvm::DenseMap<ValueId, StringAttr> names, counts;
  for (const StepArgument &argument : model.arguments)
    names[graph.arguments[argument.argument].value] =
        builder.getStringAttr(argument.name);
  for (const FlatOp &op : graph.ops)
    if (!op.isDead && op.kind == OpKind::Update && op.update.count != kNone)
      for (unsigned state = 1; state < op.update.stateCount; ++state)
        counts[op.operands[state]] = names.lookup(op.update.count);
  return counts;
}

StepOp Emitter::emitStepOp(ClusterOp cluster) {
  SmallVector<Attribute> infos;
  llvm::DenseMap<ValueId, StringAttr> counts = countsOfMoments();
  for (const StepArgument &argument : model.arguments) {
    AxesAttr varies = argument.isState() && argument.varies
                          ? axes->axesOf(argument.varies)
                          : nullptr;
    infos.push_back(ArgumentAttr::get(
        builder.getContext(), argument.role,
        builder.getStringAttr(argument.name), varies,
        counts.lookup(graph.arguments[argument.argument].value), nullptr));
  }
  std::string name = graph.name == cluster.getSymName() ? "step" : graph.name;
  auto step = builder.create<StepOp>(graph.loc, name, cluster.getSymName(),
                                     axes->axesOf(model.dataAxes),
                                     builder.getArrayAttr(infos));
  recordSizeScale(step, options.sizeScale);
  if (!options.hoists)
    step->setAttr(kNotHoistedAttr, builder.getUnitAttr());
  if (!options.unrolls)
    step->setAttr(kNotUnrolledAttr, builder.getUnitAttr());
  Block *body = builder.createBlock(&step.getBody());
  for (const StepArgument &argument : model.arguments) {
    const Argument &info = graph.arguments[argument.argument];
    values[info.value] = body->addArgument(types[info.value], info.loc);
  }
  return step;
}

FailureOr<EmittedStep> Emitter::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(graph.loc);
  builder.setInsertionPointToEnd(module->getBody());
  ClusterOp cluster = emitCluster();
  if (!cluster)
    return failure();
  FailureOr<AxisMap> map = AxisMap::get(graph, model, cluster);
  if (failed(map))
    return failure();
  axes = *map;
  scaleTypes();
  for (const Gradient &gradient : model.gradients)
    gradientOf[gradient.value] = static_cast<int32_t>(gradient.param);
  phases = inferPhases(graph, model);
  emitStepOp(cluster);
  for (auto [op, phase] : llvm::zip_equal(graph.ops, phases))
    emitOp(op, phase);
  emitOutputs();
  SmallVector<Value> next;
  for (const StepArgument &argument : model.arguments)
    if (argument.isState())
      next.push_back(valueOf(graph.outputs[argument.output].value));
  builder.create<YieldOp>(graph.loc, next);
  if (failed(verify(*module)))
    return failure();
  EmittedStep step;
  step.module = std::move(module);
  step.ops = std::move(emittedOps);
  for (auto [id, value] : llvm::enumerate(values))
    if (value)
      step.valueIds[value] = static_cast<ValueId>(id);
  return step;
}

FailureOr<EmittedStep>
bagua::importer::emitStep(MLIRContext *context, const Graph &graph,
                          const ImportedStep &model,
                          const StableHLOImportOptions &options) {
  return Emitter(context, graph, model, options).run();
}
