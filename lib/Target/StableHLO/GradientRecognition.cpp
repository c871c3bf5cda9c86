//===- GradientRecognition.cpp - Which values are gradients ---------------===//
//
// With collectives: operands of the sums that reach one param each. Without:
// where all dependence of an update on the batch passes through one value. Then
// the exported reductions are taken away; see docs/Import.md.
//
//===----------------------------------------------------------------------===//
#include "Cost.h"
#include "ImportedStep.h"
#include "Rewrites.h"

#include "mlir/IR/Location.h"

#include <cmath>
#include <map>
#include <set>

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

namespace {
class GradientFinder {
public:
  GradientFinder(Graph &graph, const Mapping &mapping, ImportedStep &model)
      : graph(graph), mapping(mapping), model(model), uses(graph.computeUses()),
        replacements(graph), found(model.arguments.size(), kNone) {}

  LogicalResult run();

private:
  LogicalResult applyMapping();
  LogicalResult findReductions();
  LogicalResult findByDataFlow();
  /// The sum of a gradient: its last op, axes, their ranks, and the divisor.
  struct Reduction {
    OpId last = kNone;
    AxisMask axes = 0;
    double size = 1;
    double divisor = 1;
  };
  LogicalResult mergeChain(unsigned param, ArrayRef<OpId> reductions,
                           Reduction &reduction);
  LogicalResult strip(unsigned param, ArrayRef<OpId> reductions);
  LogicalResult addGradient(unsigned param, ValueId value, AxisMask reduced);
  ValueId findCut(unsigned param, bool &isClipped);
  std::set<ValueId, std::greater<>> updatedValues(unsigned param);
  bool dependsThroughScalar(ValueId value, const FlatOp &op);
  int32_t reachedParam(ValueId value) const;
  void computeReach();
  LogicalResult refuse(unsigned param, StringRef reason);

  ValueId valueOf(unsigned argument) const {
    return graph.arguments[model.arguments[argument].argument].value;
  }
  ValueId nextOf(unsigned argument) const {
    return graph.outputs[model.arguments[argument].output].value;
  }

  Graph &graph;
  const Mapping &mapping;
  ImportedStep &model;
  Uses uses;
  Replacements replacements;
  std::vector<bool> dependsOnBatch;
  /// For each of the step's arguments the index of its gradient.
  std::vector<int32_t> found;
  /// For each value the one param whose next value it reaches, by any path and
  /// element by element.
  std::vector<int32_t> reached, reachedElementwise;
};

constexpr int32_t kMany = -2;
} // namespace

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static int32_t mergeReached(int32_t a, int32_t b) {
  if (a == kNone || a == b)
    return b;
  return b == kNone ? a : kMany;
}

/// One backward walk for both kinds of reach. O(ops).
void GradientFinder::computeReach() {
  reached.assign(graph.values.size(), kNone);
  reachedElementwise.assign(graph.values.size(), kNone);
  for (unsigned i = 0; i < model.arguments.size(); ++i)
    if (model.arguments[i].role == Role::Param &&
        model.arguments[i].isState()) {
      int32_t index = static_cast<int32_t>(i);
      reached[nextOf(i)] = mergeReached(reached[nextOf(i)], index);
      reachedElementwise[nextOf(i)] = reached[nextOf(i)];
    }
  for (const FlatOp &op : llvm::reverse(graph.ops)) {
    if (op.isDead)
      continue;
    int32_t any = kNone, elementwise = kNone;
    for (ValueId result : op.results) {
      any = mergeReached(any, reached[result]);
      elementwise = mergeReached(elementwise, reachedElementwise[result]);
    }
    for (ValueId operand : op.operands) {
      reached[operand] = mergeReached(reached[operand], any);
      if (Graph::isElementwise(op.kind) &&
          graph.countOf(operand) == graph.countOf(op.results[0]))
        reachedElementwise[operand] =
            mergeReached(reachedElementwise[operand], elementwise);
    }
  }
}

/// The param that a reduced value is the gradient of. A norm over all gradients
/// reaches every param, but none element by element.
int32_t GradientFinder::reachedParam(ValueId value) const {
  int32_t param =
      reached[value] >= 0 ? reached[value] : reachedElementwise[value];
  if (param < 0 || graph.countOf(valueOf(param)) != graph.countOf(value))
    return kNone;
  // A param that is itself averaged is not computed from its old value after
  // the reduction.
  std::vector<ValueId> region = elementwiseRegion(graph, nextOf(param));
  return llvm::is_contained(region, valueOf(param)) ? param : kNone;
}

LogicalResult GradientFinder::findReductions() {
  computeReach();
  std::map<unsigned, SmallVector<OpId, 1>> reductions;
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    if (op.isDead || op.kind != OpKind::AllReduce)
      continue;
    ++model.allReduces;
    bool isOverData = op.collective.axes & model.dataAxes;
    if (op.collective.kind != ReduceKind::Sum || !isOverData)
      continue;
    int32_t param = reachedParam(op.results[0]);
    if (param == kNone || found[param] != kNone)
      continue;
    if (op.collective.axes & ~model.dataAxes)
      return emitError(op.loc)
             << "expected a gradient that is reduced over data axes, found '"
             << model.arguments[param].name
             << "' reduced over other axes of the mesh " << graph.mesh.str()
             << " too";
    reductions[param].push_back(static_cast<OpId>(index));
  }
  for (const auto &[param, ops] : reductions)
    if (failed(strip(param, ops)))
      return failure();
  return success();
}

/// Several sums of one gradient in a chain, each over other axes, become the
/// last of them; divisions disappear.
LogicalResult GradientFinder::mergeChain(unsigned param,
                                         ArrayRef<OpId> reductions,
                                         Reduction &reduction) {
  auto &[previous, axes, size, divisor] = reduction;
  for (OpId id : reductions) {
    const FlatOp &op = graph.ops[id];
    bool isChain = previous == kNone ||
                   llvm::is_contained(elementwiseRegion(graph, op.operands[0]),
                                      graph.ops[previous].results[0]);
    if (!isChain || (axes & op.collective.axes)) {
      InFlightDiagnostic diagnostic =
          emitError(op.loc) << "expected one reduction of the gradient of '"
                            << model.arguments[param].name << "', found two";
      diagnostic.attachNote(graph.ops[previous].loc) << "the other is here";
      return diagnostic;
    }
    axes |= op.collective.axes;
    size *= static_cast<double>(graph.mesh.sizeOf(op.collective.axes));
    if (std::optional<Division> division =
            findDivision(graph, uses, op.results[0])) {
      divisor *= division->divisor;
      removeDivision(graph, *division, replacements);
    }
    if (previous != kNone) {
      graph.ops[previous].isDead = true;
      replacements.add(graph.ops[previous].results[0],
                       graph.ops[previous].operands[0]);
    }
    previous = id;
  }
  return success();
}

/// Takes away the sum of one gradient and the division. The mean over the group
/// is what `grad` means. A divisor n k for a group of n leaves 1/k: of an
/// expert's gradient the terms of the other k ranks were already added by the
/// all_to_all of the backward pass, so 1/k belongs to the model, whatever the
/// number of replicas.
LogicalResult GradientFinder::strip(unsigned param, ArrayRef<OpId> reductions) {
  Reduction reduction;
  if (failed(mergeChain(param, reductions, reduction)))
    return failure();
  auto [last, axes, size, divisor] = reduction;
  FlatOp &op = graph.ops[last];
  if (!isa<FloatType>(graph.values[op.results[0]].type.getElementType()))
    return refuse(param,
                  "its gradient has integer elements, which have no mean");
  double factor = size / divisor;
  bool isExact = std::fmod(divisor, size) == 0;
  model.dependsOnMesh |= !isExact;
  if (!isExact)
    emitRemark(op.loc) << "the gradient of '" << model.arguments[param].name
                       << "' is the sum over " << size << " ranks divided by "
                       << divisor << "; the factor " << factor
                       << " before the mean is that of the exported mesh";
  ValueId value = op.operands[0];
  const FlatOp *def = graph.defOf(value);
  bool canMark = def && !graph.values[value].isStatic &&
                 def->kind != OpKind::AllReduce &&
                 def->kind != OpKind::AllToAll && uses.of(value).size() == 1;
  if (factor == 1 && canMark) {
    op.isDead = true;
    replacements.add(op.results[0], value);
  } else {
    op.kind = OpKind::Scale;
    op.factor = factor;
    op.bytes = 2 * bytesOf(graph.values[value].type);
    // Named after what it scales.
    if (def && def->source) {
      op.loc = def->loc;
      op.callScope = def->callScope;
    }
    value = op.results[0];
  }
  return addGradient(param, value, axes);
}

LogicalResult GradientFinder::addGradient(unsigned param, ValueId value,
                                          AxisMask reduced) {
  for (const Gradient &other : model.gradients)
    if (other.value == value)
      return refuse(param, "its gradient is also that of '" +
                               model.arguments[other.param].name + "'");
  const FlatOp *def = graph.defOf(value);
  if (!def || def->isDead || graph.values[value].isStatic)
    return refuse(param, "its gradient is not computed in the step");
  if (!isa<FloatType>(graph.values[value].type.getElementType()))
    return refuse(param,
                  "its gradient has integer elements, which have no mean");
  if (!graph.sameShape(value, valueOf(param)))
    return refuse(param, "its gradient has another shape");
  found[param] = static_cast<int32_t>(model.gradients.size());
  model.gradients.push_back({param, value, reduced});
  return success();
}

LogicalResult GradientFinder::refuse(unsigned param, StringRef reason) {
  const StepArgument &argument = model.arguments[param];
  InFlightDiagnostic diagnostic =
      emitError(graph.arguments[argument.argument].loc);
  diagnostic << "expected a gradient of param '" << argument.name
             << "', found none: " << reason << "; a mapping file can name it";
  if (const FlatOp *def = graph.defOf(nextOf(param)))
    diagnostic.attachNote(def->loc) << "its next value is made here";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Data flow
//===----------------------------------------------------------------------===//

/// The next values of the param and of the optimizer state that its update
/// uses, as far as they depend on the batch; the largest index first.
std::set<ValueId, std::greater<>>
GradientFinder::updatedValues(unsigned param) {
  std::set<ValueId, std::greater<>> values = {nextOf(param)};
  std::vector<ValueId> region = elementwiseRegion(graph, nextOf(param));
  llvm::DenseSet<ValueId> members(region.begin(), region.end());
  for (unsigned i = 0; i < model.arguments.size(); ++i) {
    const StepArgument &state = model.arguments[i];
    if (state.role == Role::Optimizer && state.isState() &&
        dependsOnBatch[nextOf(i)] &&
        (members.contains(valueOf(i)) || members.contains(nextOf(i))))
      values.insert(nextOf(i));
  }
  return values;
}

/// Whether one operand of the op is a single number spread over the tensor that
/// depends on another operand: a clip by norm.
bool GradientFinder::dependsThroughScalar(ValueId value, const FlatOp &op) {
  for (ValueId scalar : op.operands) {
    const FlatOp *def = graph.defOf(scalar);
    bool isSpread =
        graph.countOf(scalar) == 1 || (def && def->kind == OpKind::Broadcast &&
                                       graph.countOf(def->operands[0]) == 1);
    if (!isSpread || !dependsOnBatch[scalar])
      continue;
    for (ValueId other : op.operands) {
      if (other == scalar || !dependsOnBatch[other])
        continue;
      // Backward from the number; indices ascend along data flow.
      std::vector<ValueId> pending = {scalar};
      llvm::DenseSet<ValueId> seen;
      while (!pending.empty()) {
        ValueId next = pending.back();
        pending.pop_back();
        if (next == other)
          return true;
        const FlatOp *made = graph.defOf(next);
        if (next < other || !made || !seen.insert(next).second)
          continue;
        pending.insert(pending.end(), made->operands.begin(),
                       made->operands.end());
      }
    }
  }
  return false;
}

static bool isNarrowing(const Graph &graph, const FlatOp &op) {
  return op.source && op.source->getName().stripDialect() == "convert" &&
         bytesOf(graph.values[op.results[0]].type) <
             bytesOf(graph.values[op.operands[0]].type);
}

/// The most upstream value of the param's shape through which all dependence of
/// its update on the batch passes, with elementwise ops only after it. Values
/// are taken from the last made to the first; whenever one alone is left, it is
/// such a value. A conversion to a narrower type ends the search: the step
/// wants its gradients in that type.
ValueId GradientFinder::findCut(unsigned param, bool &isClipped) {
  std::set<ValueId, std::greater<>> frontier = updatedValues(param);
  ValueId cut = kNone;
  while (!frontier.empty()) {
    ValueId value = *frontier.begin();
    const FlatOp *def = graph.defOf(value);
    if (frontier.size() == 1 && def && graph.sameShape(value, valueOf(param)) &&
        isa<FloatType>(graph.values[value].type.getElementType()))
      cut = value;
    if (!def || !Graph::isElementwise(def->kind) ||
        (frontier.size() == 1 && isNarrowing(graph, *def)))
      break;
    if (dependsThroughScalar(value, *def))
      isClipped = true;
    frontier.erase(frontier.begin());
    for (ValueId operand : def->operands)
      if (dependsOnBatch[operand])
        frontier.insert(operand);
  }
  return cut;
}

LogicalResult GradientFinder::findByDataFlow() {
  bool hasReductions = llvm::any_of(
      model.gradients, [](const Gradient &g) { return g.reduced != 0; });
  for (unsigned i = 0; i < model.arguments.size(); ++i) {
    const StepArgument &state = model.arguments[i];
    if (state.role != Role::Param || !state.isState() || found[i] != kNone ||
        !dependsOnBatch[nextOf(i)])
      continue;
    // With reductions a gradient without one is right only for a param that is
    // whole on no two ranks.
    AxisMask unreduced = model.dataAxes & ~state.varies;
    if (hasReductions && unreduced)
      return refuse(i,
                    "no all_reduce of kind sum over the data axes reaches it "
                    "alone, though other gradients are reduced");
    bool isClipped = false;
    ValueId cut = findCut(i, isClipped);
    if (isClipped)
      return refuse(i, "it is scaled by a number that depends on it, such as a "
                       "norm, so the mean must come before");
    if (cut == kNone)
      return refuse(i,
                    "its update depends on the batch through no single value "
                    "of its shape");
    if (failed(addGradient(i, cut, unreduced)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Mapping
//===----------------------------------------------------------------------===//

LogicalResult GradientFinder::applyMapping() {
  for (const Mapping::Gradient &gradient : mapping.gradients) {
    auto param = llvm::find_if(model.arguments, [&](const StepArgument &info) {
      return info.name == gradient.param && info.role == Role::Param;
    });
    if (param == model.arguments.end())
      return emitError(graph.loc)
             << "expected the mapping to name a param, found '"
             << gradient.param << "'";
    int64_t index = gradient.index;
    const FlatOp *match = nullptr;
    for (const FlatOp &op : graph.ops) {
      auto name = dyn_cast<NameLoc>(op.loc);
      if (!op.isDead && name && name.getName() == gradient.location &&
          index-- == 0)
        match = &op;
    }
    if (!match || gradient.result < 0 ||
        gradient.result >= static_cast<int64_t>(match->results.size()))
      return emitError(graph.loc)
             << "expected the mapping to name an op's location as gradient of '"
             << gradient.param << "', found '" << gradient.location << "'";
    unsigned at = param - model.arguments.begin();
    if (failed(addGradient(at, match->results[gradient.result],
                           model.dataAxes & ~param->varies)))
      return failure();
  }
  return success();
}

LogicalResult GradientFinder::run() {
  std::vector<ValueId> batch;
  for (unsigned i = 0; i < model.arguments.size(); ++i)
    if (model.arguments[i].role == Role::Batch)
      batch.push_back(valueOf(i));
  dependsOnBatch = dependents(graph, batch);
  if (failed(applyMapping()) || failed(findReductions()) ||
      failed(findByDataFlow()))
    return failure();
  replacements.apply(graph);
  for (Gradient &gradient : model.gradients)
    gradient.value = replacements.resolve(gradient.value);
  llvm::sort(model.gradients, [](const Gradient &a, const Gradient &b) {
    return a.param < b.param;
  });
  graph.removeDeadOps();
  return success();
}

LogicalResult bagua::importer::findGradients(Graph &graph,
                                             const Mapping &mapping,
                                             ImportedStep &model) {
  return GradientFinder(graph, mapping, model).run();
}
