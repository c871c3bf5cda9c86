//===- GraphOracle.h - A step, run on every rank --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprets a step at graph level with what each rank really stores: no facts,
// no logical tensors, no code shared with the compiler but the IR's accessors.
// Arithmetic is exact (Field.h); what is not linear (adam, compute) is a fixed
// random-looking function of all it reads; codecs lose nothing.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_GRAPHORACLE_H
#define BAGUA_UNITTESTS_PROOFS_GRAPHORACLE_H

#include "Field.h"

#include "bagua/Dialect/Bagua/Bagua.h"

#include <vector>

namespace bagua::proofs {

/// What one rank stores of a value: nothing (`root` elsewhere), its elements,
/// or several terms of an encoded value.
using Stored = std::vector<std::vector<Number>>;
/// The same on all workers. What servers store is kept with each worker that
/// reaches it.
using OnRanks = std::vector<Stored>;

/// The next states in the order of the yield.
struct GraphOutcome {
  std::vector<OnRanks> states;
  /// Whether every collective found its members' values where it needs them.
  bool isDefined = true;

  friend bool operator==(const GraphOutcome &a, const GraphOutcome &b) {
    return a.states == b.states;
  }
};

/// Makes each compute op a function of its own, also beside others of its name
/// and operands. Clones keep theirs; without, equal names are equal functions.
void tagCompute(StepOp step);

/// Runs a step once. Equal seeds give equal inputs: random, different wherever
/// the arguments' roles and `varies` let ranks differ.
GraphOutcome runStep(StepOp step, uint64_t seed);

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_GRAPHORACLE_H
