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

  template <typename T> T constant(size_t i) const {
    return static_cast<T>(constants[i]);
  }
};

/// New states from a gradient, in place.
template <typename T>
using ApplyUpdate = void (*)(const UpdateNumbers &numbers,
                             const std::vector<T> &gradient,
                             std::vector<std::vector<T>> &states);

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
};

struct UpdateCheck {
  UpdateRule rule;
  ApplyUpdate<float> applyFloat;
  ApplyUpdate<double> applyDouble;
  /// Carries on the bounds of the states but the param's change, which it
  /// returns: first-order bounds from the largest values.
  ValueBound (*bound)(const UpdateNumbers &numbers, StateBounds &bounds);
};

/// The check of a rule of which a contract may speak; each has one.
const UpdateCheck &updateCheckOf(UpdateRule rule);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_UPDATES_UPDATECHECK_H
