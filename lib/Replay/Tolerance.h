//===- Tolerance.h - How far rounding may lead from the contract ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One all_reduce over one group is exact to the bit (docs/Semantics.md,
// "Collectives"). A hierarchy adds the same numbers in another order, narrower
// elements on the wire round them, and encodings lose what their rows say: the
// same value up to that, which is bounded here by the group, the levels, the
// element types and the encodings.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_TOLERANCE_H
#define BAGUA_LIB_REPLAY_TOLERANCE_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/DataType.h"

#include <cstdint>
#include <map>
#include <vector>

namespace bagua::replay {

/// The differences that a plan's roundings explain. Only the groups and element
/// types of its instructions count: a gradient that is lost, added twice or
/// exchanged is off by far more.
class Tolerances {
public:
  explicit Tolerances(const runtime::Plan &loaded) : plan(loaded) {}

  /// The largest difference between an element and what the relation says, for
  /// values of magnitude up to kLargestValue; 0 where every bit has to agree.
  /// For an update it is the difference of its gradient.
  double of(const runtime::fb::Relation &relation);

private:
  /// Found in the instructions whose groups meet some axes.
  struct Roundings {
    /// The largest of a cast whose result is sent, maybe in pieces or with
    /// others; 0 if there is none.
    double narrowest = 0;
    /// Of all encodings on the way of one value: the difference that they make
    /// together, relative to the largest magnitude.
    double encoded = 0;
    /// Whether sums are made of sums.
    bool isReassociated = false;
  };

  /// What is lost of each value on its way: of an encoded one by all
  /// encodings before and by its own.
  std::vector<double> findLosses() const;
  const Roundings &over(const std::vector<int64_t> &axes);
  Roundings find(const std::vector<int64_t> &axes) const;

  const runtime::Plan &plan;
  std::map<std::vector<int64_t>, Roundings> known;
};

/// Half a unit in the last place of 1; 0 for integers, which don't round.
double roundoffOf(DataType type);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_TOLERANCE_H
