//===- Tolerance.h - How far rounding may lead from the contract ----------===//
//
// One all_reduce over one group is exact to the bit (docs/Semantics.md,
// "Collectives"). A hierarchy adds the same numbers in another order, and
// narrower elements on the wire round them: the same value up to rounding,
// which is bounded here by the group, the levels and the element types.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_TOLERANCE_H
#define BAGUA_LIB_REPLAY_TOLERANCE_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/DataType.h"

namespace bagua::replay {

/// The largest difference between an element and what the relation says that
/// the plan's roundings explain, for values of magnitude up to kLargestValue; 0
/// where every bit has to agree. Of the plan's instructions only their groups
/// and element types count: a gradient that is lost, added twice or exchanged
/// is off by far more. Of an update: what holds of its gradient.
double toleranceOf(const runtime::Plan &plan,
                   const runtime::fb::Relation &relation);

/// Half a unit in the last place of 1; 0 for integers, which don't round.
double roundoffOf(DataType type);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_TOLERANCE_H
