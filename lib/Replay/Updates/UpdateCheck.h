//===- UpdateCheck.h - What a check knows of one optimizer ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of docs/Semantics.md, written independently of the runtime's
// kernels, and how far rounding may lead from it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_UPDATES_UPDATECHECK_H
#define BAGUA_LIB_REPLAY_UPDATES_UPDATECHECK_H

#include "bagua/Support/UpdateRules.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bagua::replay {

/// The numbers of one update.
struct UpdateNumbers {
  std::vector<float> constants;
  BiasCorrection correction = BiasCorrection::None;
  double learningRate = 0;
  /// From 1.
  int64_t number = 1;
  /// The norms of the whole param and direction, if the rule needs them.
  double paramNorm = 0;
  double directionNorm = 0;

  template <typename T> T constant(size_t i) const {
    return static_cast<T>(constants[i]);
  }
};

/// 1 - beta^t, in float64.
inline double restOf(double beta, const UpdateNumbers &numbers) {
  return 1 - std::pow(beta, static_cast<double>(numbers.number));
}

/// New states from a gradient, in place.
template <typename T>
using ApplyUpdate = void (*)(const UpdateNumbers &numbers,
                             const std::vector<T> &gradient,
                             std::vector<std::vector<T>> &states);

/// The direction that an update scales by norms.
template <typename T>
using FindDirection = std::vector<T> (*)(
    const UpdateNumbers &numbers, const std::vector<T> &gradient,
    const std::vector<std::vector<T>> &states);

/// The largest value that occurs, and how far any may be off.
struct ValueBound {
  double largest = 0;
  double error = 0;
};

/// Bounds that each update carries on.
struct StateBounds {
  /// Half a unit in the last place of 1.
  double unit = 0;
  ValueBound gradient;
  /// By state, the param first.
  std::vector<ValueBound> states;
  /// The least second moment.
  double smallest = 0;
  /// Elements of the whole tensor.
  double count = 0;
};

/// Carries on the bounds of Adam's moments, which are states 1 and 2 with betas
/// as the first constants. Returns that of their quotient.
ValueBound boundMoments(const UpdateNumbers &numbers, StateBounds &bounds);

/// The bound of a direction that is scaled by `coefficient` times the ratio of
/// the norms.
ValueBound boundScaled(const UpdateNumbers &numbers, const StateBounds &bounds,
                       const ValueBound &direction, double coefficient);

struct UpdateCheck {
  UpdateRule rule;
  ApplyUpdate<float> applyFloat;
  ApplyUpdate<double> applyDouble;
  /// Carries on the bounds of the states but the param's change, which it
  /// returns: first-order bounds from the largest values.
  ValueBound (*bound)(const UpdateNumbers &numbers, StateBounds &bounds);
  /// Null for rules that need no norms.
  FindDirection<float> directFloat = nullptr;
  FindDirection<double> directDouble = nullptr;
};

/// The check of a rule of which a contract may speak; each has one.
const UpdateCheck &updateCheckOf(UpdateRule rule);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_UPDATES_UPDATECHECK_H
