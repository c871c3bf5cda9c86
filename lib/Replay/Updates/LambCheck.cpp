//===- LambCheck.cpp - What a check knows of LAMB -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// You et al., 2020, algorithm 2, with each of Adam's bias corrections.
//
//===----------------------------------------------------------------------===//
#include "Updates/UpdateCheck.h"

namespace bagua::replay {
namespace {

template <typename T>
void move(const UpdateNumbers &numbers, const std::vector<T> &gradient,
          std::vector<T> &m, std::vector<T> &v) {
  T beta1 = numbers.constant<T>(0), beta2 = numbers.constant<T>(1);
  for (size_t i = 0; i < gradient.size(); ++i) {
    m[i] = beta1 * m[i] + (1 - beta1) * gradient[i];
    v[i] = beta2 * v[i] + (1 - beta2) * (gradient[i] * gradient[i]);
  }
}

/// With moments that have moved.
template <typename T>
std::vector<T> quotient(const UpdateNumbers &numbers, const std::vector<T> &w,
                        const std::vector<T> &m, const std::vector<T> &v) {
  T eps = numbers.constant<T>(2), decay = numbers.constant<T>(3);
  T c1 = static_cast<T>(restOf(numbers.constant<T>(0), numbers));
  T c2 = static_cast<T>(restOf(numbers.constant<T>(1), numbers));
  std::vector<T> direction(w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    T u;
    if (numbers.correction == BiasCorrection::Moments)
      u = (m[i] / c1) / (std::sqrt(v[i] / c2) + eps);
    else if (numbers.correction == BiasCorrection::StepSize)
      u = std::sqrt(c2) / c1 * m[i] / (std::sqrt(v[i]) + eps);
    else
      u = m[i] / (std::sqrt(v[i]) + eps);
    direction[i] = u + decay * w[i];
  }
  return direction;
}

template <typename T>
std::vector<T> direct(const UpdateNumbers &numbers,
                      const std::vector<T> &gradient,
                      const std::vector<std::vector<T>> &states) {
  std::vector<T> m = states[1], v = states[2];
  move(numbers, gradient, m, v);
  return quotient(numbers, states[0], m, v);
}

template <typename T>
void apply(const UpdateNumbers &numbers, const std::vector<T> &gradient,
           std::vector<std::vector<T>> &states) {
  move(numbers, gradient, states[1], states[2]);
  std::vector<T> direction = quotient(numbers, states[0], states[1], states[2]);
  T rate = static_cast<T>(numbers.learningRate);
  bool isScaled = numbers.paramNorm != 0 && numbers.directionNorm != 0;
  T ratio = isScaled ? static_cast<T>(numbers.paramNorm / numbers.directionNorm)
                     : T(1);
  for (size_t i = 0; i < gradient.size(); ++i)
    states[0][i] = states[0][i] - rate * (ratio * direction[i]);
}

ValueBound bound(const UpdateNumbers &numbers, StateBounds &bounds) {
  double rate = numbers.learningRate, decay = numbers.constant<double>(3);
  const ValueBound weight = bounds.states[0];
  ValueBound direction = boundMoments(numbers, bounds);
  direction.largest += decay * weight.largest;
  direction.error += decay * weight.error + 2 * bounds.unit * direction.largest;
  ValueBound scaled = boundScaled(numbers, bounds, direction, 1);
  return {rate * scaled.largest, rate * scaled.error};
}

} // namespace

ValueBound boundScaled(const UpdateNumbers &numbers, const StateBounds &bounds,
                       const ValueBound &direction, double coefficient) {
  if (numbers.paramNorm == 0 || numbers.directionNorm == 0)
    return direction;
  // Norms of errors are at most those of the largest error everywhere.
  double root = std::sqrt(bounds.count);
  double ratio = coefficient * numbers.paramNorm / numbers.directionNorm;
  double relative = root * bounds.states[0].error / numbers.paramNorm +
                    root * direction.error / numbers.directionNorm +
                    8 * bounds.unit;
  return {ratio * direction.largest,
          ratio * (direction.error + relative * direction.largest)};
}

extern const UpdateCheck kLambCheck;
const UpdateCheck kLambCheck{UpdateRule::Lamb, apply<float>,
                             apply<double>,    bound,
                             direct<float>,    direct<double>};

} // namespace bagua::replay
