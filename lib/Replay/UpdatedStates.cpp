//===- UpdatedStates.cpp - The states that updates must produce -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computed element by element from the formulas.
//
//===----------------------------------------------------------------------===//
#include "UpdatedStates.h"

#include "CheckValues.h"
#include "Gifts.h"
#include "Plan/Opcodes.h"
#include "Tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace bagua::replay {

namespace fb = runtime::fb;
using runtime::Plan;
using runtime::PromisedUpdate;

namespace {

DataType typeOf(const Plan &plan, uint32_t tensor) {
  return static_cast<DataType>(plan.root().tensors()->Get(tensor)->type());
}

std::string nameOf(const Plan &plan, uint32_t tensor) {
  return plan.root().tensors()->Get(tensor)->name()->str();
}

double learningRate(const Plan &plan, const fb::Update &update, int64_t step) {
  int32_t tensor = update.learning_rate_tensor();
  if (tensor < 0)
    return update.learning_rate();
  std::byte value[8];
  DataType type = typeOf(plan, tensor);
  generateValues(type, giftKey(plan, tensor, 0, step), 0, 1, value);
  return valueAt(type, value, 0);
}

/// The loader accepts no other update in a contract.
PromisedUpdate ruleOf(const fb::Update &update) {
  return *runtime::promisedUpdateOf(update.opcode());
}

/// sgd and adam of docs/Semantics.md, "Arithmetic", computed in `T`.
template <typename T> class Rule {
public:
  Rule(const fb::Update &update, double learningRate, int64_t number)
      : update(update), rate(static_cast<T>(learningRate)),
        exponent(static_cast<double>(number)) {}

  void apply(const std::vector<T> &gradient,
             std::vector<std::vector<T>> &states) const {
    switch (ruleOf(update)) {
    case PromisedUpdate::Sgd:
      return states.size() == 2 ? momentum(gradient, states)
                                : sgd(gradient, states);
    case PromisedUpdate::Adam:
      return adam(gradient, states);
    }
  }

private:
  T constant(size_t i) const {
    return static_cast<T>(update.constants()->Get(i));
  }
  /// 1 - beta^t, in float64.
  T correction(T beta) const {
    return static_cast<T>(1 - std::pow(static_cast<double>(beta), exponent));
  }

  void sgd(const std::vector<T> &gradient,
           std::vector<std::vector<T>> &states) const {
    for (size_t i = 0; i < gradient.size(); ++i)
      states[0][i] = states[0][i] - rate * gradient[i];
  }

  void momentum(const std::vector<T> &gradient,
                std::vector<std::vector<T>> &states) const {
    T *w = states[0].data(), *m = states[1].data(), mu = constant(0);
    for (size_t i = 0; i < gradient.size(); ++i) {
      m[i] = mu * m[i] + gradient[i];
      w[i] = w[i] - rate * m[i];
    }
  }

  void adam(const std::vector<T> &gradient,
            std::vector<std::vector<T>> &states) const {
    T *w = states[0].data(), *m = states[1].data(), *v = states[2].data();
    T beta1 = constant(0), beta2 = constant(1), eps = constant(2);
    T decay = rate * constant(3);
    T c1 = correction(beta1), c2 = correction(beta2);
    T stepSize = rate * std::sqrt(c2) / c1;
    fb::BiasCorrection corrects = update.bias_correction();
    for (size_t i = 0; i < gradient.size(); ++i) {
      T g = gradient[i];
      T old = decay == 0 ? w[i] : w[i] - decay * w[i];
      m[i] = beta1 * m[i] + (1 - beta1) * g;
      v[i] = beta2 * v[i] + (1 - beta2) * (g * g);
      if (corrects == fb::BiasCorrection::Moments)
        w[i] = old - rate * (m[i] / c1) / (std::sqrt(v[i] / c2) + eps);
      else if (corrects == fb::BiasCorrection::StepSize)
        w[i] = old - stepSize * m[i] / (std::sqrt(v[i]) + eps);
      else
        w[i] = old - rate * m[i] / (std::sqrt(v[i]) + eps);
    }
  }

  const fb::Update &update;
  T rate;
  double exponent;
};

/// The number of a tensor among an update's states.
size_t placeAmong(const fb::Update &update, uint32_t tensor) {
  return std::find(update.states()->begin(), update.states()->end(), tensor) -
         update.states()->begin();
}

/// Plays events on a range of the states of an update, in `T`.
template <typename T> class StatePlayer {
public:
  StatePlayer(const Plan &plan, const fb::Update &update,
              const std::vector<int64_t> &group, int64_t begin, int64_t count)
      : plan(plan), group(group), begin(begin), count(count),
        type(typeOf(plan, update.states()->Get(0))),
        states(update.states()->size(), std::vector<T>(count)), update(update) {
    // A gradient's elements may be wider.
    bytes.resize(count * int64_t{sizeof(double)});
    for (size_t i = 0; i < states.size(); ++i) {
      generateState(plan, update, i, begin, count, bytes.data());
      readValues(type, bytes.data(), count, states[i].data());
    }
  }

  void play(const StateEvent &event) {
    switch (event.relation->relation()) {
    case fb::RelationKind::Updated:
      return apply(*event.relation, event.iteration);
    case fb::RelationKind::Scaled:
      return scale(*event.relation);
    default: // All ranks have the first one's values.
      return;
    }
  }

  void write(size_t state, std::byte *output) const {
    writeValues(type, states[state].data(), count, output);
  }

private:
  void round(std::vector<T> &values) {
    writeValues(type, values.data(), count, bytes.data());
    readValues(type, bytes.data(), count, values.data());
  }

  void scale(const fb::Relation &relation) {
    std::vector<T> &values = states[placeAmong(update, relation.tensor())];
    for (T &value : values)
      value = static_cast<T>(relation.coefficient()) * value;
    round(values);
  }

  void apply(const fb::Relation &relation, int64_t iteration) {
    DataType given = typeOf(plan, relation.of());
    std::vector<uint64_t> keys(group.size());
    std::transform(group.begin(), group.end(), keys.begin(), [&](int64_t rank) {
      return giftKey(plan, relation.of(), rank, iteration);
    });
    std::vector<T> gradient(count);
    expectReduced(given, static_cast<ReduceKind>(relation.reduce()), keys,
                  begin, count, bytes.data());
    readValues(given, bytes.data(), count, gradient.data());
    if (given != type)
      round(gradient);
    const fb::Update &rule = *relation.update();
    Rule<T>(rule, learningRate(plan, rule, iteration), iteration + 1)
        .apply(gradient, states);
    if (type == DataType::Float16 || type == DataType::BFloat16)
      for (std::vector<T> &values : states)
        round(values);
  }

  const Plan &plan;
  const std::vector<int64_t> &group;
  const int64_t begin, count;
  const DataType type;
  std::vector<std::vector<T>> states;
  const fb::Update &update;
  std::vector<std::byte> bytes;
};

template <typename T>
void expectIn(const Plan &plan, const fb::Update &update,
              const std::vector<StateEvent> &events,
              const std::vector<int64_t> &group, size_t state, int64_t begin,
              int64_t count, std::byte *output) {
  StatePlayer<T> player(plan, update, group, begin, count);
  for (const StateEvent &event : events)
    player.play(event);
  player.write(state, output);
}

} // namespace

void generateState(const Plan &plan, const fb::Update &update, size_t state,
                   int64_t begin, int64_t count, std::byte *output) {
  uint32_t tensor = update.states()->Get(state);
  DataType type = typeOf(plan, tensor);
  generateValues(type, valueKey(nameOf(plan, tensor), 0, -1), begin, count,
                 output);
  if (state < 2)
    return;
  constexpr int64_t kBlock = 1024;
  double values[kBlock];
  for (int64_t at = 0; at < count; at += kBlock) {
    int64_t size = std::min(kBlock, count - at);
    std::byte *block = output + at * dataTypeBytes(type);
    readValues(type, block, size, values);
    for (int64_t i = 0; i < size; ++i)
      values[i] = std::fabs(values[i]);
    writeValues(type, values, size, block);
  }
}

void expectUpdated(const Plan &plan, const fb::Update &update,
                   const std::vector<StateEvent> &events,
                   const std::vector<int64_t> &group, size_t state,
                   int64_t begin, int64_t count, std::byte *output) {
  auto expect = typeOf(plan, update.states()->Get(0)) == DataType::Float64
                    ? expectIn<double>
                    : expectIn<float>;
  expect(plan, update, events, group, state, begin, count, output);
}

namespace {
/// Bounds that each update carries on: the largest values, the smallest
/// variance, and how far values may be off.
class ErrorBound {
public:
  explicit ErrorBound(double roundoff) : unit(roundoff) {}

  /// Adds one update by gradients of at most `largest`, off by at most `error`,
  /// at a rate; `number` counts from 1.
  void update(const fb::Update &by, double largest, double error, double rate,
              int64_t number);
  /// Multiplies state `state`.
  void scale(size_t state, double coefficient);
  /// How far state `state` may be off; not finite if any value is explained.
  double of(size_t state) const;

private:
  struct Bounded {
    double largest = kLargestValue;
    double error = 0;
  };
  Bounded updateSgd(double rate);
  Bounded updateAdam(double rate, double number);
  double constant(size_t i) const { return rule->constants()->Get(i); }

  const double unit;
  /// Those of the last update.
  const fb::Update *rule = nullptr;
  double gradient = 0, gradientError = 0;
  Bounded weight, moment, variance;
  double smallest = kSmallestValue;
};
} // namespace

/// The change of the weight.
ErrorBound::Bounded ErrorBound::updateSgd(double rate) {
  double momentum = rule->states()->size() == 2 ? constant(0) : 0;
  moment.largest = momentum * moment.largest + gradient;
  moment.error =
      momentum * moment.error + gradientError + 3 * unit * moment.largest;
  return {rate * moment.largest, rate * moment.error};
}

ErrorBound::Bounded ErrorBound::updateAdam(double rate, double number) {
  double beta1 = constant(0), beta2 = constant(1), decay = constant(3);
  weight.largest += rate * decay * weight.largest;
  weight.error += rate * decay * weight.error + 3 * unit * weight.largest;
  moment.largest = beta1 * moment.largest + (1 - beta1) * gradient;
  moment.error = beta1 * moment.error + (1 - beta1) * gradientError +
                 3 * unit * moment.largest;
  variance.largest =
      beta2 * variance.largest + (1 - beta2) * gradient * gradient;
  variance.error = beta2 * variance.error +
                   (1 - beta2) * 2 * gradient * gradientError +
                   4 * unit * variance.largest;
  smallest *= beta2;
  bool corrects = rule->bias_correction() != fb::BiasCorrection::None;
  double c1 = corrects ? 1 - std::pow(beta1, number) : 1;
  double c2 = corrects ? 1 - std::pow(beta2, number) : 1;
  double scale = rate * std::sqrt(c2) / c1;
  double change = scale * moment.largest / std::sqrt(smallest);
  return {change, scale * (moment.error / std::sqrt(smallest) +
                           moment.largest * variance.error /
                               (2 * smallest * std::sqrt(smallest))) +
                      6 * unit * change};
}

void ErrorBound::update(const fb::Update &by, double largest, double error,
                        double rate, int64_t number) {
  rule = &by;
  gradient = largest;
  gradientError = error;
  Bounded change;
  switch (ruleOf(by)) {
  case PromisedUpdate::Sgd:
    change = updateSgd(rate);
    break;
  case PromisedUpdate::Adam:
    change = updateAdam(rate, static_cast<double>(number));
    break;
  }
  weight.largest += change.largest;
  weight.error += change.error + 3 * unit * weight.largest;
}

double ErrorBound::of(size_t state) const {
  const Bounded &bound = state == 0 ? weight : state == 1 ? moment : variance;
  return bound.error < bound.largest ? bound.error
                                     : std::numeric_limits<double>::infinity();
}

void ErrorBound::scale(size_t state, double coefficient) {
  Bounded &bound = state == 0 ? weight : state == 1 ? moment : variance;
  const double factor = std::fabs(coefficient);
  bound.largest *= factor;
  bound.error = bound.error * factor + unit * bound.largest;
  if (state == 2)
    smallest *= factor;
}

double updatedTolerance(const Plan &plan, const fb::Update &update,
                        const std::vector<StateEvent> &events, size_t state) {
  if (std::all_of(events.begin(), events.end(), [](const StateEvent &event) {
        return event.gradientTolerance == 0;
      }))
    return 0;
  ErrorBound bound(roundoffOf(typeOf(plan, update.states()->Get(0))));
  for (const auto &[relation, iteration, tolerance] : events) {
    if (relation->relation() == fb::RelationKind::Scaled)
      bound.scale(placeAmong(update, relation->tensor()),
                  relation->coefficient());
    if (relation->relation() != fb::RelationKind::Updated)
      continue;
    bool isSum = static_cast<ReduceKind>(relation->reduce()) == ReduceKind::Sum;
    double ranks = isSum ? static_cast<double>(plan.topology().ranks()) : 1;
    const fb::Update &rule = *relation->update();
    bound.update(rule, kLargestValue * ranks, tolerance,
                 std::fabs(learningRate(plan, rule, iteration)), iteration + 1);
  }
  return bound.of(state);
}

} // namespace bagua::replay
