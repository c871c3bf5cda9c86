//===- GradientRecognition.cpp - Finding the values that are gradients ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a step with collectives, gradients are the operands of sums that reach one
// param each. In a step without, a gradient is the value through which all
// dependence of an update on the batch passes. Then the exported reductions are
// removed; see docs/Import.md.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/GradientRecognition.h"

#include "StableHLO/Graph/Cost.h"
#include "StableHLO/Recognition/GradientSum.h"
#include "StableHLO/Recognition/NormRecognition.h"
#include "StableHLO/Recognition/Rewrites.h"
#include "StableHLO/Recognition/StateAgreement.h"
#include "StableHLO/Recognition/StateRecognition.h"

#include "mlir/IR/Location.h"

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
        replacements(graph), found(model.arguments.size(), kNone),
        disagreement(findDisagreement(graph, model)) {}

  LogicalResult run();

private:
  LogicalResult applyMapping();
  bool saysItself() const;
  FailureOr<ValueId> findByLocation(const Mapping::Gradient &gradient);
  FailureOr<ValueId> findByOutput(const Mapping::Gradient &gradient);
  LogicalResult checkMapped(unsigned param, ValueId value);
  LogicalResult findReductions();
  LogicalResult findByDataFlow();
  void remarkKept(const FlatOp &op, unsigned param, StringRef reason);
  bool isUpdated(unsigned param) const;
  std::string whyNoGradient(OpId id, int32_t &param) const;
  LogicalResult strip(unsigned param, const GradientSum &sum);
  void scale(FlatOp &op, double factor);
  void removeReduction(FlatOp &op);
  void remarkSums() const;
  std::string whyRefused(unsigned param, ValueId value) const;
  LogicalResult addGradient(unsigned param, ValueId value, AxisMask reduced);
  ValueId findCut(unsigned param, bool &isClipped);
  bool dependsItself(unsigned param) const;
  int32_t usedGradient(const Gradient &gradient) const;
  std::set<ValueId, std::greater<>> updatedValues(unsigned param);
  std::optional<TrustRatio> trustRatioOf(unsigned param, ValueId value) const;
  bool dependsThroughScalar(unsigned param, const FlatOp &op);
  int32_t reachedParam(ValueId value) const;
  void computeReach();
  void findCollectiveUsers();
  LogicalResult refuse(unsigned param, StringRef reason);

  bool isOutput(ValueId value) const {
    return llvm::any_of(graph.outputs, [&](const Output &output) {
      return !output.isForMapping &&
             (replacements.resolve(output.value) == value ||
              output.value == value);
    });
  }
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
  /// By argument of the step: the index of its gradient.
  std::vector<int32_t> found;
  /// The axes over which ranks come to disagree.
  Disagreement disagreement;
  /// By value: the axes of collectives that use it and are no all_reduces.
  std::vector<AxisMask> usedOver;
  /// By value: the only param whose next value it reaches, by any path and
  /// element by element.
  std::vector<int32_t> reached, reachedElementwise;
  /// By argument: sums that are recognised and are no means.
  SmallVector<std::pair<unsigned, GradientSum>, 0> sums;
  /// Remarks that have been made, by location.
  std::set<std::pair<const void *, std::string>> said;
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

/// Computes both kinds of reach in one backward walk. A value from which a
/// param's next value is computed reaches that param alone, even if the next
/// value is used further: by a target network, or another model's loss. O(ops).
void GradientFinder::computeReach() {
  reached.assign(graph.values.size(), kNone);
  reachedElementwise.assign(graph.values.size(), kNone);
  std::vector<bool> isNext(graph.values.size(), false);
  for (unsigned i = 0; i < model.arguments.size(); ++i)
    if (model.arguments[i].role == Role::Param &&
        model.arguments[i].isState()) {
      int32_t index = static_cast<int32_t>(i);
      reached[nextOf(i)] = mergeReached(reached[nextOf(i)], index);
      reachedElementwise[nextOf(i)] = reached[nextOf(i)];
      isNext[nextOf(i)] = true;
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
      if (isNext[operand])
        continue;
      reached[operand] = mergeReached(reached[operand], any);
      if (Graph::isElementwise(op.kind) &&
          graph.countOf(operand) == graph.countOf(op.results[0]))
        reachedElementwise[operand] =
            mergeReached(reachedElementwise[operand], elementwise);
    }
  }
}

/// Finds the collectives that use each value. They need all of a gradient,
/// which waits for its own reduction. O(ops).
void GradientFinder::findCollectiveUsers() {
  usedOver.assign(graph.values.size(), 0);
  for (const FlatOp &op : llvm::reverse(graph.ops)) {
    if (op.isDead)
      continue;
    AxisMask axes = isCommunication(op.kind) && op.kind != OpKind::AllReduce
                        ? op.collective.axes
                        : AxisMask(0);
    for (ValueId result : op.results)
      axes |= usedOver[result];
    for (ValueId operand : op.operands)
      usedOver[operand] |= axes;
  }
}

/// The param whose gradient a reduced value would be. A norm over all gradients
/// reaches every param, but none element by element.
int32_t GradientFinder::reachedParam(ValueId value) const {
  return reached[value] >= 0 ? reached[value] : reachedElementwise[value];
}

/// Whether the param's next value is computed from a state's old value, its own
/// or that of an optimizer's copy, after all reductions. It is not if the param
/// itself is averaged.
bool GradientFinder::isUpdated(unsigned param) const {
  std::vector<ValueId> region = elementwiseRegion(graph, nextOf(param));
  llvm::DenseSet<ValueId> members(region.begin(), region.end());
  for (unsigned i = 0; i < model.arguments.size(); ++i)
    if (model.arguments[i].isState() && members.contains(valueOf(i)))
      return true;
  return false;
}

/// Why an all_reduce is not that of a gradient, as far as it shows itself;
/// empty if it may be, and `param` is then the gradient's. `param` is also set
/// if the reason is worth a remark.
std::string GradientFinder::whyNoGradient(OpId id, int32_t &param) const {
  const FlatOp &op = graph.ops[id];
  param = kNone;
  ValueId result = op.results[0];
  if (!(op.collective.axes & model.dataAxes))
    return "it is over no data axis";
  if (!dependsOnBatch[result])
    return "it does not depend on the batch";
  if (!(op.collective.axes & disagreement.values[op.operands[0]]))
    return "its operand is the same on all ranks of the group";
  if (reached[result] == kNone)
    return "it reaches no param";
  int32_t reachedOne = reachedParam(result);
  if (reachedOne < 0)
    return "it reaches several params";
  if (graph.countOf(valueOf(reachedOne)) != graph.countOf(result))
    return "it has another size than the one param that it reaches, '" +
           model.arguments[reachedOne].name + "'";
  if (!isUpdated(reachedOne))
    return "the next value of '" + model.arguments[reachedOne].name +
           "' is computed from no state's old value";
  param = reachedOne;
  if (op.collective.kind != ReduceKind::Sum &&
      op.collective.kind != ReduceKind::Mean)
    return "it is no sum";
  if (op.collective.axes & ~model.dataAxes)
    return "it is over axes that are no data axes, too";
  if (op.collective.axes & disagreement.arguments[param])
    return "ranks of its group have other values of the param";
  if (!isa<FloatType>(graph.values[result].type.getElementType()))
    return "integers have no mean";
  if (found[param] != kNone)
    return "the mapping names another gradient";
  if (op.collective.axes & usedOver[result])
    return "another collective over its axes uses it";
  return "";
}

void GradientFinder::remarkKept(const FlatOp &op, unsigned param,
                                StringRef reason) {
  // Copies of an op in a loop are kept for one reason.
  auto text = ("'" + model.arguments[param].name + "': " + reason).str();
  if (!said.insert({op.loc.getAsOpaquePointer(), text}).second)
    return;
  emitRemark(op.loc) << "an all_reduce that reaches param '"
                     << model.arguments[param].name
                     << "' is kept as it is, and not taken for the reduction "
                        "of the param's gradient: "
                     << reason;
}

/// Removes all reductions of gradients; the others stay as the module wrote
/// them.
LogicalResult GradientFinder::findReductions() {
  computeReach();
  findCollectiveUsers();
  std::map<unsigned, SmallVector<OpId, 1>> candidates;
  auto keep = [&](OpId id, int32_t param, const std::string &reason) {
    const FlatOp &op = graph.ops[id];
    model.kept.push_back({id, param, reason});
    if (param != kNone)
      remarkKept(op, param, reason);
    // A state that depends on a sum makes the step another program on another
    // number of ranks.
    model.dependsOnMesh |= op.collective.kind == ReduceKind::Sum &&
                           reached[op.results[0]] != kNone;
  };
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    if (op.isDead || !isReduction(op.kind))
      continue;
    auto id = static_cast<OpId>(index);
    int32_t param = kNone;
    if (op.kind == OpKind::ReduceScatter) {
      keep(id, param, "each rank gets a piece of its own");
      continue;
    }
    ++model.allReduces;
    if (std::string reason = whyNoGradient(id, param); reason.empty())
      candidates[param].push_back(id);
    else
      keep(id, param, reason);
  }
  SumReader reader(graph, uses);
  for (const auto &[param, ids] : candidates) {
    GradientSum sum;
    auto isInPlace = [&, param = param](ValueId value) {
      return reachedElementwise[value] == static_cast<int32_t>(param);
    };
    std::string reason = reader.read(ids, valueOf(param), isInPlace, sum);
    // Another reduction, of a maximum, say, makes the ranks agree over the
    // rest.
    AxisMask shared = model.dataAxes & ~disagreement.arguments[param];
    if (graph.mesh.sizeOf(shared & ~sum.axes) > 1)
      reason = "it is over some of the axes alone along which ranks have one "
               "value of the param";
    if (reason.empty()) {
      if (failed(strip(param, sum)))
        return failure();
      continue;
    }
    for (OpId id : ids)
      keep(id, param, reason);
  }
  remarkSums();
  return success();
}

/// Says once that sums are taken for multiples of means.
void GradientFinder::remarkSums() const {
  if (sums.empty())
    return;
  const GradientSum &sum = sums.front().second;
  StringRef name = model.arguments[sums.front().first].name;
  InFlightDiagnostic remark = emitRemark(graph.loc);
  remark << "a sum over " << graph.mesh.only(sum.axes).str()
         << " that is no mean is the reduction of the gradient of '" << name
         << "'";
  if (sums.size() > 1)
    remark << ", and so for " << sums.size() - 1 << " more";
  auto times = static_cast<int64_t>(sum.factor());
  remark << ": it is taken for " << times << " times a mean, so '" << name
         << ".grad' is " << times
         << " times what the module adds up, and the step is for this number "
            "of ranks";
}

/// Puts a factor in the place of a reduction.
void GradientFinder::scale(FlatOp &op, double factor) {
  ValueId value = replacements.resolve(op.operands[0]);
  op.kind = OpKind::Scale;
  op.factor = factor;
  op.bytes = 2 * bytesOf(graph.values[value].type);
  // The factor is named after the op that it scales.
  const FlatOp *def = graph.defOf(value);
  if (def && def->source) {
    op.loc = def->loc;
    op.callScope = def->callScope;
  }
}

void GradientFinder::removeReduction(FlatOp &op) {
  op.isDead = true;
  replacements.add(op.results[0], op.operands[0]);
}

/// Removes the sums of one gradient and their divisions, because `grad` means
/// the mean over the group. If the sum is another multiple of it, the rest
/// stays as a factor in front of the mean.
LogicalResult GradientFinder::strip(unsigned param, const GradientSum &sum) {
  if (!sum.isMean) {
    model.dependsOnMesh = true;
    sums.emplace_back(param, sum);
  }
  for (const Division &division : sum.divisions)
    removeDivision(graph, division, replacements);
  ArrayRef<OpId> ops = sum.ops;
  for (; sum.isChain && ops.size() > 1; ops = ops.drop_front())
    removeReduction(graph.ops[ops.front()]);
  FlatOp &last = graph.ops[ops.back()];
  ValueId whole =
      sum.whole == kNone ? last.results[0] : replacements.resolve(sum.whole);
  if (whole != last.results[0]) {
    for (OpId id : ops)
      if (sum.factor() == 1)
        removeReduction(graph.ops[id]);
      else
        scale(graph.ops[id], sum.factor());
    return addGradient(param, whole, sum.axes);
  }
  ValueId value = replacements.resolve(last.operands[0]);
  const FlatOp *def = graph.defOf(value);
  bool canMark = def && !graph.values[value].isStatic &&
                 !isCommunication(def->kind) && uses.of(value).size() == 1 &&
                 !isOutput(value) && graph.sameShape(value, valueOf(param));
  if (sum.factor() == 1 && canMark) {
    removeReduction(last);
    return addGradient(param, value, sum.axes);
  }
  scale(last, sum.factor());
  // Exporters reduce some gradients in another shape, with a dimension of 1.
  graph.values[whole].type = graph.values[whole].type.clone(
      graph.values[valueOf(param)].type.getShape());
  return addGradient(param, whole, sum.axes);
}

/// Why the value cannot be the param's gradient; empty if it can.
std::string GradientFinder::whyRefused(unsigned param, ValueId value) const {
  for (const Gradient &other : model.gradients)
    if (other.value == value)
      return "its gradient is also that of '" +
             model.arguments[other.param].name + "'";
  const FlatOp *def = graph.defOf(value);
  if (!def || def->isDead || graph.values[value].isStatic)
    return "its gradient is not computed in the step";
  if (!isa<FloatType>(graph.values[value].type.getElementType()))
    return "its gradient has integer elements, which have no mean";
  return graph.sameShape(value, valueOf(param))
             ? ""
             : "its gradient has another shape";
}

LogicalResult GradientFinder::addGradient(unsigned param, ValueId value,
                                          AxisMask reduced) {
  if (std::string reason = whyRefused(param, value); !reason.empty())
    return refuse(param, reason);
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

/// The trust ratio of the param that a value is, spread over the tensor or not:
/// the number by which LAMB and LARS scale a direction, whose mean may come
/// before the norms.
std::optional<TrustRatio> GradientFinder::trustRatioOf(unsigned param,
                                                       ValueId value) const {
  const FlatOp *def = graph.defOf(value);
  if (def && def->kind == OpKind::Broadcast)
    value = def->operands[0];
  return graph.countOf(value) == 1 && dependsOnBatch[value]
             ? matchTrustRatio(graph, valueOf(param), value)
             : std::nullopt;
}

/// Whether an operand of the op is a single number, spread over the tensor,
/// that depends on another operand: a clip by norm.
bool GradientFinder::dependsThroughScalar(unsigned param, const FlatOp &op) {
  for (ValueId scalar : op.operands) {
    const FlatOp *def = graph.defOf(scalar);
    bool isSpread =
        graph.countOf(scalar) == 1 || (def && def->kind == OpKind::Broadcast &&
                                       graph.countOf(def->operands[0]) == 1);
    if (!isSpread || !dependsOnBatch[scalar] || trustRatioOf(param, scalar))
      continue;
    for (ValueId other : op.operands) {
      if (other == scalar || !dependsOnBatch[other])
        continue;
      // A backward walk from the number; indices ascend along data flow.
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
/// its update on the batch passes, with only elementwise ops after it. Values
/// are taken from the last to the first; whenever a single value is left, it is
/// such a value. A conversion to a narrower type ends the search, because the
/// step wants its gradients in that type.
ValueId GradientFinder::findCut(unsigned param, bool &isClipped) {
  std::set<ValueId, std::greater<>> frontier = updatedValues(param);
  // A next value is no gradient: its mean would be another algorithm.
  const std::set<ValueId, std::greater<>> nexts = frontier;
  ValueId cut = kNone;
  while (!frontier.empty()) {
    ValueId value = *frontier.begin();
    if (std::optional<TrustRatio> ratio = trustRatioOf(param, value)) {
      frontier.erase(frontier.begin());
      frontier.insert(ratio->direction);
      continue;
    }
    const FlatOp *def = graph.defOf(value);
    if (frontier.size() == 1 && def && !nexts.count(value) &&
        graph.sameShape(value, valueOf(param)) &&
        isa<FloatType>(graph.values[value].type.getElementType()))
      cut = value;
    if (!def || !Graph::isElementwise(def->kind) ||
        (frontier.size() == 1 && isNarrowing(graph, *def)))
      break;
    if (dependsThroughScalar(param, *def))
      isClipped = true;
    frontier.erase(frontier.begin());
    for (ValueId operand : def->operands)
      if (dependsOnBatch[operand])
        frontier.insert(operand);
  }
  return cut;
}

/// Whether the param's next value depends on the batch other than through the
/// next values of other params: a param that follows a network has no gradient
/// of its own.
bool GradientFinder::dependsItself(unsigned param) const {
  llvm::DenseSet<ValueId> others, seen;
  for (unsigned i = 0; i < model.arguments.size(); ++i)
    if (i != param && model.arguments[i].role == Role::Param &&
        model.arguments[i].isState())
      others.insert(nextOf(i));
  std::vector<ValueId> pending = {nextOf(param)};
  while (!pending.empty()) {
    ValueId value = pending.back();
    pending.pop_back();
    if (!dependsOnBatch[value] || others.contains(value) ||
        !seen.insert(value).second)
      continue;
    const FlatOp *def = graph.defOf(value);
    if (!def)
      return true; // the batch
    pending.insert(pending.end(), def->operands.begin(), def->operands.end());
  }
  return false;
}

/// Another param from whose gradient this one is computed, other than through
/// next values: through a flag that tells whether all gradients are finite,
/// say. kNone if there is none.
int32_t GradientFinder::usedGradient(const Gradient &gradient) const {
  llvm::DenseMap<ValueId, unsigned> others;
  for (const Gradient &other : model.gradients)
    if (other.param != gradient.param)
      others[other.value] = other.param;
  llvm::DenseSet<ValueId> ends, seen;
  for (unsigned i = 0; i < model.arguments.size(); ++i)
    if (model.arguments[i].role == Role::Param && model.arguments[i].isState())
      ends.insert(nextOf(i));
  std::vector<ValueId> pending = {gradient.value};
  while (!pending.empty()) {
    ValueId value = pending.back();
    pending.pop_back();
    if (auto other = others.find(value); other != others.end())
      return static_cast<int32_t>(other->second);
    const FlatOp *def = graph.defOf(value);
    if (!def || ends.contains(value) || !seen.insert(value).second)
      continue;
    pending.insert(pending.end(), def->operands.begin(), def->operands.end());
  }
  return kNone;
}

/// Whether the module itself reduces gradients: it reduces over data axes, or
/// params depend on communication in regions.
bool GradientFinder::saysItself() const {
  std::vector<bool> isUnknown = afterOwnCommunication(graph);
  bool reduces = llvm::any_of(graph.ops, [&](const FlatOp &op) {
    return !op.isDead && isReduction(op.kind) &&
           (op.collective.axes & model.dataAxes);
  });
  return reduces || !model.gradients.empty() ||
         llvm::any_of(model.arguments, [&](const StepArgument &argument) {
           return argument.role == Role::Param && argument.isState() &&
                  isUnknown[graph.outputs[argument.output].value];
         });
}

LogicalResult GradientFinder::findByDataFlow() {
  bool isReduced = saysItself();
  for (unsigned i = 0; i < model.arguments.size(); ++i) {
    const StepArgument &state = model.arguments[i];
    if (state.role != Role::Param || !state.isState() || found[i] != kNone ||
        !dependsItself(i))
      continue;
    // A param that varies over all data axes has nothing to reduce either.
    if (isReduced &&
        (model.dataAxes & ~graph.arguments[state.argument].sharded))
      continue;
    AxisMask unreduced = model.dataAxes & ~state.varies;
    bool isClipped = false;
    ValueId cut = findCut(i, isClipped);
    if (isReduced && (isClipped || cut == kNone || !whyRefused(i, cut).empty()))
      continue;
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
  if (!isReduced)
    for (const Gradient &gradient : model.gradients)
      if (int32_t other = usedGradient(gradient); other != kNone)
        return refuse(gradient.param,
                      "the one value through which it depends on the batch is "
                      "computed from the gradient of '" +
                          model.arguments[other].name + "'");
  return success();
}

//===----------------------------------------------------------------------===//
// Mapping
//===----------------------------------------------------------------------===//

FailureOr<ValueId>
GradientFinder::findByLocation(const Mapping::Gradient &gradient) {
  int64_t index = gradient.index;
  const FlatOp *match = nullptr;
  for (const FlatOp &op : graph.ops) {
    auto name = dyn_cast<NameLoc>(op.loc);
    if (!op.isDead && name && name.getName() == gradient.location &&
        index-- == 0)
      match = &op;
  }
  if (match && gradient.result >= 0 &&
      gradient.result < static_cast<int64_t>(match->results.size()))
    return match->results[gradient.result];
  return emitError(graph.loc)
         << "expected the mapping to name an op's location as gradient of '"
         << gradient.param << "', found '" << gradient.location << "'";
}

FailureOr<ValueId>
GradientFinder::findByOutput(const Mapping::Gradient &gradient) {
  FailureOr<unsigned> output = findOutput(graph, gradient.output);
  if (failed(output))
    return failure();
  bool isState = llvm::any_of(model.arguments, [&](const StepArgument &info) {
    return info.output == static_cast<int32_t>(*output);
  });
  if (isState)
    return emitError(graph.loc)
           << "expected a result that is no state as gradient of '"
           << gradient.param << "', found result " << *output;
  graph.outputs[*output].isForMapping = true;
  return graph.outputs[*output].value;
}

/// Checks that a gradient named by a mapping is a value that the param's update
/// reads, before it is communicated.
LogicalResult GradientFinder::checkMapped(unsigned param, ValueId value) {
  const StepArgument &argument = model.arguments[param];
  if (found[param] != kNone)
    return emitError(graph.loc) << "expected one gradient of '" << argument.name
                                << "' in the mapping, found several";
  if (const FlatOp *def = graph.defOf(value); def && isCommunication(def->kind))
    return emitError(def->loc)
           << "expected the gradient of '" << argument.name
           << "' before it is communicated, found the mapping to name the "
              "result of '"
           << def->source->getName() << "'";
  if (argument.isState() && !dependents(graph, value)[nextOf(param)])
    return emitError(graph.loc)
           << "expected a gradient that the next value of '" << argument.name
           << "' is computed from, found the mapping to name another value";
  return success();
}

LogicalResult GradientFinder::applyMapping() {
  for (const Mapping::Gradient &gradient : mapping.gradients) {
    auto param = llvm::find_if(model.arguments, [&](const StepArgument &info) {
      return info.name == gradient.param && info.role == Role::Param;
    });
    if (param == model.arguments.end())
      return emitError(graph.loc)
             << "expected the mapping to name a param, found '"
             << gradient.param << "'";
    FailureOr<ValueId> value = gradient.location.empty()
                                   ? findByOutput(gradient)
                                   : findByLocation(gradient);
    unsigned at = param - model.arguments.begin();
    // A user who names a gradient asserts that all ranks train one param.
    param->varies &= ~graph.arguments[param->argument].own;
    if (failed(value) || failed(checkMapped(at, *value)) ||
        failed(addGradient(at, *value, model.dataAxes & ~param->varies)))
      return failure();
  }
  return success();
}

LogicalResult GradientFinder::run() {
  dependsOnBatch = dependentsOfBatch(graph, model);
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
