//===- NormRecognition.cpp - Recognising trust ratios ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates a scalar with squared norms in the place of sums of squares: with
// norms that are 0, and at random points. Comparisons with 0 are the only ones
// that are understood, so that the points show every piece.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/NormRecognition.h"

#include "StableHLO/Graph/NumberRules.h"
#include "StableHLO/Recognition/AdamRecognition.h"
#include "StableHLO/Recognition/Formula.h"

#include <cmath>
#include <random>

using namespace bagua;
using namespace bagua::importer;

namespace {
/// A scalar as a function of the squared norms of the param and of one other
/// tensor, the direction.
class NormFormula {
public:
  NormFormula(const Graph &graph, ValueId param) : graph(graph), param(param) {}

  /// Nothing if the value depends on anything else.
  std::optional<double> at(ValueId value, double squaredParam,
                           double squaredDirection);
  ValueId direction() const { return other; }
  std::vector<ValueId> inner() const {
    return {visited.begin(), visited.end()};
  }

private:
  std::optional<double> evaluate(ValueId value);
  std::optional<double> evaluateOp(const FlatOp &op);
  std::optional<double> squaredNorm(ValueId tensor);
  std::optional<double> sumOfSquares(const FlatOp &op);
  ValueId rootOf(ValueId square);
  const FlatOp *opOf(ValueId value, llvm::StringRef name) const;

  const Graph &graph;
  ValueId param, other = kNone;
  double ofParam = 0, ofOther = 0;
  llvm::DenseMap<ValueId, double> known;
  llvm::DenseSet<ValueId> visited;
};
} // namespace

const FlatOp *NormFormula::opOf(ValueId value, llvm::StringRef name) const {
  const FlatOp *op = graph.defOf(value);
  return op && op->source && op->source->getName().stripDialect() == name
             ? op
             : nullptr;
}

std::optional<double> NormFormula::at(ValueId value, double squaredParam,
                                      double squaredDirection) {
  ofParam = squaredParam;
  ofOther = squaredDirection;
  known.clear();
  return evaluate(value);
}

/// The squared norm of a tensor that is the param, the direction, or one of
/// these where it isn't 0 and a constant where it is.
std::optional<double> NormFormula::squaredNorm(ValueId tensor) {
  if (tensor == param)
    return ofParam;
  if (std::optional<double> splat = graph.values[tensor].splat)
    return *splat * *splat * static_cast<double>(graph.countOf(tensor));
  const FlatOp *op = graph.defOf(tensor);
  if (op && op->kind == OpKind::Reshape && op->operands[0] == param)
    return ofParam;
  if (const FlatOp *choice = opOf(tensor, "select")) {
    const FlatOp *spread = graph.defOf(choice->operands[0]);
    if (spread && spread->kind == OpKind::Broadcast &&
        graph.countOf(spread->operands[0]) == 1) {
      std::optional<double> condition = evaluate(spread->operands[0]);
      visited.insert(tensor);
      visited.insert(choice->operands[0]);
      return condition ? squaredNorm(choice->operands[*condition ? 1 : 2])
                       : std::nullopt;
    }
  }
  if (other != kNone && other != tensor)
    return std::nullopt;
  other = tensor;
  return ofOther;
}

/// A sum over all elements of squares.
std::optional<double> NormFormula::sumOfSquares(const FlatOp &op) {
  if (!op.source || op.source->getName().stripDialect() != "reduce" ||
      op.operands.size() != 2 || op.source->getNumRegions() != 1)
    return std::nullopt;
  mlir::Block &body = op.source->getRegion(0).front();
  if (body.getOperations().size() != 2 ||
      body.front().getName().stripDialect() != "add" ||
      graph.values[op.operands[1]].splat != 0.0)
    return std::nullopt;
  ValueId root = rootOf(op.operands[0]);
  return root == kNone ? std::nullopt : squaredNorm(root);
}

/// The value of which `square` is the square; kNone if it is no square.
ValueId NormFormula::rootOf(ValueId square) {
  ValueId root = kNone;
  if (const FlatOp *product = opOf(square, "multiply");
      product && product->operands[0] == product->operands[1])
    root = product->operands[0];
  if (const FlatOp *power = opOf(square, "power");
      power && graph.values[power->operands[1]].splat == 2.0)
    root = power->operands[0];
  if (root == kNone)
    return kNone;
  visited.insert(square);
  while (const FlatOp *sign = opOf(root, "abs")) {
    visited.insert(root);
    root = sign->operands[0];
  }
  return root;
}

std::optional<double> NormFormula::evaluateOp(const FlatOp &op) {
  llvm::StringRef name = op.source->getName().stripDialect();
  std::array<double, 3> numbers = {};
  if (op.operands.size() > numbers.size() || op.results.size() != 1)
    return std::nullopt;
  bool isOfZero = false;
  for (auto [index, operand] : llvm::enumerate(op.operands)) {
    std::optional<double> number = evaluate(operand);
    if (!number)
      return std::nullopt;
    numbers[index] = *number;
    isOfZero |= graph.values[operand].splat == 0.0;
  }
  if (name == "or")
    return double(numbers[0] != 0 || numbers[1] != 0);
  if (name == "and")
    return double(numbers[0] != 0 && numbers[1] != 0);
  if (name == "not")
    return double(numbers[0] == 0);
  bool isUnderstood = !isPiecewise(op.source) || name == "select" ||
                      (name == "compare" && isOfZero);
  Rule rule = isUnderstood ? ruleOf(op.source) : nullptr;
  return rule ? std::optional(rule(numbers[0], numbers[1], numbers[2]))
              : std::nullopt;
}

std::optional<double> NormFormula::evaluate(ValueId value) {
  if (graph.countOf(value) != 1)
    return std::nullopt;
  if (std::optional<double> splat = graph.values[value].splat)
    return splat;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  const FlatOp *op = graph.defOf(value);
  if (!op || !op->source)
    return std::nullopt;
  std::optional<double> number = sumOfSquares(*op);
  bool isSimple = op->kind == OpKind::Elementwise ||
                  op->kind == OpKind::Reshape || op->kind == OpKind::Broadcast;
  if (!number && isSimple)
    number = evaluateOp(*op);
  if (!number)
    return std::nullopt;
  visited.insert(value);
  known[value] = *number;
  return number;
}

static bool isNear(double found, double expected) {
  return std::abs(found - expected) <= 1e-6 * std::abs(expected);
}

std::optional<TrustRatio> bagua::importer::matchTrustRatio(const Graph &graph,
                                                           ValueId param,
                                                           ValueId value) {
  NormFormula formula(graph, param);
  // 1 / ratio is (norm + eps) / coefficient, which is linear in the norm.
  std::optional<double> one = formula.at(value, 1, 1),
                        two = formula.at(value, 1, 4);
  if (!one || !two || formula.direction() == kNone)
    return std::nullopt;
  TrustRatio ratio;
  ratio.value = value;
  ratio.direction = formula.direction();
  ratio.coefficient = 1 / (1 / *two - 1 / *one);
  ratio.eps = ratio.coefficient / *one - 1;
  if (std::abs(ratio.eps) < 1e-12)
    ratio.eps = 0;
  if (!(ratio.coefficient > 0) || !std::isfinite(ratio.coefficient) ||
      !(ratio.eps >= 0))
    return std::nullopt;
  std::mt19937 random(1);
  auto draw = [&]() {
    return std::pow(10, -16 + 24 * (random() >> 5) / double(1 << 27));
  };
  for (int i = 0; i < 40; ++i) {
    double ofParam = i % 8 == 0 ? 0 : draw();
    double ofDirection = i % 8 == 0 || i % 8 == 1 ? 0 : draw();
    if (i % 16 == 8)
      ofDirection = draw();
    bool isScaled = ofParam != 0 && ofDirection != 0;
    double expected = isScaled ? ratio.coefficient * std::sqrt(ofParam) /
                                     (std::sqrt(ofDirection) + ratio.eps)
                               : 1;
    std::optional<double> found = formula.at(value, ofParam, ofDirection);
    if (!found || !isNear(*found, expected))
      return std::nullopt;
  }
  ratio.inner = formula.inner();
  return ratio;
}

std::vector<TrustRatio>
bagua::importer::findTrustRatios(const UpdateCandidate &candidate) {
  const Graph &graph = candidate.graph;
  std::vector<TrustRatio> ratios;
  // An update may read its norms through a moment's next value.
  Formula next(graph, candidate.param.next, {candidate.grad});
  for (ValueId leaf : next.leaves()) {
    if (graph.countOf(leaf) != 1 || leaf == candidate.grad)
      continue;
    if (std::optional<TrustRatio> ratio =
            matchTrustRatio(graph, candidate.param.old, leaf))
      ratios.push_back(*ratio);
  }
  return ratios;
}

//===----------------------------------------------------------------------===//
// LAMB, LARS
//===----------------------------------------------------------------------===//

namespace {
/// A value as a function of the param, a moment, the direction, its ratio and a
/// rate, evaluated at numbers for these.
class ScaledFormula {
public:
  struct Point {
    double param = 0, moment = 0, direction = 0, ratio = 1, rate = 1;
  };

  ScaledFormula(const UpdateCandidate &candidate, const TrustRatio &ratio,
                ValueId value, ValueId moment, ValueId rate)
      : candidate(candidate), ratio(ratio), moment(moment), rate(rate),
        formula(candidate.graph, value, stops(ratio, rate)) {
    for (ValueId leaf : formula.leaves())
      isKnown &= leaf == candidate.param.old || leaf == moment ||
                 leaf == ratio.direction || leaf == ratio.value || leaf == rate;
  }
  bool isValid() const { return formula.isValid() && isKnown; }
  bool uses(ValueId value) const {
    return llvm::is_contained(formula.leaves(), value);
  }
  double at(const Point &point) const {
    llvm::SmallVector<double, 8> numbers;
    for (ValueId leaf : formula.leaves())
      numbers.push_back(leaf == candidate.param.old ? point.param
                        : leaf == ratio.direction   ? point.direction
                        : leaf == ratio.value       ? point.ratio
                        : leaf == rate              ? point.rate
                                                    : point.moment);
    return formula.at(numbers);
  }
  /// Whether the value is `ofParam param + ofMoment moment + ofStep ratio
  /// direction`. The rate, if it is a value, multiplies the last, and the
  /// moment, too, if `scalesMoment`.
  bool isLinear(double ofParam, double ofMoment, double ofStep,
                bool scalesMoment = false) const {
    std::mt19937 random(2);
    auto draw = [&](double low, double high) {
      return low + (high - low) * (random() >> 5) / double(1 << 27);
    };
    for (int i = 0; i < 32; ++i) {
      Point point{draw(-2, 2), draw(-2, 2), draw(-2, 2), draw(0.01, 5),
                  draw(0.001, 2)};
      double factor = rate == kNone ? 1 : point.rate;
      double step = ofStep * point.ratio * point.direction * factor;
      double kept = ofMoment * point.moment * (scalesMoment ? factor : 1);
      double expected = ofParam * point.param + kept + step;
      double scale =
          std::abs(ofParam * point.param) + std::abs(kept) + std::abs(step);
      if (!(std::abs(at(point) - expected) <= 1e-6 * scale))
        return false;
    }
    return true;
  }

private:
  static llvm::SmallVector<ValueId> stops(const TrustRatio &ratio,
                                          ValueId rate) {
    llvm::SmallVector<ValueId> stops{ratio.direction, ratio.value};
    if (rate != kNone)
      stops.push_back(rate);
    return stops;
  }

  const UpdateCandidate &candidate;
  const TrustRatio &ratio;
  ValueId moment, rate;
  Formula formula;
  bool isKnown = true;
};
} // namespace

/// Scalars that may be the rate; first none, for a literal.
static llvm::SmallVector<ValueId> ratesIn(const UpdateCandidate &candidate,
                                          const TrustRatio &ratio) {
  llvm::SmallVector<ValueId> rates{kNone};
  Formula next(candidate.graph, candidate.param.next,
               {ratio.direction, ratio.value});
  for (llvm::ArrayRef<ValueId> list : {next.leaves(), next.scalars()})
    for (ValueId value : list)
      if (candidate.graph.values[value].type.getRank() == 0 &&
          candidate.graph.values[value].type.getElementType().isF32() &&
          value != ratio.value && value != ratio.direction)
        rates.push_back(value);
  return rates;
}

/// LAMB's param loses its direction, times ratio and rate.
std::optional<UpdateMatch>
bagua::importer::matchLamb(const UpdateCandidate &candidate) {
  for (const TrustRatio &ratio : findTrustRatios(candidate)) {
    if (ratio.coefficient != 1 || ratio.eps != 0)
      continue;
    std::optional<UpdateMatch> match =
        matchAdamDirection(candidate, ratio.direction);
    if (!match)
      continue;
    for (ValueId rate : ratesIn(candidate, ratio)) {
      ScaledFormula next(candidate, ratio, candidate.param.next, kNone, rate);
      if (!next.isValid() || (rate != kNone && !next.uses(rate)))
        continue;
      double step = next.at({0, 0, 1, 1, 1});
      if (!(step < 0) || (rate != kNone && std::abs(step + 1) > 1e-6) ||
          !next.isLinear(1, 0, step))
        continue;
      match->rate = rate;
      match->update.rule = UpdateRule::Lamb;
      if (rate == kNone)
        match->update.lr = static_cast<float>(-step);
      match->inner = ratio.inner;
      return match;
    }
  }
  return std::nullopt;
}

/// The decay in `grad + decay param`; nothing if the direction is another
/// value.
static std::optional<double> findDecay(const UpdateCandidate &candidate,
                                       ValueId direction) {
  if (direction == candidate.grad)
    return 0;
  Formula formula(candidate.graph, direction, {candidate.grad});
  auto at = [&](double param, double grad) {
    llvm::SmallVector<double, 4> numbers;
    for (ValueId leaf : formula.leaves())
      numbers.push_back(leaf == candidate.grad ? grad : param);
    return formula.at(numbers);
  };
  bool isKnown = llvm::all_of(formula.leaves(), [&](ValueId leaf) {
    return leaf == candidate.grad || leaf == candidate.param.old;
  });
  if (!formula.isValid() || !isKnown)
    return std::nullopt;
  double decay = at(1, 0);
  for (auto [param, grad] : {std::pair(0.0, 1.0), {2.0, -3.0}, {-0.5, 7.0}})
    if (!(std::abs(at(param, grad) - (grad + decay * param)) <= 1e-6))
      return std::nullopt;
  return decay;
}

std::optional<UpdateMatch>
bagua::importer::matchLars(const UpdateCandidate &candidate) {
  if (candidate.moments.size() != 1)
    return std::nullopt;
  StateValues moment = candidate.moments[0];
  for (const TrustRatio &ratio : findTrustRatios(candidate)) {
    std::optional<double> decay = findDecay(candidate, ratio.direction);
    if (!decay)
      continue;
    for (ValueId rate : ratesIn(candidate, ratio)) {
      ScaledFormula state(candidate, ratio, moment.next, moment.old, rate);
      ScaledFormula next(candidate, ratio, candidate.param.next, moment.old,
                         rate);
      if (!state.isValid() || !next.isValid() ||
          (rate != kNone && !next.uses(rate)))
        continue;
      double mu = state.at({0, 1, 0, 1, 1}), step = state.at({0, 0, 1, 1, 1});
      double lr = -next.at({0, 0, 1, 1, 1});
      // A momentum of steps has the rate in it, with its sign; one of
      // directions takes up the scaled direction as it is.
      bool isTrace = step < 0;
      bool isRight =
          isTrace ? state.isLinear(0, mu, -lr) && next.isLinear(1, mu, -lr)
                  : !state.uses(rate) && state.isLinear(0, mu, 1) &&
                        next.isLinear(1, -lr * mu, -lr,
                                      /*scalesMoment=*/true);
      if (!(lr > 0) || (rate != kNone && std::abs(lr - 1) > 1e-6) || !isRight)
        continue;
      Update update;
      update.rule = isTrace ? UpdateRule::LarsTrace : UpdateRule::Lars;
      update.constants = {static_cast<float>(mu), static_cast<float>(*decay),
                          static_cast<float>(ratio.coefficient),
                          static_cast<float>(ratio.eps)};
      if (rate == kNone)
        update.lr = static_cast<float>(lr);
      return UpdateMatch{{0}, rate, update, ratio.inner};
    }
  }
  return std::nullopt;
}
