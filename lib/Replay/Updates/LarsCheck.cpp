//===- LarsCheck.cpp - What a check knows of LARS -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// You et al., 2017, with the norm of the decayed gradient; the momentum is of
// directions or of steps.
//
//===----------------------------------------------------------------------===//
#include "Updates/UpdateCheck.h"

namespace bagua::replay {
namespace {

template <typename T>
std::vector<T> direct(const UpdateNumbers &numbers,
                      const std::vector<T> &gradient,
                      const std::vector<std::vector<T>> &states) {
  T decay = numbers.constant<T>(1);
  std::vector<T> direction(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i)
    direction[i] = gradient[i] + decay * states[0][i];
  return direction;
}

template <typename T, bool kIsTrace>
void apply(const UpdateNumbers &numbers, const std::vector<T> &gradient,
           std::vector<std::vector<T>> &states) {
  std::vector<T> direction = direct(numbers, gradient, states);
  T mu = numbers.constant<T>(0);
  T rate = static_cast<T>(numbers.learningRate);
  T ratio = 1;
  if (numbers.paramNorm != 0 && numbers.directionNorm != 0)
    ratio =
        static_cast<T>(numbers.constant<double>(2) * numbers.paramNorm /
                       (numbers.directionNorm + numbers.constant<double>(3)));
  std::vector<T> &w = states[0], &m = states[1];
  for (size_t i = 0; i < gradient.size(); ++i) {
    T step = ratio * direction[i];
    if (kIsTrace) {
      m[i] = mu * m[i] - rate * step;
      w[i] = w[i] + m[i];
    } else {
      m[i] = mu * m[i] + step;
      w[i] = w[i] - rate * m[i];
    }
  }
}

/// The change of the param is the momentum, times `applied`; the momentum takes
/// up steps times `collected`.
ValueBound boundMomentum(const UpdateNumbers &numbers, StateBounds &bounds,
                         double collected, double applied) {
  double mu = numbers.constant<double>(0), decay = numbers.constant<double>(1),
         unit = bounds.unit;
  const ValueBound &weight = bounds.states[0], &gradient = bounds.gradient;
  ValueBound direction{gradient.largest + decay * weight.largest,
                       gradient.error + decay * weight.error};
  direction.error += 2 * unit * direction.largest;
  ValueBound scaled =
      boundScaled(numbers, bounds, direction, numbers.constant<double>(2));
  ValueBound &moment = bounds.states[1];
  moment.largest = mu * moment.largest + collected * scaled.largest;
  moment.error =
      mu * moment.error + collected * scaled.error + 3 * unit * moment.largest;
  return {applied * moment.largest, applied * moment.error};
}

ValueBound boundLars(const UpdateNumbers &numbers, StateBounds &bounds) {
  return boundMomentum(numbers, bounds, 1, numbers.learningRate);
}

ValueBound boundTrace(const UpdateNumbers &numbers, StateBounds &bounds) {
  return boundMomentum(numbers, bounds, numbers.learningRate, 1);
}

} // namespace

extern const UpdateCheck kLarsCheck;
const UpdateCheck kLarsCheck{UpdateRule::Lars,     apply<float, false>,
                             apply<double, false>, boundLars,
                             direct<float>,        direct<double>};
extern const UpdateCheck kLarsTraceCheck;
const UpdateCheck kLarsTraceCheck{UpdateRule::LarsTrace, apply<float, true>,
                                  apply<double, true>,   boundTrace,
                                  direct<float>,         direct<double>};

} // namespace bagua::replay
