//===- UpdateRecognition.cpp - SGD, momentum and Adam by data flow --------===//
//
// Matches the arithmetic from a param's next value back to its gradient. What
// matches becomes one structured op; everything else stays compute.
//
//===----------------------------------------------------------------------===//
#include "ImportedStep.h"

#include <cmath>

using namespace bagua;
using namespace bagua::importer;

namespace {
/// The two operands of a commutative op, one way or the other.
struct Pair {
  ValueId first, second;
};

/// A scalar factor: a literal or a value of rank 0.
struct Factor {
  std::optional<double> literal;
  ValueId value = kNone;
};

class UpdateMatcher {
public:
  UpdateMatcher(Graph &graph, const ImportedStep &model);
  void run();

private:
  // Building blocks. Each gives all ways to read the value as this op.
  const FlatOp *match(ValueId value, llvm::StringRef name) const;
  llvm::SmallVector<Pair, 2> commuted(ValueId value,
                                      llvm::StringRef name) const;
  std::optional<Factor> factorOf(ValueId value) const;
  std::optional<double> literalOf(ValueId value) const {
    return graph.values[value].splat;
  }
  /// `constant * of`, either way round.
  std::optional<double> coefficientOf(ValueId product, ValueId of) const;

  struct Step {
    Factor rate;
    ValueId direction = kNone;
  };
  /// `w - rate * direction` or `w + (-rate) * direction`.
  llvm::SmallVector<Step, 2> stepsFrom(ValueId next, ValueId param) const;

  bool matchSgd(unsigned param);
  bool matchMomentum(unsigned param, const Step &step);
  bool matchAdam(unsigned param);
  bool matchAdamStep(unsigned param, const Factor &rate, ValueId moment,
                     ValueId denominator);
  bool matchSecondMoment(ValueId next, ValueId old, ValueId grad,
                         float &beta) const;
  std::optional<Pair> matchFirstMoment(ValueId next, ValueId old,
                                       float &beta) const;
  std::optional<double> powerBase(ValueId value) const;
  bool matchStepSize(ValueId rate, Update &update) const;
  ValueId uncorrected(ValueId value, std::optional<double> &beta) const;
  bool isGradientLike(ValueId value, unsigned param) const;
  bool isStepCount(ValueId value) const;
  bool replace(unsigned param, OpKind kind, llvm::ArrayRef<unsigned> states,
               ValueId grad, const Factor &rate, Update update);

  /// State whose next value this is, of the given role; nothing if none.
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

UpdateMatcher::UpdateMatcher(Graph &graph, const ImportedStep &model)
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

const FlatOp *UpdateMatcher::match(ValueId value, llvm::StringRef name) const {
  const FlatOp *op = graph.defOf(value);
  return op && op->kind == OpKind::Elementwise && op->source &&
                 op->source->getName().stripDialect() == name
             ? op
             : nullptr;
}

llvm::SmallVector<Pair, 2> UpdateMatcher::commuted(ValueId value,
                                                   llvm::StringRef name) const {
  const FlatOp *op = match(value, name);
  if (!op)
    return {};
  return {{op->operands[0], op->operands[1]},
          {op->operands[1], op->operands[0]}};
}

std::optional<Factor> UpdateMatcher::factorOf(ValueId value) const {
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

std::optional<double> UpdateMatcher::coefficientOf(ValueId product,
                                                   ValueId of) const {
  for (auto [a, b] : commuted(product, "multiply"))
    if (b == of)
      if (std::optional<double> literal = literalOf(a))
        return literal;
  return std::nullopt;
}

std::optional<unsigned> UpdateMatcher::stateOf(ValueId next) const {
  auto found = stateByNext.find(next);
  return found == stateByNext.end() ? std::nullopt
                                    : std::optional<unsigned>(found->second);
}

/// The gradient of the param, also converted or with a share of the param added
/// (weight decay): nothing of the optimizer's state.
bool UpdateMatcher::isGradientLike(ValueId value, unsigned param) const {
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
    if (def->kind == OpKind::Broadcast && graph.countOf(def->operands[0]) == 1)
      continue; // a schedule's decay, a clip's scale
    if (!Graph::isElementwise(def->kind))
      return false;
    pending.append(def->operands.begin(), def->operands.end());
  }
  return hasGradient;
}

llvm::SmallVector<UpdateMatcher::Step, 2>
UpdateMatcher::stepsFrom(ValueId next, ValueId param) const {
  llvm::SmallVector<Step, 2> steps;
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
    return steps;
  if (const FlatOp *negated = match(change, "negate")) {
    change = negated->operands[0];
    isAdded = !isAdded;
  }
  for (auto [a, b] : commuted(change, "multiply")) {
    std::optional<Factor> rate = factorOf(a);
    if (!rate)
      continue;
    if (isAdded && !rate->literal)
      continue;
    if (isAdded)
      rate->literal = -*rate->literal;
    steps.push_back({*rate, b});
  }
  if (!isAdded)
    steps.push_back({Factor{1.0, kNone}, change});
  return steps;
}

//===----------------------------------------------------------------------===//
// SGD
//===----------------------------------------------------------------------===//

/// `m' = mu m + g; w' = w - lr m'`.
bool UpdateMatcher::matchMomentum(unsigned param, const Step &step) {
  std::optional<unsigned> moment = stateOf(step.direction);
  if (!moment)
    return false;
  for (auto [scaled, grad] : commuted(step.direction, "add")) {
    std::optional<double> mu = coefficientOf(scaled, valueOf(*moment));
    if (!mu || !isGradientLike(grad, param))
      continue;
    Update update;
    update.momentum = static_cast<float>(*mu);
    return replace(param, OpKind::Sgd, {param, *moment}, grad, step.rate,
                   update);
  }
  return false;
}

bool UpdateMatcher::matchSgd(unsigned param) {
  for (const Step &step : stepsFrom(nextOf(param), valueOf(param))) {
    if (matchMomentum(param, step))
      return true;
    if (isGradientLike(step.direction, param) &&
        replace(param, OpKind::Sgd, {param}, step.direction, step.rate,
                Update()))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Adam
//===----------------------------------------------------------------------===//

/// Whether two float32 literals are `b` and `1 - b`.
static bool addToOne(double decay, double share) {
  constexpr double kFloatRounding = 1.0 / (1 << 24);
  return std::abs(decay + share - 1) <= 1e-6 * share + kFloatRounding;
}

/// `beta m + (1 - beta) g`: m and g.
std::optional<Pair> UpdateMatcher::matchFirstMoment(ValueId next, ValueId old,
                                                    float &beta) const {
  for (auto [kept, added] : commuted(next, "add")) {
    std::optional<double> decay = coefficientOf(kept, old);
    if (!decay)
      continue;
    for (auto [share, grad] : commuted(added, "multiply"))
      if (std::optional<double> literal = literalOf(share);
          literal && addToOne(*decay, *literal)) {
        beta = static_cast<float>(*decay);
        return Pair{old, grad};
      }
  }
  return std::nullopt;
}

/// `beta v + (1 - beta) g g`, the product in any order.
bool UpdateMatcher::matchSecondMoment(ValueId next, ValueId old, ValueId grad,
                                      float &beta) const {
  auto isSquare = [&](ValueId value) {
    for (llvm::StringRef name : {"multiply", "square"})
      if (const FlatOp *op = match(value, name))
        return llvm::all_of(op->operands,
                            [&](ValueId operand) { return operand == grad; });
    return false;
  };
  for (auto [kept, added] : commuted(next, "add")) {
    std::optional<double> decay = coefficientOf(kept, old);
    if (!decay)
      continue;
    for (auto [a, b] : commuted(added, "multiply")) {
      std::optional<double> share = literalOf(a);
      if (share ? !isSquare(b) : b != grad)
        continue;
      if (!share)
        share = coefficientOf(a, grad);
      if (!share || !addToOne(*decay, *share))
        continue;
      beta = static_cast<float>(*decay);
      return true;
    }
  }
  return false;
}

/// Whether the value counts steps from 1: an optimizer's scalar plus 1.
bool UpdateMatcher::isStepCount(ValueId value) const {
  while (const FlatOp *op = match(value, "convert"))
    value = op->operands[0];
  std::optional<unsigned> state = stateOf(value);
  if (!state)
    return false;
  for (auto [old, one] : commuted(value, "add"))
    if (old == valueOf(*state) && literalOf(one) == 1.0)
      return true;
  return false;
}

/// The base of `1 - base^t`, t the number of this update.
std::optional<double> UpdateMatcher::powerBase(ValueId value) const {
  const FlatOp *difference = match(value, "subtract");
  if (!difference || literalOf(difference->operands[0]) != 1.0)
    return std::nullopt;
  const FlatOp *power = match(difference->operands[1], "power");
  if (!power || !isStepCount(power->operands[1]))
    return std::nullopt;
  return literalOf(power->operands[0]);
}

/// `lr sqrt(1 - b2^t) / (1 - b1^t)`, a common factor of all params.
bool UpdateMatcher::matchStepSize(ValueId rate, Update &update) const {
  const FlatOp *quotient = match(rate, "divide");
  if (!quotient)
    return false;
  std::optional<double> beta1 = powerBase(quotient->operands[1]);
  if (!beta1 || static_cast<float>(*beta1) != update.beta1)
    return false;
  for (auto [a, b] : commuted(quotient->operands[0], "multiply")) {
    std::optional<double> lr = literalOf(a);
    const FlatOp *root = match(b, "sqrt");
    std::optional<double> beta2 =
        root ? powerBase(root->operands[0]) : std::nullopt;
    if (!lr || !beta2 || static_cast<float>(*beta2) != update.beta2)
      continue;
    update.bias = BiasForm::StepSize;
    update.lr = static_cast<float>(*lr);
    return true;
  }
  return false;
}

/// Of `m / (1 - beta^t)` the moment and beta; other values as they are.
ValueId UpdateMatcher::uncorrected(ValueId value,
                                   std::optional<double> &beta) const {
  const FlatOp *quotient = match(value, "divide");
  if (!quotient)
    return value;
  std::optional<Factor> correction = factorOf(quotient->operands[1]);
  if (!correction || correction->value == kNone)
    return value;
  beta = powerBase(correction->value);
  return beta ? quotient->operands[0] : value;
}

bool UpdateMatcher::matchAdamStep(unsigned param, const Factor &rate,
                                  ValueId moment, ValueId denominator) {
  for (auto [root, small] : commuted(denominator, "add")) {
    std::optional<double> eps = literalOf(small);
    const FlatOp *op = match(root, "sqrt");
    if (!eps || !op)
      continue;
    std::optional<double> corrected1, corrected2;
    ValueId m = uncorrected(moment, corrected1);
    ValueId v = uncorrected(op->operands[0], corrected2);
    std::optional<unsigned> first = stateOf(m), second = stateOf(v);
    if (!first || !second || corrected1.has_value() != corrected2.has_value())
      continue;
    Update update;
    update.eps = static_cast<float>(*eps);
    std::optional<Pair> terms =
        matchFirstMoment(m, valueOf(*first), update.beta1);
    if (!terms || !isGradientLike(terms->second, param) ||
        !matchSecondMoment(v, valueOf(*second), terms->second, update.beta2))
      continue;
    if (corrected1) {
      if (static_cast<float>(*corrected1) != update.beta1 ||
          static_cast<float>(*corrected2) != update.beta2)
        continue;
      update.bias = BiasForm::Moments;
    } else if (rate.value != kNone) {
      // Another rate than this one is a learning rate that the program
      // computes.
      matchStepSize(rate.value, update);
    }
    return replace(param, OpKind::Adam, {param, *first, *second}, terms->second,
                   rate, update);
  }
  return false;
}

/// `w - rate m / (sqrt(v) + eps)`, the product before the division or after it.
bool UpdateMatcher::matchAdam(unsigned param) {
  for (const Step &step : stepsFrom(nextOf(param), valueOf(param))) {
    const FlatOp *quotient = match(step.direction, "divide");
    if (!quotient)
      continue;
    ValueId numerator = quotient->operands[0];
    ValueId denominator = quotient->operands[1];
    if (matchAdamStep(param, step.rate, numerator, denominator))
      return true;
    if (step.rate.literal != 1.0)
      continue;
    for (auto [a, b] : commuted(numerator, "multiply"))
      if (std::optional<Factor> rate = factorOf(a))
        if (matchAdamStep(param, *rate, b, denominator))
          return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Replacement
//===----------------------------------------------------------------------===//

/// The op that makes the param's next value becomes the structured op and makes
/// the next moments too. Not done where something else uses what lies between:
/// it may stand before this op.
bool UpdateMatcher::replace(unsigned param, OpKind kind,
                            llvm::ArrayRef<unsigned> states, ValueId grad,
                            const Factor &rate, Update update) {
  OpId id = graph.values[nextOf(param)].def;
  std::vector<ValueId> region = elementwiseRegion(graph, nextOf(param));
  llvm::DenseSet<ValueId> inside(region.begin(), region.end());
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
  FlatOp &op = graph.ops[id];
  op.kind = kind;
  op.operands.clear();
  op.results.clear();
  for (unsigned state : states) {
    op.operands.push_back(valueOf(state));
    op.results.push_back(nextOf(state));
    // The op that made it stays where it is and dies without users.
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

void UpdateMatcher::run() {
  for (unsigned i = 0; i < model.arguments.size(); ++i) {
    const StepArgument &state = model.arguments[i];
    if (state.role == Role::Param && state.isState() &&
        graph.defOf(nextOf(i)) && !matchAdam(i))
      matchSgd(i);
  }
  graph.removeDeadOps();
}

void bagua::importer::recogniseUpdates(Graph &graph,
                                       const ImportedStep &model) {
  UpdateMatcher(graph, model).run();
}
