//===- Checker.h - Whether a rank gets the numbers that the plan promises -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes by the plan's contract and, but for what rounding explains
// (Tolerance.h), by nothing else of it: what the instructions do is what is
// being checked. Each rank fills what it gives and looks at what it takes back;
// where the contract says that a group's ranks get the same, the first one
// compares with the contract and the others' digests with its.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_CHECKER_H
#define BAGUA_LIB_REPLAY_CHECKER_H

#include "CheckValues.h"
#include "Tolerance.h"

#include "bagua/Replay/CheckResult.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/Parts.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bagua::replay {

using runtime::Plan;

/// What one rank has found, to be held against what others have.
struct RankFindings {
  int64_t rank = 0;
  CheckResult found;
  /// By tensor: how many steps were checked; of states, updates.
  std::vector<int64_t> checkedSteps;
  /// By tensor and step, what others of the group must have too.
  std::map<std::pair<uint32_t, int64_t>, uint64_t> digests;
};

/// One rank's side.
class RankChecker {
public:
  RankChecker(const Plan &plan, int64_t rank);

  /// Fills what the program is about to give in `step`. False: it leaves the
  /// tensor out.
  bool fill(uint32_t tensor, int64_t step, std::byte *data);
  /// Looks at what the program has just taken back.
  void check(uint32_t tensor, const std::byte *data);

  /// Whether the program takes a tensor back at some time.
  bool isTakenBack(uint32_t tensor) const { return isWaitedFor[tensor]; }
  /// Whether the contract says of a gradient what updates make of it.
  bool hasUpdate(uint32_t tensor) const { return !updatesOf[tensor].empty(); }

  /// The states that the runtime updates and this rank has a part of.
  std::vector<uint32_t> updatedStates() const;
  /// Fills one before the first step.
  void fillState(uint32_t tensor, std::byte *data);
  /// Looks at one that `updates` steps have updated.
  void checkState(uint32_t tensor, int64_t updates, const std::byte *data);

  const RankFindings &findings() const { return own; }

private:
  friend CheckResult mergeChecks(const Plan &plan,
                                 const std::vector<RankFindings> &ranks,
                                 int64_t steps);

  /// Whether a tensor is a gradient, or a sign that instructions wait for and
  /// never touch, that no op of the program, where the plan has these, waits
  /// for.
  bool isLeftAlone(uint32_t tensor) const;
  /// Whether only updates use what a relation speaks of: nobody need take it
  /// back.
  bool isLeftToUpdates(const runtime::fb::Relation &relation) const;
  void checkRelation(uint32_t number, int64_t step, const std::byte *data);
  void checkReduced(const runtime::fb::Relation &relation, int64_t step,
                    const std::byte *data);
  void checkMoved(const runtime::fb::Relation &relation, int64_t step,
                  const std::byte *data);
  ElementRange rangeOf(uint32_t tensor) const;
  void checkUnchanged(uint32_t tensor, int64_t step, const std::byte *data);
  template <typename Expect>
  void compare(uint32_t tensor, int64_t step, int64_t count, double tolerance,
               const std::byte *data, Expect expect);

  const Plan &plan;
  const int64_t rank;
  Tolerances tolerances;
  RankFindings own;
  /// By tensor: the step whose values it was filled with last; -1 before.
  std::vector<int64_t> filled;
  /// By tensor: its relation's number; -1 if it has none.
  std::vector<int64_t> relationOf;
  /// By tensor: the relations of updates that read it.
  std::vector<std::vector<uint32_t>> updatesOf;
  std::vector<bool> isWaitedFor;
  /// By tensor: the step that was checked last.
  std::vector<int64_t> lastChecked;
};

/// Compares the ranks with each other, and looks for tensors that were not
/// checked in each of `steps` steps.
CheckResult mergeChecks(const Plan &plan,
                        const std::vector<RankFindings> &ranks, int64_t steps);

/// Elements of a tensor that a rank stores.
int64_t localElements(const Plan &plan, uint32_t tensor, int64_t rank);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_CHECKER_H
