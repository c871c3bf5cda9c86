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
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace bagua::replay {

namespace fb = runtime::fb;
using runtime::Plan;

namespace {

/// Calls `visit` with the states of each update of the plan, the param first.
template <typename Visit> void forEachUpdate(const Plan &plan, Visit visit) {
  for (const fb::Step *step : *plan.root().steps())
    for (const fb::Relation *relation : *step->contract())
      if (relation->relation() == fb::RelationKind::Updated)
        visit(*relation->update()->states());
}

} // namespace

StateFamily::StateFamily(const Plan &plan, uint32_t state) : states({state}) {
  auto isKnown = [&](uint32_t tensor) { return placeOf(tensor) < size(); };
  for (size_t known = 0; known != size();) {
    known = size();
    forEachUpdate(plan, [&](const auto &updated) {
      if (std::any_of(updated.begin(), updated.end(), isKnown))
        std::copy_if(updated.begin(), updated.end(), std::back_inserter(states),
                     [&](uint32_t tensor) { return !isKnown(tensor); });
    });
  }
  positive.resize(size());
  forEachUpdate(plan, [&](const auto &updated) {
    for (uint32_t i = 2; i < updated.size(); ++i)
      if (isKnown(updated.Get(i)))
        positive[placeOf(updated.Get(i))] = true;
  });
}

size_t StateFamily::placeOf(uint32_t tensor) const {
  return std::find(states.begin(), states.end(), tensor) - states.begin();
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

/// How often each optimizer's state has been updated.
using UpdateTally = std::map<uint32_t, int64_t>;

/// The state by which an update is counted: its first moment, if it has one.
uint32_t countedState(const fb::Update &update) {
  return update.states()->Get(update.states()->size() > 1 ? 1 : 0);
}

/// The numbers of an update in an iteration, after the tallied ones.
UpdateNumbers numbersOf(const Plan &plan, const fb::Update &update,
                        int64_t iteration, const UpdateTally &tally) {
  UpdateNumbers numbers;
  if (update.constants())
    numbers.constants.assign(update.constants()->begin(),
                             update.constants()->end());
  numbers.correction = static_cast<BiasCorrection>(update.bias_correction());
  numbers.learningRate = learningRate(plan, update, iteration);
  auto before = tally.find(countedState(update));
  numbers.number = before == tally.end() ? 1 : before->second + 1;
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

/// Plays events on a range of a family's states, in `T`.
template <typename T> class StatePlayer {
public:
  StatePlayer(const Plan &loaded, const StateFamily &of, int64_t ofRank,
              int64_t first, int64_t length)
      : plan(loaded), family(of), rank(ofRank), begin(first), count(length),
        type(typeOf(plan, family.tensor(0))),
        // A gradient's elements may be wider.
        bytes(count * int64_t{sizeof(double)}), gradient(count),
        states(family.size(), gradient) {
    for (size_t i = 0; i < states.size(); ++i) {
      generateState(plan, family, i, begin, count, bytes.data());
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
    std::vector<std::vector<T>> own = take(rule);
    UpdateNorms norms = {
        normOf(own[0]),
        normOf(direct(numbersOf(plan, rule, event.iteration, tally), gradient,
                      own))};
    giveBack(rule, std::move(own));
    return norms;
  }

  void write(size_t state, std::byte *output) const {
    writeValues(type, states[state].data(), count, output);
  }

private:
  void round(std::vector<T> &values) {
    writeValues(type, values.data(), count, bytes.data());
    readValues(type, bytes.data(), count, values.data());
  }

  /// The states in the order of a rule, which has them until giveBack().
  std::vector<std::vector<T>> take(const fb::Update &rule) {
    std::vector<std::vector<T>> own;
    for (uint32_t state : *rule.states())
      own.push_back(std::move(states[family.placeOf(state)]));
    return own;
  }
  void giveBack(const fb::Update &rule, std::vector<std::vector<T>> own) {
    for (size_t i = 0; i < own.size(); ++i)
      states[family.placeOf(rule.states()->Get(i))] = std::move(own[i]);
  }

  void scale(const fb::Relation &relation) {
    std::vector<T> &values = states[family.placeOf(relation.tensor())];
    for (T &value : values)
      value = static_cast<T>(relation.coefficient()) * value;
    round(values);
  }

  void reduce(const fb::Relation &relation, int64_t iteration) {
    DataType given = typeOf(plan, relation.of());
    std::vector<int64_t> axes;
    if (relation.axes())
      axes.assign(relation.axes()->begin(), relation.axes()->end());
    const std::vector<int64_t> group = plan.topology().groupOf(rank, axes);
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
    UpdateNumbers numbers = numbersOf(plan, rule, iteration, tally);
    ++tally[countedState(rule)];
    numbers.paramNorm = norms.param;
    numbers.directionNorm = norms.direction;
    std::vector<std::vector<T>> own = take(rule);
    applyOf<T>(checkOf(rule))(numbers, gradient, own);
    if (type == DataType::Float16 || type == DataType::BFloat16)
      for (std::vector<T> &values : own)
        round(values);
    giveBack(rule, std::move(own));
  }

  const Plan &plan;
  const StateFamily &family;
  const int64_t rank;
  const int64_t begin, count;
  const DataType type;
  std::vector<std::byte> bytes;
  std::vector<T> gradient;
  std::vector<std::vector<T>> states;
  UpdateTally tally;
};

template <typename T>
std::vector<UpdateNorms>
expectNormsIn(const Plan &plan, const StateFamily &family,
              const std::vector<StateEvent> &events, int64_t rank) {
  StatePlayer<T> player(
      plan, family, rank, 0,
      runtime::elementsOf(*plan.root().tensors()->Get(family.tensor(0))));
  std::vector<UpdateNorms> norms;
  for (const StateEvent &event : events) {
    norms.push_back(player.findNorms(event));
    player.play(event, norms.back());
  }
  return norms;
}

template <typename T>
void expectIn(const Plan &plan, const StateFamily &family,
              const std::vector<StateEvent> &events,
              const std::vector<UpdateNorms> &norms, int64_t rank, size_t state,
              int64_t begin, int64_t count, std::byte *output) {
  StatePlayer<T> player(plan, family, rank, begin, count);
  for (size_t i = 0; i < events.size(); ++i)
    player.play(events[i], norms.empty() ? UpdateNorms() : norms[i]);
  player.write(state, output);
}

bool needsNorms(const StateEvent &event) {
  return event.relation->relation() == fb::RelationKind::Updated &&
         checkOf(*event.relation->update()).directFloat;
}

} // namespace

void generateState(const Plan &plan, const StateFamily &family, size_t state,
                   int64_t begin, int64_t count, std::byte *output) {
  uint32_t tensor = family.tensor(state);
  DataType type = typeOf(plan, tensor);
  generateValues(type, valueKey(nameOf(plan, tensor), 0, -1), begin, count,
                 output);
  if (!family.isPositive(state))
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

std::vector<UpdateNorms> expectNorms(const Plan &plan,
                                     const StateFamily &family,
                                     const std::vector<StateEvent> &events,
                                     int64_t rank) {
  if (std::none_of(events.begin(), events.end(), needsNorms))
    return {};
  return typeOf(plan, family.tensor(0)) == DataType::Float64
             ? expectNormsIn<double>(plan, family, events, rank)
             : expectNormsIn<float>(plan, family, events, rank);
}

void expectUpdated(const Plan &plan, const StateFamily &family,
                   const std::vector<StateEvent> &events,
                   const std::vector<UpdateNorms> &norms, int64_t rank,
                   size_t state, int64_t begin, int64_t count,
                   std::byte *output) {
  auto expect = typeOf(plan, family.tensor(0)) == DataType::Float64
                    ? expectIn<double>
                    : expectIn<float>;
  expect(plan, family, events, norms, rank, state, begin, count, output);
}

namespace {

/// The bounds of a family's states, of which each update has some.
class FamilyBounds {
public:
  FamilyBounds(const Plan &plan, const StateFamily &of)
      : family(of), values(of.size(), {kLargestValue, 0}),
        smallest(of.size(), kSmallestValue),
        unit(roundoffOf(typeOf(plan, of.tensor(0)))),
        count(static_cast<double>(
            runtime::elementsOf(*plan.root().tensors()->Get(of.tensor(0))))) {}

  /// Squared norms are float32.
  void addNorms() { unit = std::max(unit, roundoffOf(DataType::Float32)); }

  void scale(uint32_t tensor, double coefficient) {
    ValueBound &bound = values[family.placeOf(tensor)];
    const double factor = std::fabs(coefficient);
    bound.largest *= factor;
    bound.error = bound.error * factor + unit * bound.largest;
    smallest[family.placeOf(tensor)] *= factor;
  }

  void update(const fb::Update &rule, const UpdateNumbers &numbers,
              const ValueBound &gradient) {
    StateBounds bounds;
    bounds.unit = unit;
    bounds.count = count;
    bounds.gradient = gradient;
    std::vector<size_t> places;
    for (uint32_t state : *rule.states()) {
      places.push_back(family.placeOf(state));
      bounds.states.push_back(values[places.back()]);
    }
    // The variance is the third state.
    if (places.size() > 2)
      bounds.smallest = smallest[places[2]];
    ValueBound change = checkOf(rule).bound(numbers, bounds);
    ValueBound &weight = bounds.states[0];
    weight.largest += change.largest;
    weight.error += change.error + 3 * unit * weight.largest;
    for (size_t i = 0; i < places.size(); ++i)
      values[places[i]] = bounds.states[i];
    if (places.size() > 2)
      smallest[places[2]] = bounds.smallest;
  }

  double tolerance(size_t state) const {
    const ValueBound &bound = values[state];
    return bound.error < bound.largest
               ? bound.error
               : std::numeric_limits<double>::infinity();
  }

private:
  const StateFamily &family;
  std::vector<ValueBound> values;
  /// The least second moment, if the state is one.
  std::vector<double> smallest;
  double unit;
  double count;
};

} // namespace

double updatedTolerance(const Plan &plan, const StateFamily &family,
                        const std::vector<StateEvent> &events,
                        const std::vector<UpdateNorms> &norms, size_t state) {
  auto isExact = [](const StateEvent &event) {
    return event.gradientTolerance == 0;
  };
  if (norms.empty() && std::all_of(events.begin(), events.end(), isExact))
    return 0;
  FamilyBounds bounds(plan, family);
  if (!norms.empty())
    bounds.addNorms();
  UpdateTally tally;
  for (size_t i = 0; i < events.size(); ++i) {
    const auto &[relation, iteration, tolerance] = events[i];
    if (relation->relation() == fb::RelationKind::Scaled)
      bounds.scale(relation->tensor(), relation->coefficient());
    if (relation->relation() != fb::RelationKind::Updated)
      continue;
    bool isSum = static_cast<ReduceKind>(relation->reduce()) == ReduceKind::Sum;
    double ranks = isSum ? static_cast<double>(plan.topology().ranks()) : 1;
    const fb::Update &rule = *relation->update();
    UpdateNumbers numbers = numbersOf(plan, rule, iteration, tally);
    ++tally[countedState(rule)];
    numbers.learningRate = std::fabs(numbers.learningRate);
    if (!norms.empty()) {
      numbers.paramNorm = norms[i].param;
      numbers.directionNorm = norms[i].direction;
    }
    bounds.update(rule, numbers, {kLargestValue * ranks, tolerance});
  }
  return bounds.tolerance(state);
}

} // namespace bagua::replay
