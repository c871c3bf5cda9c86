//===- SgdCheck.cpp - What a check knows of SGD ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With momentum and without.
//
//===----------------------------------------------------------------------===//
#include "Updates/UpdateCheck.h"

namespace bagua::replay {
namespace {

template <typename T>
void apply(const UpdateNumbers &numbers, const std::vector<T> &gradient,
           std::vector<std::vector<T>> &states) {
  T rate = static_cast<T>(numbers.learningRate);
  std::vector<T> &w = states[0];
  if (states.size() == 1) {
    for (size_t i = 0; i < gradient.size(); ++i)
      w[i] = w[i] - rate * gradient[i];
    return;
  }
  T mu = numbers.constant<T>(0);
  std::vector<T> &m = states[1];
  for (size_t i = 0; i < gradient.size(); ++i) {
    m[i] = mu * m[i] + gradient[i];
    w[i] = w[i] - rate * m[i];
  }
}

ValueBound bound(const UpdateNumbers &numbers, StateBounds &bounds) {
  double rate = numbers.learningRate;
  const ValueBound &gradient = bounds.gradient;
  if (bounds.states.size() == 1)
    return {rate * gradient.largest,
            rate * (gradient.error + 3 * bounds.unit * gradient.largest)};
  double momentum = numbers.constant<double>(0);
  ValueBound &moment = bounds.states[1];
  moment.largest = momentum * moment.largest + gradient.largest;
  moment.error = momentum * moment.error + gradient.error +
                 3 * bounds.unit * moment.largest;
  return {rate * moment.largest, rate * moment.error};
}

} // namespace

extern const UpdateCheck kSgdCheck;
const UpdateCheck kSgdCheck{UpdateRule::Sgd, apply<float>, apply<double>,
                            bound};

} // namespace bagua::replay
