//===- Tolerance.h - How far rounding may lead from the contract ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An all_reduce over one group is exact to the bit (docs/Semantics.md,
// "Collectives"). A hierarchy adds the same numbers in another order, and
// narrower elements on the wire round them, and encodings lose what their rows
// say, so the result is the same up to that. This error is bounded here by the
// group, the levels, the element types and the encodings.
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

/// The differences that the roundings of a plan's step explain. They depend
/// only on the groups and element types of its instructions: a gradient that is
/// lost, added twice or exchanged is off by far more.
class Tolerances {
public:
  Tolerances(const runtime::Plan &loaded, const runtime::fb::Step &checked)
      : plan(loaded), step(checked) {}

  /// The largest difference allowed between an element and the relation's
  /// value, for values of magnitude up to kLargestValue; 0 if every bit must
  /// agree. For an update this is the difference of its gradient.
  double of(const runtime::fb::Relation &relation);

private:
  /// Found in the instructions whose groups include some of the axes.
  struct Roundings {
    /// The largest roundoff of a cast whose result is sent, maybe in pieces or
    /// together with others; 0 if there is none.
    double narrowest = 0;
    /// The difference that all encodings on the way of one value make together,
    /// relative to the largest magnitude.
    double encoded = 0;
    /// Whether sums of partial sums occur.
    bool isReassociated = false;
  };

  /// The loss of each value on its way. An encoded value has the losses of all
  /// encodings before it, and of its own.
  std::vector<double> findLosses() const;
  const Roundings &over(const std::vector<int64_t> &axes);
  Roundings find(const std::vector<int64_t> &axes) const;

  const runtime::Plan &plan;
  const runtime::fb::Step &step;
  std::map<std::vector<int64_t>, Roundings> known;
};

/// Half a unit in the last place of 1; 0 for integers, which don't round.
double roundoffOf(DataType type);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_TOLERANCE_H
