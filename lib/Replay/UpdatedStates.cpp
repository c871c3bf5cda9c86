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

/// The states of some elements, computed in `T` from the first step on.
template <typename T> class Player {
public:
  Player(const Plan &plan, const fb::Relation &relation,
         const std::vector<int64_t> &group, int64_t begin, int64_t count)
      : plan(plan), relation(relation), update(*relation.update()),
        group(group), begin(begin), count(count),
        type(typeOf(plan, relation.tensor())),
        given(typeOf(plan, relation.of())),
        bytes(count * std::max(dataTypeBytes(type), dataTypeBytes(given))),
        gradient(count), states(update.states()->size(), gradient) {
    for (size_t i = 0; i < states.size(); ++i) {
      generateState(plan, update, i, begin, count, bytes.data());
      readValues(type, bytes.data(), count, states[i].data());
    }
  }

  /// The gradient of a step.
  const std::vector<T> &reduce(int64_t step) {
    std::vector<uint64_t> keys(group.size());
    std::transform(group.begin(), group.end(), keys.begin(), [&](int64_t rank) {
      return giftKey(plan, relation.of(), rank, step);
    });
    expectReduced(given, static_cast<ReduceKind>(relation.reduce()), keys,
                  begin, count, bytes.data());
    readValues(given, bytes.data(), count, gradient.data());
    if (given != type)
      round(gradient);
    return gradient;
  }
  void apply(ApplyUpdate<T> rule, const UpdateNumbers &numbers) {
    rule(numbers, gradient, states);
    if (type == DataType::Float16 || type == DataType::BFloat16)
      for (std::vector<T> &values : states)
        round(values);
  }
  const std::vector<std::vector<T>> &values() const { return states; }
  void write(size_t state, std::byte *output) const {
    writeValues(type, states[state].data(), count, output);
  }

private:
  void round(std::vector<T> &values) {
    writeValues(type, values.data(), count, bytes.data());
    readValues(type, bytes.data(), count, values.data());
  }

  const Plan &plan;
  const fb::Relation &relation;
  const fb::Update &update;
  const std::vector<int64_t> &group;
  int64_t begin, count;
  DataType type, given;
  std::vector<std::byte> bytes;
  std::vector<T> gradient;
  std::vector<std::vector<T>> states;
};

UpdateNumbers numbersOf(const Plan &plan, const fb::Update &update,
                        int64_t step, const std::vector<UpdateNorms> &norms) {
  UpdateNumbers numbers = numbersOf(plan, update, step);
  if (!norms.empty()) {
    numbers.paramNorm = norms[step].param;
    numbers.directionNorm = norms[step].direction;
  }
  return numbers;
}

template <typename T> double normOf(const std::vector<T> &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

template <typename T>
std::vector<UpdateNorms>
expectNormsIn(ApplyUpdate<T> apply, FindDirection<T> direct, const Plan &plan,
              const fb::Relation &relation, const std::vector<int64_t> &group,
              int64_t updates) {
  const fb::Update &update = *relation.update();
  Player<T> player(
      plan, relation, group, 0,
      runtime::elementsOf(*plan.root().tensors()->Get(relation.tensor())));
  std::vector<UpdateNorms> norms;
  for (int64_t step = 0; step < updates; ++step) {
    const std::vector<T> &gradient = player.reduce(step);
    std::vector<T> direction =
        direct(numbersOf(plan, update, step), gradient, player.values());
    norms.push_back({normOf(player.values()[0]), normOf(direction)});
    player.apply(apply, numbersOf(plan, update, step, norms));
  }
  return norms;
}

template <typename T>
void expectIn(ApplyUpdate<T> apply, const Plan &plan,
              const fb::Relation &relation, const std::vector<int64_t> &group,
              const std::vector<UpdateNorms> &norms, int64_t updates,
              size_t state, int64_t begin, int64_t count, std::byte *output) {
  Player<T> player(plan, relation, group, begin, count);
  for (int64_t step = 0; step < updates; ++step) {
    player.reduce(step);
    player.apply(apply, numbersOf(plan, *relation.update(), step, norms));
  }
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

std::vector<UpdateNorms> expectNorms(const Plan &plan,
                                     const fb::Relation &relation,
                                     const std::vector<int64_t> &group,
                                     int64_t updates) {
  const UpdateCheck &check = checkOf(*relation.update());
  if (!check.directFloat)
    return {};
  return typeOf(plan, relation.tensor()) == DataType::Float64
             ? expectNormsIn<double>(check.applyDouble, check.directDouble,
                                     plan, relation, group, updates)
             : expectNormsIn<float>(check.applyFloat, check.directFloat, plan,
                                    relation, group, updates);
}

void expectUpdated(const Plan &plan, const fb::Relation &relation,
                   const std::vector<int64_t> &group,
                   const std::vector<UpdateNorms> &norms, int64_t updates,
                   size_t state, int64_t begin, int64_t count,
                   std::byte *output) {
  const UpdateCheck &check = checkOf(*relation.update());
  if (typeOf(plan, relation.tensor()) == DataType::Float64)
    expectIn<double>(check.applyDouble, plan, relation, group, norms, updates,
                     state, begin, count, output);
  else
    expectIn<float>(check.applyFloat, plan, relation, group, norms, updates,
                    state, begin, count, output);
}

double updatedTolerance(const Plan &plan, const fb::Relation &relation,
                        const std::vector<UpdateNorms> &norms, int64_t updates,
                        size_t state, double gradientTolerance) {
  if (gradientTolerance == 0 && norms.empty())
    return 0;
  bool isSum = static_cast<ReduceKind>(relation.reduce()) == ReduceKind::Sum;
  double gradient = kLargestValue *
                    (isSum ? static_cast<double>(plan.topology().ranks()) : 1);
  const fb::Update &update = *relation.update();
  const UpdateCheck &check = checkOf(update);
  StateBounds bounds;
  bounds.unit = roundoffOf(typeOf(plan, relation.tensor()));
  bounds.gradient = {gradient, gradientTolerance};
  bounds.states.assign(update.states()->size(), {kLargestValue, 0});
  bounds.smallest = kSmallestValue;
  bounds.count = static_cast<double>(
      runtime::elementsOf(*plan.root().tensors()->Get(relation.tensor())));
  for (int64_t step = 0; step < updates; ++step) {
    UpdateNumbers numbers = numbersOf(plan, update, step, norms);
    numbers.learningRate = std::fabs(numbers.learningRate);
    ValueBound change = check.bound(numbers, bounds);
    ValueBound &weight = bounds.states[0];
    weight.largest += change.largest;
    weight.error += change.error + 3 * bounds.unit * weight.largest;
  }
  const ValueBound &bound = bounds.states[state];
  return bound.error < bound.largest ? bound.error
                                     : std::numeric_limits<double>::infinity();
}

} // namespace bagua::replay
