//===- AdamRecognition.cpp - Recognising Adam by its results --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds constants at points where they can be read off, and tests the formula
// at random points. Formulas: Kingma and Ba, Adam, 2015, algorithm 1 and the
// end of section 2; Loshchilov and Hutter, 2019, algorithm 2, for the decay.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/AdamRecognition.h"

#include "StableHLO/Graph/NumberRules.h"
#include "StableHLO/Recognition/Formula.h"

#include <cmath>
#include <random>

using namespace bagua;
using namespace bagua::importer;

namespace {
/// Values of an update's arguments.
struct Point {
  double param = 0, first = 0, second = 1, grad = 0, step = 3, rate = 1;
};

class AdamMatcher {
public:
  AdamMatcher(const Graph &graph, StateValues param, StateValues first,
              StateValues second, llvm::ArrayRef<StateValues> counts,
              ValueId grad)
      : graph(graph), param(param), first(first), second(second),
        counts(counts), grad(grad) {}

  /// Matches `m' = b1 m + (1 - b1) g` and `v' = b2 v + (1 - b2) g g`.
  bool matchMoments();
  /// Matches the param's next value. Needs matchMoments().
  std::optional<Update> match(ValueId rateValue);
  /// Matches a direction, which the param loses by a rate of 1. Needs
  /// matchMoments().
  std::optional<Update> matchDirection(ValueId direction);
  /// The values at which formulas end, besides arguments.
  llvm::SmallVector<ValueId> stopsWith(ValueId rateValue) const;
  /// Scalars that may be the rate.
  llvm::SmallVector<ValueId> rateCandidates() const;

private:
  bool findCount(const Formula &next);
  std::optional<Update> matchForms(const Formula &next);
  /// The param's next value by the formula.
  double nextAt(const Formula &next, const Point &point) const {
    double value = valueAt(next, point);
    return isDirection ? point.param - value : value;
  }
  bool matchForm(const Formula &next, BiasCorrection form);
  double valueAt(const Formula &formula, const Point &point) const;
  /// The change of a param is lr * moment / (root + eps).
  struct Parts {
    double moment, root;
  };
  Parts partsAt(const Point &point, BiasCorrection form) const;
  double firstAt(const Point &point) const {
    return beta1 * point.first + share1 * point.grad;
  }
  double secondAt(const Point &point) const {
    return beta2 * point.second + share2 * point.grad * point.grad;
  }

  const Graph &graph;
  StateValues param, first, second;
  llvm::ArrayRef<StateValues> counts;
  ValueId grad;
  ValueId rate = kNone;
  bool isDirection = false;
  std::optional<StateValues> count;
  double beta1 = 0, share1 = 0, beta2 = 0, share2 = 0;
  Update found;
};
} // namespace

/// Whether two float32 literals are `b` and `1 - b`.
static bool addToOne(double decay, double share) {
  constexpr double kFloatRounding = 1.0 / (1 << 24);
  return share > 0 && decay > 0 &&
         std::abs(decay + share - 1) <= 1e-6 * share + kFloatRounding;
}

static bool isNear(double found, double expected, double scale) {
  return std::abs(found - expected) <= 1e-6 * scale;
}

/// Points that distinguish formulas: moments of many sizes, early and late
/// steps.
static std::vector<Point> randomPoints() {
  std::mt19937 random(1);
  auto draw = [&](double low, double high) {
    return low + (high - low) * (random() >> 5) / double(1 << 27);
  };
  std::vector<Point> points;
  for (int i = 0; i < 32; ++i) {
    Point &point = points.emplace_back();
    point.param = i % 2 ? draw(-2, 2) : 0;
    point.first = draw(-1, 1);
    point.second = std::pow(10, draw(-40, 0));
    point.grad = std::pow(10, draw(-8, 0)) * (i % 4 < 2 ? 1 : -1);
    point.step = 1 + std::floor(std::pow(10, draw(0, 4)));
    point.rate = draw(0.001, 2);
  }
  return points;
}

double AdamMatcher::valueAt(const Formula &formula, const Point &point) const {
  llvm::SmallVector<double, 8> numbers;
  for (ValueId leaf : formula.leaves())
    numbers.push_back(leaf == param.old              ? point.param
                      : leaf == first.old            ? point.first
                      : leaf == second.old           ? point.second
                      : leaf == grad                 ? point.grad
                      : count && leaf == count->old  ? point.step - 1
                      : count && leaf == count->next ? point.step
                                                     : point.rate);
  return formula.at(numbers);
}

/// Whether a scalar counts steps: its next value is its value plus one, and it
/// may stop at a number that no training reaches.
static bool isCount(const Graph &graph, StateValues state) {
  constexpr double kNever = 1 << 30;
  auto opOf = [&](ValueId value, llvm::StringRef name) -> const FlatOp * {
    const FlatOp *op = graph.defOf(value);
    bool isIt = op && op->source && op->kind == OpKind::Elementwise &&
                op->source->getName().stripDialect() == name;
    return isIt ? op : nullptr;
  };
  auto isNever = [&](ValueId value) {
    return graph.values[value].splat.value_or(0) >= kNever;
  };
  mlir::Type type = graph.values[state.old].type.getElementType();
  if (type.getIntOrFloatBitWidth() < 32)
    return false;
  ValueId next = state.next;
  if (const FlatOp *choice = opOf(next, "select")) {
    const FlatOp *less = opOf(choice->operands[0], "compare");
    if (!less || less->operands[0] != state.old ||
        !isNever(less->operands[1]) || !isNever(choice->operands[2]))
      return false;
    Rule rule = ruleOf(less->source);
    if (!rule || !rule(0, kNever, 0) || rule(kNever, 0, 0))
      return false;
    next = choice->operands[1];
  }
  const FlatOp *sum = opOf(next, "add");
  return sum && llvm::is_contained(sum->operands, state.old) &&
         (graph.values[sum->operands[0]].splat == 1.0 ||
          graph.values[sum->operands[1]].splat == 1.0);
}

/// Finds the count of steps among the scalars on which the formula depends,
/// before or after this step. False if there is any other unknown.
bool AdamMatcher::findCount(const Formula &next) {
  for (ValueId leaf : next.leaves()) {
    if (leaf == param.old || leaf == first.old || leaf == second.old ||
        leaf == grad || leaf == rate)
      continue;
    auto state = llvm::find_if(counts, [&](const StateValues &info) {
      return info.old == leaf || info.next == leaf;
    });
    if (state == counts.end() || (count && count->old != state->old))
      return false;
    count = *state;
  }
  return true;
}

bool AdamMatcher::matchMoments() {
  Formula m(graph, first.next, {grad}), v(graph, second.next, {grad});
  auto isOf = [&](const Formula &formula, ValueId state) {
    return formula.isValid() &&
           llvm::all_of(formula.leaves(), [&](ValueId leaf) {
             return leaf == state || leaf == grad;
           });
  };
  if (!isOf(m, first.old) || !isOf(v, second.old))
    return false;
  beta1 = valueAt(m, {0, 1, 0, 0});
  share1 = valueAt(m, {0, 0, 0, 1});
  beta2 = valueAt(v, {0, 0, 1, 0});
  share2 = valueAt(v, {0, 0, 0, 1});
  if (!addToOne(beta1, share1) || !addToOne(beta2, share2))
    return false;
  return llvm::all_of(randomPoints(), [&](const Point &point) {
    double scale =
        std::abs(beta1 * point.first) + std::abs(share1 * point.grad);
    return isNear(valueAt(m, point), firstAt(point), scale) &&
           isNear(valueAt(v, point), secondAt(point), secondAt(point));
  });
}

/// The bias-corrected moment, and the root to which eps is added. Corrections
/// use betas rounded to float32, as the module's do.
AdamMatcher::Parts AdamMatcher::partsAt(const Point &point,
                                        BiasCorrection form) const {
  double rest1 = 1 - std::pow(static_cast<float>(beta1), point.step);
  double rest2 = 1 - std::pow(static_cast<float>(beta2), point.step);
  double root = std::sqrt(secondAt(point));
  switch (form) {
  case BiasCorrection::None:
    return {firstAt(point), root};
  case BiasCorrection::Moments:
    return {firstAt(point) / rest1, root / std::sqrt(rest2)};
  case BiasCorrection::StepSize:
    return {std::sqrt(rest2) / rest1 * firstAt(point), root};
  }
  return {0, 0};
}

bool AdamMatcher::matchForm(const Formula &next, BiasCorrection form) {
  // Without a gradient and a moment, only the decay is left.
  double kept = nextAt(next, {1, 0, 1, 0});
  // The ratio of moment and change is (root + eps) / lr, which is linear in the
  // root.
  Point small{0, 1, 0, 0}, large{0, 1, 1, 0};
  Parts low = partsAt(small, form), high = partsAt(large, form);
  double atLow = -low.moment / nextAt(next, small);
  double atHigh = -high.moment / nextAt(next, large);
  // Without variance, eps is left alone.
  double lr = high.root / (atHigh - atLow);
  double eps = lr * atLow;
  if (!(lr > 0) || !std::isfinite(lr) || !(eps >= 0) ||
      ((rate != kNone || isDirection) && !isNear(lr, 1, 1)))
    return false;
  double decay = std::abs(1 - kept) < 1e-12 ? 0 : (1 - kept) / lr;
  found.lr = static_cast<float>(lr);
  found.constants = {static_cast<float>(beta1), static_cast<float>(beta2),
                     static_cast<float>(eps), static_cast<float>(decay)};
  return llvm::all_of(randomPoints(), [&](const Point &point) {
    double step = rate == kNone ? lr : point.rate;
    Parts parts = partsAt(point, form);
    double change = step * parts.moment / (parts.root + eps);
    double lost = step * decay * point.param;
    return isNear(nextAt(next, point), point.param - lost - change,
                  std::abs(point.param) + std::abs(change));
  });
}

std::optional<Update> AdamMatcher::match(ValueId rateValue) {
  rate = rateValue;
  count.reset();
  llvm::SmallVector<ValueId> stops = stopsWith(rate);
  Formula next(graph, param.next, stops);
  auto uses = [&](ValueId value) {
    return llvm::is_contained(next.leaves(), value);
  };
  if (!next.isValid() || !uses(first.old) || !uses(second.old) ||
      (rate != kNone && !uses(rate)) || !findCount(next))
    return std::nullopt;
  std::optional<Update> update = matchForms(next);
  if (update && rate != kNone)
    update->lr.reset();
  return update;
}

std::optional<Update> AdamMatcher::matchDirection(ValueId direction) {
  isDirection = true;
  Formula formula(graph, direction, stopsWith(kNone));
  auto uses = [&](ValueId value) {
    return llvm::is_contained(formula.leaves(), value);
  };
  if (!formula.isValid() || !uses(first.old) || !uses(second.old) ||
      !findCount(formula))
    return std::nullopt;
  std::optional<Update> update = matchForms(formula);
  if (update)
    update->lr.reset();
  return update;
}

std::optional<Update> AdamMatcher::matchForms(const Formula &next) {
  for (BiasCorrection form : {BiasCorrection::None, BiasCorrection::Moments,
                              BiasCorrection::StepSize}) {
    if ((form == BiasCorrection::None) == count.has_value() ||
        !matchForm(next, form))
      continue;
    found.rule = UpdateRule::Adam;
    found.bias = form;
    found.count = count ? count->old : kNone;
    return found;
  }
  return std::nullopt;
}

llvm::SmallVector<ValueId> AdamMatcher::stopsWith(ValueId rateValue) const {
  llvm::SmallVector<ValueId> stops{grad};
  for (const StateValues &state : counts)
    stops.push_back(state.next);
  if (rateValue != kNone)
    stops.push_back(rateValue);
  return stops;
}

llvm::SmallVector<ValueId> AdamMatcher::rateCandidates() const {
  Formula next(graph, param.next, stopsWith(kNone));
  llvm::SmallVector<ValueId> candidates;
  for (llvm::ArrayRef<ValueId> list : {next.leaves(), next.scalars()})
    for (ValueId value : list)
      if (graph.values[value].type.getRank() == 0 &&
          graph.values[value].type.getElementType().isF32())
        candidates.push_back(value);
  return candidates;
}

/// Calls `match` with a matcher for each order of the moments whose next values
/// are Adam's.
template <typename Match>
static std::optional<UpdateMatch> matchOrders(const UpdateCandidate &candidate,
                                              Match match) {
  if (candidate.moments.size() != 2)
    return std::nullopt;
  llvm::SmallVector<StateValues> counting;
  llvm::copy_if(
      candidate.counts, std::back_inserter(counting),
      [&](StateValues state) { return isCount(candidate.graph, state); });
  for (unsigned first : {0u, 1u}) {
    AdamMatcher matcher(candidate.graph, candidate.param,
                        candidate.moments[first], candidate.moments[1 - first],
                        counting, candidate.grad);
    if (!matcher.matchMoments())
      continue;
    if (std::optional<UpdateMatch> found = match(matcher)) {
      found->moments = {first, 1 - first};
      return found;
    }
  }
  return std::nullopt;
}

std::optional<UpdateMatch>
bagua::importer::matchAdam(const UpdateCandidate &candidate) {
  return matchOrders(candidate,
                     [](AdamMatcher &matcher) -> std::optional<UpdateMatch> {
                       // A literal is tried first: a value that looks like a
                       // rate may be a part of the literal's computation.
                       llvm::SmallVector<ValueId> rates{kNone};
                       rates.append(matcher.rateCandidates());
                       for (ValueId rate : rates)
                         if (std::optional<Update> update = matcher.match(rate))
                           return UpdateMatch{{}, rate, *update, {}};
                       return std::nullopt;
                     });
}

std::optional<UpdateMatch>
bagua::importer::matchAdamDirection(const UpdateCandidate &candidate,
                                    ValueId direction) {
  return matchOrders(
      candidate, [&](AdamMatcher &matcher) -> std::optional<UpdateMatch> {
        std::optional<Update> update = matcher.matchDirection(direction);
        return update ? std::optional(UpdateMatch{{}, kNone, *update, {}})
                      : std::nullopt;
      });
}
