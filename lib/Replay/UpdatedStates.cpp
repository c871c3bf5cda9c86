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
  return updateCheckOf(*runtime::updateRuleOf(update.opcode()));
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

template <typename T>
void expectIn(ApplyUpdate<T> apply, const Plan &plan,
              const fb::Relation &relation, const std::vector<int64_t> &group,
              int64_t updates, size_t state, int64_t begin, int64_t count,
              std::byte *output) {
  const fb::Update &update = *relation.update();
  DataType type = typeOf(plan, relation.tensor());
  DataType given = typeOf(plan, relation.of());
  std::vector<std::byte> bytes(
      count * std::max(dataTypeBytes(type), dataTypeBytes(given)));
  std::vector<T> gradient(count);
  std::vector<std::vector<T>> states(update.states()->size(), gradient);
  for (size_t i = 0; i < states.size(); ++i) {
    generateState(plan, update, i, begin, count, bytes.data());
    readValues(type, bytes.data(), count, states[i].data());
  }
  auto round = [&](std::vector<T> &values) {
    writeValues(type, values.data(), count, bytes.data());
    readValues(type, bytes.data(), count, values.data());
  };
  std::vector<uint64_t> keys(group.size());
  for (int64_t step = 0; step < updates; ++step) {
    std::transform(group.begin(), group.end(), keys.begin(), [&](int64_t rank) {
      return giftKey(plan, relation.of(), rank, step);
    });
    expectReduced(given, static_cast<ReduceKind>(relation.reduce()), keys,
                  begin, count, bytes.data());
    readValues(given, bytes.data(), count, gradient.data());
    if (given != type)
      round(gradient);
    apply(numbersOf(plan, update, step), gradient, states);
    if (type == DataType::Float16 || type == DataType::BFloat16)
      for (std::vector<T> &values : states)
        round(values);
  }
  writeValues(type, states[state].data(), count, output);
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

void expectUpdated(const Plan &plan, const fb::Relation &relation,
                   const std::vector<int64_t> &group, int64_t updates,
                   size_t state, int64_t begin, int64_t count,
                   std::byte *output) {
  const UpdateCheck &check = checkOf(*relation.update());
  if (typeOf(plan, relation.tensor()) == DataType::Float64)
    expectIn<double>(check.applyDouble, plan, relation, group, updates, state,
                     begin, count, output);
  else
    expectIn<float>(check.applyFloat, plan, relation, group, updates, state,
                    begin, count, output);
}

double updatedTolerance(const Plan &plan, const fb::Relation &relation,
                        int64_t updates, size_t state,
                        double gradientTolerance) {
  if (gradientTolerance == 0)
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
  for (int64_t step = 0; step < updates; ++step) {
    UpdateNumbers numbers = numbersOf(plan, update, step);
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
