//===- AdamCheck.cpp - What a check knows of Adam -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With each of the bias corrections, and with decoupled weight decay.
//
//===----------------------------------------------------------------------===//
#include "Updates/UpdateCheck.h"

#include <cmath>

namespace bagua::replay {
namespace {

/// 1 - beta^t, in float64.
double restOf(double beta, const UpdateNumbers &numbers) {
  return 1 - std::pow(beta, static_cast<double>(numbers.number));
}

template <typename T>
void apply(const UpdateNumbers &numbers, const std::vector<T> &gradient,
           std::vector<std::vector<T>> &states) {
  T *w = states[0].data(), *m = states[1].data(), *v = states[2].data();
  T beta1 = numbers.constant<T>(0), beta2 = numbers.constant<T>(1),
    eps = numbers.constant<T>(2);
  T rate = static_cast<T>(numbers.learningRate);
  T decay = rate * numbers.constant<T>(3);
  T c1 = static_cast<T>(restOf(beta1, numbers)),
    c2 = static_cast<T>(restOf(beta2, numbers));
  T stepSize = rate * std::sqrt(c2) / c1;
  for (size_t i = 0; i < gradient.size(); ++i) {
    T g = gradient[i];
    T old = decay == 0 ? w[i] : w[i] - decay * w[i];
    m[i] = beta1 * m[i] + (1 - beta1) * g;
    v[i] = beta2 * v[i] + (1 - beta2) * (g * g);
    if (numbers.correction == BiasCorrection::Moments)
      w[i] = old - rate * (m[i] / c1) / (std::sqrt(v[i] / c2) + eps);
    else if (numbers.correction == BiasCorrection::StepSize)
      w[i] = old - stepSize * m[i] / (std::sqrt(v[i]) + eps);
    else
      w[i] = old - rate * m[i] / (std::sqrt(v[i]) + eps);
  }
}

ValueBound bound(const UpdateNumbers &numbers, StateBounds &bounds) {
  double beta1 = numbers.constant<double>(0),
         beta2 = numbers.constant<double>(1),
         decay = numbers.constant<double>(3);
  double rate = numbers.learningRate, unit = bounds.unit;
  const ValueBound &gradient = bounds.gradient;
  ValueBound &weight = bounds.states[0], &moment = bounds.states[1],
             &variance = bounds.states[2];
  weight.largest += rate * decay * weight.largest;
  weight.error += rate * decay * weight.error + 3 * unit * weight.largest;
  moment.largest = beta1 * moment.largest + (1 - beta1) * gradient.largest;
  moment.error = beta1 * moment.error + (1 - beta1) * gradient.error +
                 3 * unit * moment.largest;
  variance.largest = beta2 * variance.largest +
                     (1 - beta2) * gradient.largest * gradient.largest;
  variance.error = beta2 * variance.error +
                   (1 - beta2) * 2 * gradient.largest * gradient.error +
                   4 * unit * variance.largest;
  bounds.smallest *= beta2;
  bool corrects = numbers.correction != BiasCorrection::None;
  double c1 = corrects ? restOf(beta1, numbers) : 1;
  double c2 = corrects ? restOf(beta2, numbers) : 1;
  double scale = rate * std::sqrt(c2) / c1;
  double root = std::sqrt(bounds.smallest);
  double change = scale * moment.largest / root;
  return {change,
          scale * (moment.error / root + moment.largest * variance.error /
                                             (2 * bounds.smallest * root)) +
              6 * unit * change};
}

} // namespace

extern const UpdateCheck kAdamCheck;
const UpdateCheck kAdamCheck{UpdateRule::Adam, apply<float>, apply<double>,
                             bound};

} // namespace bagua::replay
