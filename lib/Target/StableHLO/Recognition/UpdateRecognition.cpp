//===- UpdateRecognition.cpp - Optimizers by data flow --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matches the arithmetic from a param's next value back to its gradient.
// Arithmetic that matches becomes one structured op; all else stays compute.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/UpdateRecognition.h"

#include "StableHLO/Recognition/AdamRecognition.h"
#include "StableHLO/Recognition/NormRecognition.h"
#include "StableHLO/Recognition/StateRecognition.h"

#include <functional>

using namespace bagua;
using namespace bagua::importer;

namespace {
/// The two operands of a commutative op, in one of the two orders.
struct Pair {
  ValueId first, second;
};

/// A scalar factor: a literal or a value of rank 0.
struct Factor {
  std::optional<double> literal;
  ValueId value = kNone;
};

class UpdateFinder {
public:
  UpdateFinder(Graph &graph, const ImportedStep &model);
  void run();

private:
  // Building blocks. Each returns all ways to read the value as this op.
  const FlatOp *match(ValueId value, llvm::StringRef name) const;
  llvm::SmallVector<Pair, 2> commuted(ValueId value,
                                      llvm::StringRef name) const;
  std::optional<Factor> factorOf(ValueId value) const;
  std::optional<double> literalOf(ValueId value) const {
    return graph.values[value].splat;
  }
  /// The constant in `constant * of`, in either order.
  std::optional<double> coefficientOf(ValueId product, ValueId of) const;

  struct Descent {
    Factor rate;
    ValueId direction = kNone;
  };
  /// Reads `w - rate * direction` or `w + (-rate) * direction`.
  llvm::SmallVector<Descent, 2> descentsFrom(ValueId next, ValueId param) const;

  bool matchSgd(unsigned param);
  bool matchMomentum(unsigned param, const Descent &descent);
  bool matchByResults(unsigned param);
  bool isGradientLike(ValueId value, unsigned param) const;
  bool replace(unsigned param, llvm::ArrayRef<unsigned> states, ValueId grad,
               const Factor &rate, Update update,
               llvm::ArrayRef<ValueId> inner = {});

  /// The state that has this next value; nothing if there is none.
  std::optional<unsigned> stateOf(ValueId next) const;
  ValueId valueOf(unsigned argument) const {
    return graph.arguments[model.arguments[argument].argument].value;
  }
  ValueId nextOf(unsigned argument) const {
    return graph.outputs[model.arguments[argument].output].value;
  }

  Graph &graph;
  const ImportedStep &model;
  Uses uses;
  llvm::DenseMap<ValueId, unsigned> stateByNext;
  llvm::DenseMap<ValueId, unsigned> gradients;
};
} // namespace

UpdateFinder::UpdateFinder(Graph &graph, const ImportedStep &model)
    : graph(graph), model(model), uses(graph.computeUses()) {
  for (unsigned i = 0; i < model.arguments.size(); ++i)
    if (model.arguments[i].role == Role::Optimizer)
      stateByNext[nextOf(i)] = i;
  for (const Gradient &gradient : model.gradients)
    gradients[gradient.value] = gradient.param;
}

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

const FlatOp *UpdateFinder::match(ValueId value, llvm::StringRef name) const {
  const FlatOp *op = graph.defOf(value);
  return op && op->kind == OpKind::Elementwise && op->source &&
                 op->source->getName().stripDialect() == name
             ? op
             : nullptr;
}

llvm::SmallVector<Pair, 2> UpdateFinder::commuted(ValueId value,
                                                  llvm::StringRef name) const {
  const FlatOp *op = match(value, name);
  if (!op)
    return {};
  return {{op->operands[0], op->operands[1]},
          {op->operands[1], op->operands[0]}};
}

std::optional<Factor> UpdateFinder::factorOf(ValueId value) const {
  if (std::optional<double> literal = literalOf(value))
    return Factor{literal, kNone};
  const FlatOp *op = graph.defOf(value);
  while (op && (op->kind == OpKind::Broadcast || op->kind == OpKind::Reshape) &&
         graph.values[value].type.getRank() > 0) {
    value = op->operands[0];
    op = graph.defOf(value);
  }
  const FlatValue &info = graph.values[value];
  if (info.type.getRank() == 0 && info.type.getElementType().isF32())
    return Factor{std::nullopt, value};
  return std::nullopt;
}

std::optional<double> UpdateFinder::coefficientOf(ValueId product,
                                                  ValueId of) const {
  for (auto [a, b] : commuted(product, "multiply"))
    if (b == of)
      if (std::optional<double> literal = literalOf(a))
        return literal;
  return std::nullopt;
}

std::optional<unsigned> UpdateFinder::stateOf(ValueId next) const {
  auto found = stateByNext.find(next);
  return found == stateByNext.end() ? std::nullopt
                                    : std::optional<unsigned>(found->second);
}

/// Whether a value is the gradient of the param, possibly converted or with a
/// share of the param added (weight decay), and depends on no state of the
/// optimizer.
bool UpdateFinder::isGradientLike(ValueId value, unsigned param) const {
  bool hasGradient = false;
  llvm::SmallVector<ValueId> pending = {value};
  for (unsigned turns = 0; !pending.empty(); ++turns) {
    ValueId next = pending.pop_back_val();
    auto gradient = gradients.find(next);
    if (gradient != gradients.end()) {
      if (gradient->second != param)
        return false;
      hasGradient = true;
      continue;
    }
    if (next == valueOf(param) || graph.values[next].isStatic)
      continue;
    const FlatOp *def = graph.defOf(next);
    constexpr unsigned kLongest = 16;
    if (!def || turns > kLongest)
      return false;
    bool isScale = (def->kind == OpKind::Broadcast &&
                    graph.countOf(def->operands[0]) == 1) ||
                   (graph.values[next].type.getRank() == 0 &&
                    graph.values[valueOf(param)].type.getRank() > 0);
    if (isScale)
      continue; // decay of a schedule, scale of a clip, or its flag
    if (!Graph::isElementwise(def->kind))
      return false;
    pending.append(def->operands.begin(), def->operands.end());
  }
  return hasGradient;
}

llvm::SmallVector<UpdateFinder::Descent, 2>
UpdateFinder::descentsFrom(ValueId next, ValueId param) const {
  llvm::SmallVector<Descent, 2> descents;
  ValueId change = kNone;
  bool isAdded = false;
  if (const FlatOp *op = match(next, "subtract");
      op && op->operands[0] == param)
    change = op->operands[1];
  for (auto [a, b] : commuted(next, "add"))
    if (a == param) {
      change = b;
      isAdded = true;
    }
  if (change == kNone)
    return descents;
  if (const FlatOp *negated = match(change, "negate")) {
    change = negated->operands[0];
    isAdded = !isAdded;
  }
  for (auto [a, b] : commuted(change, "multiply")) {
    std::optional<Factor> rate = factorOf(a);
    if (!rate)
      continue;
    const FlatOp *negated =
        rate->literal ? nullptr : match(rate->value, "negate");
    if (isAdded && rate->literal)
      rate->literal = -*rate->literal;
    else if (isAdded && negated)
      rate->value = negated->operands[0];
    else if (isAdded)
      continue;
    descents.push_back({*rate, b});
  }
  if (!isAdded)
    descents.push_back({Factor{1.0, kNone}, change});
  return descents;
}

//===----------------------------------------------------------------------===//
// SGD
//===----------------------------------------------------------------------===//

/// Matches `m' = mu m + g; w' = w - lr m'`.
bool UpdateFinder::matchMomentum(unsigned param, const Descent &descent) {
  std::optional<unsigned> moment = stateOf(descent.direction);
  if (!moment)
    return false;
  for (auto [scaled, grad] : commuted(descent.direction, "add")) {
    std::optional<double> mu = coefficientOf(scaled, valueOf(*moment));
    if (!mu || !isGradientLike(grad, param))
      continue;
    Update update;
    update.constants = {static_cast<float>(*mu)};
    return replace(param, {param, *moment}, grad, descent.rate, update);
  }
  return false;
}

bool UpdateFinder::matchSgd(unsigned param) {
  for (const Descent &descent : descentsFrom(nextOf(param), valueOf(param))) {
    if (matchMomentum(param, descent))
      return true;
    if (isGradientLike(descent.direction, param) &&
        replace(param, {param}, descent.direction, descent.rate, Update()))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Optimizers that are recognised by their results
//===----------------------------------------------------------------------===//

namespace {
/// A line for each optimizer but sgd.
struct MatcherRow {
  UpdateMatcher match;
  size_t moments;
  /// A gradient that was decayed or clipped before is a gradient, too. Where
  /// the optimizer's own decay may be a part of such a value, the earliest is
  /// tried first.
  bool takesLatest;
  bool needsNorms;
};
constexpr MatcherRow kMatchers[] = {
    {matchAdam, 2, /*takesLatest=*/true, /*needsNorms=*/false},
    {matchLamb, 2, /*takesLatest=*/false, /*needsNorms=*/true},
    {matchLars, 1, /*takesLatest=*/false, /*needsNorms=*/true},
};
} // namespace

/// Matches optimizers with the states from which the param's next value is
/// computed: some of the param's type, and scalars.
bool UpdateFinder::matchByResults(unsigned param) {
  llvm::SmallVector<unsigned, 2> moments;
  llvm::SmallVector<StateValues> momentValues, counts;
  std::vector<ValueId> region = elementwiseRegion(graph, nextOf(param));
  auto valuesOf = [&](unsigned state) {
    return StateValues{valueOf(state), nextOf(state)};
  };
  for (unsigned i = 0; i < model.arguments.size(); ++i) {
    if (model.arguments[i].role != Role::Optimizer)
      continue;
    mlir::RankedTensorType type = graph.values[valueOf(i)].type;
    if (type == graph.values[valueOf(param)].type &&
        llvm::is_contained(region, valueOf(i))) {
      moments.push_back(i);
      momentValues.push_back(valuesOf(i));
    } else if (type.getRank() == 0) {
      counts.push_back(valuesOf(i));
    }
  }
  llvm::sort(region);
  std::vector<ValueId> gradients;
  llvm::copy_if(region, std::back_inserter(gradients),
                [&](ValueId value) { return isGradientLike(value, param); });
  // If a param is in parts, the module's norms may be of the parts or of the
  // whole.
  bool isInParts =
      graph.arguments[model.arguments[param].argument].sharded != 0;
  for (const MatcherRow &row : kMatchers) {
    if (row.moments != moments.size() || (row.needsNorms && isInParts))
      continue;
    for (size_t i = 0; i < gradients.size(); ++i) {
      ValueId grad = gradients[row.takesLatest ? gradients.size() - 1 - i : i];
      std::optional<UpdateMatch> match =
          row.match({graph, valuesOf(param), momentValues, counts, grad});
      if (!match)
        continue;
      llvm::SmallVector<unsigned> states{param};
      for (unsigned moment : match->moments)
        states.push_back(moments[moment]);
      return replace(param, states, grad, {std::nullopt, match->rate},
                     match->update, match->inner);
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Replacement
//===----------------------------------------------------------------------===//

/// Turns the op that makes the param's next value into the structured op, which
/// also makes the next moments. Fails if another op uses a value in between,
/// because it may stand before this op.
bool UpdateFinder::replace(unsigned param, llvm::ArrayRef<unsigned> states,
                           ValueId grad, const Factor &rate, Update update,
                           llvm::ArrayRef<ValueId> inner) {
  OpId id = graph.values[nextOf(param)].def;
  std::vector<ValueId> region = elementwiseRegion(graph, nextOf(param));
  llvm::DenseSet<ValueId> inside(region.begin(), region.end());
  inside.insert(inner.begin(), inner.end());
  auto type = graph.values[valueOf(param)].type;
  if (!type.getElementType().isF32() || graph.values[grad].type != type)
    return false;
  ValueId firstMoment = nextOf(param);
  for (unsigned state : states) {
    if (graph.values[valueOf(state)].type != type)
      return false;
    firstMoment = std::min(firstMoment, nextOf(state));
  }
  for (ValueId value : region)
    if (value >= firstMoment && llvm::any_of(uses.of(value), [&](OpId user) {
          return !inside.contains(graph.ops[user].results[0]);
        }))
      return false;
  auto isUsedElsewhere = [&](ValueId value) {
    return llvm::any_of(uses.of(value),
                        [&](OpId user) {
                          const FlatOp &op = graph.ops[user];
                          return op.results.empty() ||
                                 !inside.contains(op.results[0]);
                        }) ||
           llvm::any_of(graph.outputs, [&](const Output &output) {
             return output.value == value;
           });
  };
  if (llvm::any_of(inner, isUsedElsewhere))
    return false;
  FlatOp &op = graph.ops[id];
  op.kind = OpKind::Update;
  op.operands.clear();
  op.results.clear();
  for (unsigned state : states) {
    op.operands.push_back(valueOf(state));
    op.results.push_back(nextOf(state));
    // The op that made the next value stays where it is, dead.
    ValueId next = nextOf(state);
    if (OpId old = graph.values[next].def; old != id) {
      graph.ops[old].isDead = true;
      graph.values[next].def = id;
    }
  }
  op.operands.push_back(grad);
  update.stateCount = states.size();
  if (!update.lr && rate.literal)
    update.lr = static_cast<float>(*rate.literal);
  if (!update.lr)
    op.operands.push_back(rate.value);
  op.update = update;
  op.flops = 0;
  op.bytes = 0;
  return true;
}

void UpdateFinder::run() {
  for (unsigned i = 0; i < model.arguments.size(); ++i) {
    const StepArgument &state = model.arguments[i];
    if (state.role == Role::Param && state.isState() &&
        graph.defOf(nextOf(i)) && !matchByResults(i))
      matchSgd(i);
  }
  graph.removeDeadOps();
}

void bagua::importer::recogniseUpdates(Graph &graph,
                                       const ImportedStep &model) {
  UpdateFinder(graph, model).run();
}
