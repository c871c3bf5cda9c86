//===- Checker.h - Checks a rank's numbers against the contract -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A check uses only the plan's contract and, for what rounding explains
// (Tolerance.h), the plan's roundings. It ignores what the instructions do,
// since they are what is checked. Each rank fills what it gives and looks at
// what it takes back. If the contract says that the ranks of a group get the
// same values, the group's first rank compares with the contract, and the
// digests of the others are compared with its digest.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_CHECKER_H
#define BAGUA_LIB_REPLAY_CHECKER_H

#include "CheckValues.h"
#include "Plan/PhaseTable.h"
#include "Tolerance.h"
#include "UpdatedStates.h"

#include "bagua/Replay/CheckResult.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/Parts.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bagua::replay {

using runtime::Plan;

/// The findings of one rank, to be compared with those of others.
struct RankFindings {
  int64_t rank = 0;
  CheckResult found;
  /// By tensor: the number of steps that were checked or, for a state, of
  /// values behind a change.
  std::vector<int64_t> checkedSteps;
  /// By tensor and step: the digest that others of the group must have, too.
  std::map<std::pair<uint32_t, int64_t>, uint64_t> digests;
  /// By tensor that can't be checked: the number of iterations after which that
  /// is so, and why.
  std::map<uint32_t, std::pair<int64_t, std::string>> unchecked;
};

/// The checks of one rank.
class RankChecker {
public:
  RankChecker(const Plan &plan, int64_t rank);

  /// Fills a tensor that the program is about to give in `step`. Returns false
  /// if the program leaves the tensor out.
  bool fill(uint32_t tensor, int64_t step, std::byte *data);
  /// Checks a tensor that the program has just taken back.
  void check(uint32_t tensor, const std::byte *data);

  /// Whether the program takes the tensor back in an iteration.
  bool isTakenBack(uint32_t tensor, int64_t step) const {
    return contractOf(step).isWaitedFor[tensor];
  }
  /// Whether the contract of an iteration says how updates use this gradient.
  bool hasUpdate(uint32_t tensor, int64_t step) const {
    return !contractOf(step).updatesOf[tensor].empty();
  }

  /// The states that the runtime changes and of which this rank has a part.
  std::vector<uint32_t> changedStates() const;
  /// Fills a state before the first step.
  void fillState(uint32_t tensor, std::byte *data);
  /// Checks a state that `updates` iterations have updated. `isInNext` says
  /// that the next one has begun, and so the steps that run before it.
  void checkState(uint32_t tensor, int64_t updates, bool isInNext,
                  const std::byte *data);

  const RankFindings &findings() const { return own; }

private:
  friend CheckResult mergeChecks(const Plan &plan,
                                 const std::vector<RankFindings> &ranks,
                                 int64_t steps);

  /// The promises of one of the plan's steps.
  struct StepContract {
    StepContract(const Plan &plan, const runtime::fb::Step &promised);

    /// Whether nobody takes the tensor back: it is a gradient or another result
    /// of the program, or a signal that instructions wait for but never touch,
    /// and the step has program ops, none of which waits for it.
    bool isLeftAlone(const Plan &plan, uint32_t tensor) const;
    /// Whether only updates use the result of a relation, so that nobody need
    /// take it back.
    bool isLeftToUpdates(const runtime::fb::Relation &relation) const;
    static bool isOfStates(const Plan &plan,
                           const runtime::fb::Relation &relation);
    /// Whether instructions make a new value of a state, or of a result that
    /// the program passes on, and the contract does not say which.
    bool isUnpromised(const Plan &plan, uint32_t tensor) const;
    /// The tensors that come back in each iteration, but for changed states.
    std::set<uint32_t> findReturned(const Plan &plan) const;

    const runtime::fb::Step &step;
    Tolerances tolerances;
    /// By tensor: its relation; null if it has none.
    std::vector<const runtime::fb::Relation *> relationOf;
    /// By tensor: the relations of updates that read it.
    std::vector<std::vector<const runtime::fb::Relation *>> updatesOf;
    std::vector<bool> isWaitedFor;
    std::vector<bool> isMade;
  };

  const StepContract &contractOf(int64_t step) const {
    return contracts[runtime::stepOf(plan.root(), step)];
  }
  StepContract &contractOf(int64_t step) {
    return contracts[runtime::stepOf(plan.root(), step)];
  }
  const runtime::fb::Relation *findRelation(uint32_t tensor) const;
  std::vector<StateEvent> findEvents(const StateFamily &family, int64_t updates,
                                     bool isInNext);
  template <typename Visit>
  void forEachRun(int64_t updates, bool isInNext, Visit visit);
  bool isPromised(uint32_t tensor, const StateFamily &family, int64_t updates,
                  bool isInNext);
  void leaveUnchecked(uint32_t tensor, int64_t iteration,
                      const std::string &why);
  bool isBroadcastFirst(uint32_t tensor) const;
  void checkRelation(const runtime::fb::Relation &relation, int64_t step,
                     const std::byte *data);
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
  /// By the plan's step.
  std::vector<StepContract> contracts;
  RankFindings own;
  /// By tensor: the last step for which it was filled; -1 before.
  std::vector<int64_t> filled;
  /// By tensor: the last step that was checked.
  std::vector<int64_t> lastChecked;
};

/// Compares the ranks with each other, and reports tensors that were not
/// checked in each of `steps` steps.
CheckResult mergeChecks(const Plan &plan,
                        const std::vector<RankFindings> &ranks, int64_t steps);

/// The number of elements of a tensor that a rank stores.
int64_t localElements(const Plan &plan, uint32_t tensor, int64_t rank);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_CHECKER_H
