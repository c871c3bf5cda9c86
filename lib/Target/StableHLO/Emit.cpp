//===- Emit.cpp - From the analysed graph to a bagua.step -----------------===//
//
// One compute op for each op of the graph, structured ops for updates, and
// collectives that are not gradients'.
//
//===----------------------------------------------------------------------===//
#include "Emit.h"
#include "Axes.h"
#include "Flatten.h"
#include "Phases.h"
#include "TreePath.h"

#include "bagua/Dialect/Bagua/Origins.h"
#include "bagua/Target/Clusters.h"

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
  StepOp emitStepOp(ClusterOp cluster);
  void emitOp(const FlatOp &op, PhaseKind phase);
  void emitCompute(const FlatOp &op, PhaseKind phase);
  void emitCollective(const FlatOp &op);
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
  /// The step's argument whose gradient a value is.
  std::vector<int32_t> gradientOf;
  std::vector<bool> isGradientCast;
  std::vector<PhaseKind> phases;
  DenseMap<Attribute, std::string> scopes;
  std::vector<EmittedOp> emittedOps;
};
} // namespace

//===----------------------------------------------------------------------===//
// Types and names
//===----------------------------------------------------------------------===//

/// A scalar stays one. Operand and result of an all_to_all keep a size that
/// their group divides.
void Emitter::scaleTypes() {
  std::vector<int64_t> multiples(graph.values.size(), 1);
  for (const FlatOp &op : graph.ops)
    if (!op.isDead && op.kind == OpKind::AllToAll)
      for (ValueId value : {op.operands[0], op.results[0]})
        multiples[value] = axes->sizeOf(op.collective.axes);
  for (auto [index, value] : llvm::enumerate(graph.values)) {
    types[index] = value.type;
    if (options.sizeScale == 1 || value.type.getRank() == 0)
      continue;
    auto scaled = static_cast<int64_t>(std::llround(
        static_cast<double>(value.type.getNumElements()) * options.sizeScale));
    int64_t multiple = multiples[index];
    int64_t count = std::max<int64_t>(1, scaled);
    count = (count + multiple - 1) / multiple * multiple;
    types[index] = RankedTensorType::get({count}, value.type.getElementType());
  }
}

/// The op's scope; that of the call through which it came, since helpers are
/// shared; without scopes the op's own name.
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
  setOrigin(op, {number, number});
  return emittedOps.emplace_back(EmittedOp{op, source, kNone});
}

/// Values that depend on no argument are part of the ops that use them; where
/// an SSA value is needed, a compute op makes it.
Value Emitter::valueOf(ValueId id) {
  if (values[id])
    return values[id];
  auto constant =
      builder.create<ComputeOp>(graph.loc, TypeRange(types[id]), ValueRange(),
                                PhaseKind::Forward, "constant");
  number(constant, kNone);
  return values[id] = constant.getResult(0);
}

/// Conversions of a gradient stay visible: they keep it pending.
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
  for (ValueId operand : op.operands)
    if (!graph.values[operand].isStatic)
      operands.push_back(values[operand]);
  if (op.kind == OpKind::RankDependent)
    for (const StepArgument &argument : model.arguments)
      if (argument.role == Role::Batch) {
        // So that the analysis sees that ranks disagree about it.
        operands.push_back(values[graph.arguments[argument.argument].value]);
        break;
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
  if (hasInfo)
    compute.setResultInfoAttr(builder.getArrayAttr(infos));
  number(compute, idOf(op));
  for (auto [id, result] : llvm::zip_equal(op.results, compute.getResults()))
    values[id] = result;
}

void Emitter::emitCollective(const FlatOp &op) {
  AxesAttr over = axes->axesOf(op.collective.axes);
  Value input = valueOf(op.operands[0]);
  Operation *emitted;
  if (op.kind == OpKind::AllReduce) {
    emitted = builder.create<AllReduceOp>(
        op.loc, ReduceKindAttr::get(builder.getContext(), op.collective.kind),
        input, over);
  } else {
    bool isFlat = options.sizeScale != 1;
    emitted = builder.create<AllToAllOp>(
        op.loc, types[op.results[0]], input,
        isFlat ? 0 : op.collective.splitDimension,
        isFlat ? 0 : op.collective.concatDimension, over);
  }
  number(emitted, idOf(op));
  values[op.results[0]] = emitted->getResult(0);
}

void Emitter::emitUpdate(const FlatOp &op) {
  const Update &update = op.update;
  SmallVector<Value> states;
  for (unsigned i = 0; i < update.stateCount; ++i)
    states.push_back(values[op.operands[i]]);
  Value grad = valueOf(op.operands[update.stateCount]);
  Value lr = update.lr ? nullptr : valueOf(op.operands[update.stateCount + 1]);
  FloatAttr lrValue = update.lr ? floatAttr(*update.lr) : nullptr;
  Operation *emitted;
  if (op.kind == OpKind::Sgd) {
    emitted = builder.create<SgdOp>(
        op.loc, states, grad, lr, lrValue,
        update.momentum ? floatAttr(*update.momentum) : nullptr);
  } else {
    BiasCorrection bias = update.bias == BiasForm::None ? BiasCorrection::None
                          : update.bias == BiasForm::Moments
                              ? BiasCorrection::Moments
                              : BiasCorrection::StepSize;
    emitted = builder.create<AdamOp>(
        op.loc, states, grad, lr, lrValue, floatAttr(update.beta1),
        floatAttr(update.beta2), floatAttr(update.eps), bias);
  }
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
  if (op.kind == OpKind::AllReduce || op.kind == OpKind::AllToAll)
    return emitCollective(op);
  if (op.kind == OpKind::Sgd || op.kind == OpKind::Adam)
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

/// What the program returns besides state: an op without results that uses it.
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
    if (isState[index])
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

StepOp Emitter::emitStepOp(ClusterOp cluster) {
  SmallVector<Attribute> infos;
  for (const StepArgument &argument : model.arguments) {
    AxesAttr varies = argument.isState() && argument.varies
                          ? axes->axesOf(argument.varies)
                          : nullptr;
    infos.push_back(ArgumentAttr::get(builder.getContext(), argument.role,
                                      builder.getStringAttr(argument.name),
                                      varies, nullptr));
  }
  std::string name = graph.name == cluster.getSymName() ? "step" : graph.name;
  auto step = builder.create<StepOp>(graph.loc, name, cluster.getSymName(),
                                     axes->axesOf(model.dataAxes),
                                     builder.getArrayAttr(infos));
  // The plan carries it on, so nobody takes a scaled run for the whole.
  if (options.sizeScale != 1)
    step->setAttr("bagua.size_scale",
                  builder.getF64FloatAttr(options.sizeScale));
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
