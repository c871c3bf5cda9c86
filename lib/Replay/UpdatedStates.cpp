//===- UpdatedStates.cpp - The states that updates must produce -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plays the updates of a contract from the first step on, by the checks of
// their rules.
//
//===----------------------------------------------------------------------===//
#include "UpdatedStates.h"

#include "CheckValues.h"
#include "Gifts.h"
#include "Plan/Opcodes.h"
#include "Tolerance.h"
#include "Updates/UpdateCheck.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace bagua::replay {

namespace fb = runtime::fb;
using runtime::Plan;

size_t placeAmong(const fb::Update &update, uint32_t tensor) {
  return std::find(update.states()->begin(), update.states()->end(), tensor) -
         update.states()->begin();
}

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
const UpdateCheck &checkOf(const fb::Update &update) {
  return updateCheckOf(runtime::updateOf(update)->rule);
}

/// The numbers of the update in a step, which counts from 0.
UpdateNumbers numbersOf(const Plan &plan, const fb::Update &update,
                        int64_t step) {
  UpdateNumbers numbers;
  if (update.constants())
    numbers.constants.assign(update.constants()->begin(),
                             update.constants()->end());
  numbers.correction = static_cast<BiasCorrection>(update.bias_correction());
  numbers.learningRate = learningRate(plan, update, step);
  numbers.number = step + 1;
  return numbers;
}

/// The parts of a check for one type.
template <typename T> ApplyUpdate<T> applyOf(const UpdateCheck &check);
template <> ApplyUpdate<float> applyOf(const UpdateCheck &check) {
  return check.applyFloat;
}
template <> ApplyUpdate<double> applyOf(const UpdateCheck &check) {
  return check.applyDouble;
}
template <typename T> FindDirection<T> directionOf(const UpdateCheck &check);
template <> FindDirection<float> directionOf(const UpdateCheck &check) {
  return check.directFloat;
}
template <> FindDirection<double> directionOf(const UpdateCheck &check) {
  return check.directDouble;
}

template <typename T> double normOf(const std::vector<T> &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

/// Plays events on a range of the states of an update, in `T`.
template <typename T> class StatePlayer {
public:
  StatePlayer(const Plan &loaded, const fb::Update &of,
              const std::vector<int64_t> &ranks, int64_t first, int64_t length)
      : plan(loaded), update(of), group(ranks), begin(first), count(length),
        type(typeOf(plan, update.states()->Get(0))),
        // A gradient's elements may be wider.
        bytes(count * int64_t{sizeof(double)}), gradient(count),
        states(update.states()->size(), gradient) {
    for (size_t i = 0; i < states.size(); ++i) {
      generateState(plan, update, i, begin, count, bytes.data());
      readValues(type, bytes.data(), count, states[i].data());
    }
  }

  /// `norms` are those of the event.
  void play(const StateEvent &event, const UpdateNorms &norms) {
    const fb::Relation &relation = *event.relation;
    if (relation.relation() == fb::RelationKind::Updated)
      apply(relation, event.iteration, norms);
    else if (relation.relation() == fb::RelationKind::Scaled)
      scale(relation);
    // After a broadcast, all ranks have the first one's values.
  }

  /// The norms of an event, which has not been played. The range is everything.
  UpdateNorms findNorms(const StateEvent &event) {
    const fb::Relation &relation = *event.relation;
    if (relation.relation() != fb::RelationKind::Updated)
      return {};
    const fb::Update &rule = *relation.update();
    FindDirection<T> direct = directionOf<T>(checkOf(rule));
    if (!direct)
      return {};
    reduce(relation, event.iteration);
    return {normOf(states[0]),
            normOf(direct(numbersOf(plan, rule, event.iteration), gradient,
                          states))};
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

  void reduce(const fb::Relation &relation, int64_t iteration) {
    DataType given = typeOf(plan, relation.of());
    std::vector<uint64_t> keys(group.size());
    std::transform(group.begin(), group.end(), keys.begin(), [&](int64_t rank) {
      return giftKey(plan, relation.of(), rank, iteration);
    });
    expectReduced(given, static_cast<ReduceKind>(relation.reduce()), keys,
                  begin, count, bytes.data());
    readValues(given, bytes.data(), count, gradient.data());
    if (given != type)
      round(gradient);
  }

  void apply(const fb::Relation &relation, int64_t iteration,
             const UpdateNorms &norms) {
    reduce(relation, iteration);
    const fb::Update &rule = *relation.update();
    UpdateNumbers numbers = numbersOf(plan, rule, iteration);
    numbers.paramNorm = norms.param;
    numbers.directionNorm = norms.direction;
    applyOf<T>(checkOf(rule))(numbers, gradient, states);
    if (type == DataType::Float16 || type == DataType::BFloat16)
      for (std::vector<T> &values : states)
        round(values);
  }

  const Plan &plan;
  const fb::Update &update;
  const std::vector<int64_t> &group;
  const int64_t begin, count;
  const DataType type;
  std::vector<std::byte> bytes;
  std::vector<T> gradient;
  std::vector<std::vector<T>> states;
};

template <typename T>
std::vector<UpdateNorms> expectNormsIn(const Plan &plan,
                                       const fb::Update &update,
                                       const std::vector<StateEvent> &events,
                                       const std::vector<int64_t> &group) {
  StatePlayer<T> player(plan, update, group, 0,
                        runtime::elementsOf(*plan.root().tensors()->Get(
                            update.states()->Get(0))));
  std::vector<UpdateNorms> norms;
  for (const StateEvent &event : events) {
    norms.push_back(player.findNorms(event));
    player.play(event, norms.back());
  }
  return norms;
}

template <typename T>
void expectIn(const Plan &plan, const fb::Update &update,
              const std::vector<StateEvent> &events,
              const std::vector<UpdateNorms> &norms,
              const std::vector<int64_t> &group, size_t state, int64_t begin,
              int64_t count, std::byte *output) {
  StatePlayer<T> player(plan, update, group, begin, count);
  for (size_t i = 0; i < events.size(); ++i)
    player.play(events[i], norms.empty() ? UpdateNorms() : norms[i]);
  player.write(state, output);
}

bool needsNorms(const StateEvent &event) {
  return event.relation->relation() == fb::RelationKind::Updated &&
         checkOf(*event.relation->update()).directFloat;
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

std::vector<UpdateNorms> expectNorms(const Plan &plan, const fb::Update &update,
                                     const std::vector<StateEvent> &events,
                                     const std::vector<int64_t> &group) {
  if (std::none_of(events.begin(), events.end(), needsNorms))
    return {};
  return typeOf(plan, update.states()->Get(0)) == DataType::Float64
             ? expectNormsIn<double>(plan, update, events, group)
             : expectNormsIn<float>(plan, update, events, group);
}

void expectUpdated(const Plan &plan, const fb::Update &update,
                   const std::vector<StateEvent> &events,
                   const std::vector<UpdateNorms> &norms,
                   const std::vector<int64_t> &group, size_t state,
                   int64_t begin, int64_t count, std::byte *output) {
  auto expect = typeOf(plan, update.states()->Get(0)) == DataType::Float64
                    ? expectIn<double>
                    : expectIn<float>;
  expect(plan, update, events, norms, group, state, begin, count, output);
}

/// Bounds of a state that is multiplied.
static void scaleBound(StateBounds &bounds, size_t state, double coefficient) {
  ValueBound &bound = bounds.states[state];
  const double factor = std::fabs(coefficient);
  bound.largest *= factor;
  bound.error = bound.error * factor + bounds.unit * bound.largest;
  // The variance is the third state.
  if (state == 2)
    bounds.smallest *= factor;
}

double updatedTolerance(const Plan &plan, const fb::Update &update,
                        const std::vector<StateEvent> &events,
                        const std::vector<UpdateNorms> &norms, size_t state) {
  auto isExact = [](const StateEvent &event) {
    return event.gradientTolerance == 0;
  };
  if (norms.empty() && std::all_of(events.begin(), events.end(), isExact))
    return 0;
  StateBounds bounds;
  bounds.unit = roundoffOf(typeOf(plan, update.states()->Get(0)));
  bounds.states.assign(update.states()->size(), {kLargestValue, 0});
  bounds.smallest = kSmallestValue;
  bounds.count = static_cast<double>(runtime::elementsOf(
      *plan.root().tensors()->Get(update.states()->Get(0))));
  for (size_t i = 0; i < events.size(); ++i) {
    const auto &[relation, iteration, tolerance] = events[i];
    if (relation->relation() == fb::RelationKind::Scaled)
      scaleBound(bounds, placeAmong(update, relation->tensor()),
                 relation->coefficient());
    if (relation->relation() != fb::RelationKind::Updated)
      continue;
    bool isSum = static_cast<ReduceKind>(relation->reduce()) == ReduceKind::Sum;
    double ranks = isSum ? static_cast<double>(plan.topology().ranks()) : 1;
    const fb::Update &rule = *relation->update();
    bounds.gradient = {kLargestValue * ranks, tolerance};
    UpdateNumbers numbers = numbersOf(plan, rule, iteration);
    numbers.learningRate = std::fabs(numbers.learningRate);
    if (!norms.empty()) {
      numbers.paramNorm = norms[i].param;
      numbers.directionNorm = norms[i].direction;
    }
    ValueBound change = checkOf(rule).bound(numbers, bounds);
    ValueBound &weight = bounds.states[0];
    weight.largest += change.largest;
    weight.error += change.error + 3 * bounds.unit * weight.largest;
  }
  const ValueBound &bound = bounds.states[state];
  return bound.error < bound.largest ? bound.error
                                     : std::numeric_limits<double>::infinity();
}

} // namespace bagua::replay
