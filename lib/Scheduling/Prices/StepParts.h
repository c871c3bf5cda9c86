//===- StepParts.h - What an op is to a step's schedule -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classifies ops by data flow alone.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_SCHEDULING_PRICES_STEPPARTS_H
#define BAGUA_LIB_SCHEDULING_PRICES_STEPPARTS_H

#include "bagua/Scheduling/Prices/OpGraph.h"

namespace bagua {

enum class StepPart : uint8_t {
  /// Forward and backward compute.
  Main,
  /// Communication that main compute waits for.
  Activation,
  /// The runtime's work beside main compute.
  Comm,
  /// The ops that follow the communication: updates, outputs.
  Late,
};

/// The part of each op. O(ops + operands).
std::vector<StepPart> classifyOps(const OpGraph &step);

} // namespace bagua

#endif // BAGUA_LIB_SCHEDULING_PRICES_STEPPARTS_H
