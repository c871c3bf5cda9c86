//===- Checker.cpp - Checks numbers against a plan's contract -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values are computed piece by piece and never stored.
//
//===----------------------------------------------------------------------===//
#include "Checker.h"

#include "Gifts.h"
#include "Movement.h"
#include "Plan/MadeTensors.h"
#include "Plan/Roles.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace bagua::replay {
namespace {

namespace fb = runtime::fb;

constexpr int64_t kPiece = 16384;
constexpr size_t kMaxFailures = 8;

const fb::Tensor &tensorAt(const Plan &plan, uint32_t tensor) {
  return *plan.root().tensors()->Get(tensor);
}

DataType typeOf(const fb::Tensor &tensor) {
  return static_cast<DataType>(tensor.type());
}

std::vector<int64_t> axesOf(const fb::Relation &relation) {
  std::vector<int64_t> axes;
  if (relation.axes())
    axes.assign(relation.axes()->begin(), relation.axes()->end());
  return axes;
}

bool isUpdated(const fb::Relation &relation) {
  return relation.relation() == fb::RelationKind::Updated;
}

/// Whether the relation is of a state that steps change.
bool changesState(const fb::Relation &relation) {
  return isUpdated(relation) ||
         relation.relation() == fb::RelationKind::Scaled ||
         relation.relation() == fb::RelationKind::Broadcast;
}

/// Whether a relation moves elements between members and places.
bool isMoved(const fb::Relation &relation) {
  return relation.relation() != fb::RelationKind::Reduced &&
         !isUpdated(relation);
}

/// Whether all ranks of a group hold equal bits of a tensor of the relation.
/// Such a tensor is stored whole.
bool isEqualInGroup(const Plan &plan, const fb::Relation &relation,
                    uint32_t tensor) {
  auto *layout = tensorAt(plan, tensor).layout();
  bool isSame =
      !isMoved(relation) || relation.relation() == fb::RelationKind::Gathered;
  return isSame && (!layout || layout->size() == 0);
}

/// Whether ranks still have equal values of a family's states after some
/// events. The states begin with the same values on all ranks, or are broadcast
/// first.
struct RankAgreement {
  /// By axis of the cluster: whether the ranks along it have equal values.
  std::vector<bool> axes;
  /// The iteration of the first broadcast along an axis where they have not.
  std::optional<int64_t> broadcast;

  bool isAlong(const std::vector<int64_t> &listed) const {
    return std::all_of(listed.begin(), listed.end(),
                       [&](int64_t axis) { return axes[axis]; });
  }
};

RankAgreement findAgreement(const Plan &plan,
                            const std::vector<StateEvent> &events) {
  RankAgreement found;
  found.axes.assign(plan.topology().axisCount(), true);
  for (const StateEvent &event : events) {
    const std::vector<int64_t> over = axesOf(*event.relation);
    if (isUpdated(*event.relation))
      for (size_t axis = 0; axis < found.axes.size(); ++axis)
        found.axes[axis] =
            found.axes[axis] &&
            std::find(over.begin(), over.end(), axis) != over.end();
    if (event.relation->relation() == fb::RelationKind::Broadcast &&
        !found.broadcast && !found.isAlong(over))
      found.broadcast = event.iteration;
  }
  return found;
}

std::string whyUnpromised(const Plan &plan, const fb::Step &step,
                          uint32_t changed) {
  return absl::StrCat("step '", step.name()->str(), "' changes '",
                      tensorAt(plan, changed).name()->str(),
                      "', and its contract does not say how");
}

} // namespace

/// The prime of FNV-1a.
constexpr uint64_t kDigestPrime = 0x100000001b3;

void CheckResult::fail(double error, const std::string &what) {
  passed = false;
  maxError = std::max(maxError, error);
  if (failures.size() < kMaxFailures)
    failures.push_back(what);
}

int64_t localElements(const Plan &plan, uint32_t number, int64_t rank) {
  return runtime::localCount(tensorAt(plan, number), plan.cluster(), rank);
}

RankChecker::StepContract::StepContract(const Plan &plan,
                                        const fb::Step &promised)
    : step(promised), tolerances(plan, promised),
      relationOf(plan.root().tensors()->size(), nullptr),
      updatesOf(relationOf.size()), isWaitedFor(relationOf.size(), false),
      isMade(runtime::findMade(plan, promised)) {
  for (const fb::Relation *relation : *step.contract()) {
    relationOf[relation->tensor()] = relation;
    if (!isUpdated(*relation))
      continue;
    updatesOf[relation->of()].push_back(relation);
    for (uint32_t state : *relation->update()->states())
      relationOf[state] = relation;
  }
  if (step.program())
    for (const fb::ProgramOp *op : *step.program())
      if (op->waits())
        for (uint32_t tensor : *op->waits())
          isWaitedFor[tensor] = true;
}

bool RankChecker::StepContract::isLeftAlone(const Plan &plan,
                                            uint32_t tensor) const {
  const fb::Role role = tensorAt(plan, tensor).role();
  return (role == fb::Role::Gradient || role == fb::Role::Value ||
          !runtime::isUsedIn(step, tensor)) &&
         step.program() && step.program()->size() > 0 && !isWaitedFor[tensor];
}

bool RankChecker::StepContract::isUnpromised(const Plan &plan,
                                             uint32_t tensor) const {
  const fb::Role role = tensorAt(plan, tensor).role();
  return isMade[tensor] && !relationOf[tensor] &&
         (runtime::isState(role) || role == fb::Role::Value);
}

/// The relation of an update checks more than this one.
bool RankChecker::StepContract::isLeftToUpdates(
    const fb::Relation &relation) const {
  if (isWaitedFor[relation.tensor()])
    return false;
  auto &updates = updatesOf[relation.of()];
  return std::any_of(updates.begin(), updates.end(),
                     [&](const fb::Relation *update) {
                       return update->reduce() == relation.reduce() &&
                              axesOf(*update) == axesOf(relation);
                     });
}

/// Whether a relation makes its tensor of a state, such as a neighbour's param.
/// The program gives none, so what it is can't be told.
bool RankChecker::StepContract::isOfStates(const Plan &plan,
                                           const fb::Relation &relation) {
  return !changesState(relation) &&
         runtime::isState(tensorAt(plan, relation.of()).role());
}

/// The tensors that the contract names, and those that the program gives
/// without any relation. A tensor that a relation only reads need not come
/// back, since its result is checked.
std::set<uint32_t>
RankChecker::StepContract::findReturned(const Plan &plan) const {
  std::set<uint32_t> returned, read;
  for (const fb::Relation *relation : *step.contract()) {
    if (!changesState(*relation) && !isOfStates(plan, *relation) &&
        !isLeftToUpdates(*relation))
      returned.insert(relation->tensor());
    read.insert(relation->of());
  }
  for (uint32_t i = 0; i < relationOf.size(); ++i)
    if (tensorAt(plan, i).given_by_program() && !read.count(i) &&
        !isLeftAlone(plan, i) && !isUnpromised(plan, i))
      returned.insert(i);
  return returned;
}

RankChecker::RankChecker(const Plan &loaded, int64_t ownRank)
    : plan(loaded), rank(ownRank), filled(loaded.root().tensors()->size(), -1),
      lastChecked(filled.size(), -1) {
  own.rank = rank;
  own.checkedSteps.resize(filled.size());
  for (const fb::Step *step : *plan.root().steps()) {
    contracts.emplace_back(plan, *step);
    for (const fb::Relation *relation : *step->contract())
      if (StepContract::isOfStates(plan, *relation))
        leaveUnchecked(
            relation->tensor(), 0,
            absl::StrCat("it is made of state '",
                         tensorAt(plan, relation->of()).name()->str(), "'"));
  }
  for (uint32_t i = 0; i < filled.size(); ++i)
    for (const StepContract &contract : contracts)
      if (runtime::isState(tensorAt(plan, i).role()) && !findRelation(i) &&
          contract.isUnpromised(plan, i))
        leaveUnchecked(i, 0, whyUnpromised(plan, contract.step, i));
}

ElementRange RankChecker::rangeOf(uint32_t number) const {
  const fb::Tensor &tensor = tensorAt(plan, number);
  return runtime::workerRange(runtime::elementsOf(tensor),
                              runtime::readLayout(tensor.layout()),
                              plan.cluster(), rank);
}

bool RankChecker::fill(uint32_t tensor, int64_t step, std::byte *data) {
  filled[tensor] = step;
  if (isAbsent(plan, tensor, rank, step))
    return false;
  generateValues(typeOf(tensorAt(plan, tensor)),
                 giftKey(plan, tensor, rank, step), 0,
                 localElements(plan, tensor, rank), data);
  return true;
}

/// The tensor's relation in the first step that has one: in a step that updates
/// it, else in one that runs in iterations, else in any. Null if none has.
const fb::Relation *RankChecker::findRelation(uint32_t tensor) const {
  const fb::Relation *inIterations = nullptr, *any = nullptr;
  for (const StepContract &contract : contracts) {
    const fb::Relation *relation = contract.relationOf[tensor];
    if (!relation)
      continue;
    if (isUpdated(*relation))
      return relation;
    if (!any)
      any = relation;
    const auto step = static_cast<uint32_t>(&contract - contracts.data());
    if (!inIterations && runtime::runsInIterations(plan.root(), step))
      inIterations = relation;
  }
  return inIterations ? inIterations : any;
}

void RankChecker::check(uint32_t tensor, const std::byte *data) {
  const fb::Relation *any = findRelation(tensor);
  int64_t step = filled[any ? any->of() : tensor];
  if (step <= lastChecked[tensor])
    return; // the program looks at it again
  lastChecked[tensor] = step;
  ++own.checkedSteps[tensor];
  if (const fb::Relation *relation = contractOf(step).relationOf[tensor])
    checkRelation(*relation, step, data);
  else if (contractOf(step).isUnpromised(plan, tensor))
    leaveUnchecked(tensor, step,
                   whyUnpromised(plan, contractOf(step).step, tensor));
  else
    checkUnchanged(tensor, step, data);
}

void RankChecker::leaveUnchecked(uint32_t tensor, int64_t iteration,
                                 const std::string &why) {
  own.unchecked.try_emplace(tensor, iteration, why);
}

std::vector<uint32_t> RankChecker::changedStates() const {
  std::set<uint32_t> states;
  if (!plan.cluster().isWorker(rank))
    return {};
  for (const StepContract &contract : contracts)
    for (const fb::Relation *relation : *contract.step.contract())
      if (isUpdated(*relation))
        states.insert(relation->update()->states()->begin(),
                      relation->update()->states()->end());
      else if (changesState(*relation))
        states.insert(relation->tensor());
  return {states.begin(), states.end()};
}

/// Whether a state comes from the first rank before anything else happens.
bool RankChecker::isBroadcastFirst(uint32_t tensor) const {
  for (uint32_t number : runtime::stepsBefore(plan.root(), 0))
    if (const fb::Relation *relation = contracts[number].relationOf[tensor])
      return relation->relation() == fb::RelationKind::Broadcast &&
             static_cast<int64_t>(axesOf(*relation).size()) ==
                 plan.topology().axisCount();
  return false;
}

void RankChecker::fillState(uint32_t tensor, std::byte *data) {
  const StateFamily family(plan, tensor);
  ElementRange range = rangeOf(tensor);
  generateState(plan, family, family.placeOf(tensor), range.begin, range.size(),
                data);
  // Other values than the first rank's, so that a broadcast shows.
  if (rank > 0 && isBroadcastFirst(tensor))
    generateValues(typeOf(tensorAt(plan, tensor)),
                   valueKey(tensorAt(plan, tensor).name()->str(), rank, -1),
                   range.begin, range.size(), data);
}

/// Calls `visit(contract, iteration)` for each step that has run in or before
/// the first `updates` iterations and, if `isInNext`, before the next one.
template <typename Visit>
void RankChecker::forEachRun(int64_t updates, bool isInNext, Visit visit) {
  for (int64_t i = 0; i < updates + isInNext; ++i) {
    for (uint32_t number : runtime::stepsBefore(plan.root(), i))
      visit(contracts[number], i);
    if (i < updates)
      visit(contractOf(i), i);
  }
}

std::vector<StateEvent> RankChecker::findEvents(const StateFamily &family,
                                                int64_t updates,
                                                bool isInNext) {
  std::vector<StateEvent> events;
  forEachRun(updates, isInNext, [&](StepContract &contract, int64_t iteration) {
    for (const fb::Relation *relation : *contract.step.contract())
      if (changesState(*relation) &&
          family.placeOf(relation->tensor()) < family.size())
        events.push_back(
            {relation, iteration, contract.tolerances.of(*relation)});
  });
  return events;
}

/// Whether no step that has run has changed a state of the family without a
/// promise. If one has, `tensor` is left unchecked from then on.
bool RankChecker::isPromised(uint32_t tensor, const StateFamily &family,
                             int64_t updates, bool isInNext) {
  bool isKept = true;
  forEachRun(updates, isInNext, [&](StepContract &contract, int64_t iteration) {
    for (size_t i = 0; i < family.size(); ++i)
      if (contract.isUnpromised(plan, family.tensor(i))) {
        leaveUnchecked(tensor, iteration,
                       whyUnpromised(plan, contract.step, family.tensor(i)));
        isKept = false;
      }
  });
  return isKept;
}

void RankChecker::checkState(uint32_t tensor, int64_t updates, bool isInNext,
                             const std::byte *data) {
  if (updates <= lastChecked[tensor])
    return; // the program looks at it again
  lastChecked[tensor] = updates;
  const fb::Relation &relation = *findRelation(tensor);
  const StateFamily family(plan, tensor);
  if (!isPromised(tensor, family, updates, isInNext))
    return;
  const std::vector<StateEvent> events = findEvents(family, updates, isInNext);
  const RankAgreement agreement = findAgreement(plan, events);
  if (agreement.broadcast)
    return leaveUnchecked(tensor, *agreement.broadcast,
                          "a broadcast takes one rank's values, and the ranks' "
                          "differ");
  ElementRange range = rangeOf(tensor);
  if (isEqualInGroup(plan, relation, tensor) &&
      agreement.isAlong(axesOf(relation))) {
    own.digests[{tensor, updates}] = digest(
        data, range.size() * dataTypeBytes(typeOf(tensorAt(plan, tensor))));
    if (plan.topology().positionInGroup(rank, axesOf(relation)) != 0)
      return;
  }
  size_t state = family.placeOf(tensor);
  const std::vector<UpdateNorms> norms =
      expectNorms(plan, family, events, rank);
  double tolerance = updatedTolerance(plan, family, events, norms, state);
  const std::string why = "rounding may explain any value";
  if (!std::isfinite(tolerance)) {
    if (events.size() > 1)
      return leaveUnchecked(tensor, updates, why);
    return own.found.fail(
        0, absl::StrFormat("state '%s' on rank %d: rounding explains any value "
                           "of it, so it can't be checked",
                           tensorAt(plan, tensor).name()->str(), rank));
  }
  if (!events.empty())
    ++own.checkedSteps[tensor];
  const DataType type = typeOf(tensorAt(plan, tensor));
  std::vector<std::byte> first(tolerance > 0 ? kPiece * dataTypeBytes(type)
                                             : 0);
  Comparison movement;
  compare(tensor, updates, range.size(), tolerance, data,
          [&](int64_t begin, int64_t count, std::byte *output) {
            expectUpdated(plan, family, events, norms, rank, state,
                          range.begin + begin, count, output);
            if (first.empty())
              return;
            generateState(plan, family, state, range.begin + begin, count,
                          first.data());
            compareValues(type, first.data(), output, begin, count, movement);
          });
  // Where its first values would do as well, a comparison says little.
  if (events.size() > 1 && tolerance > 0 && tolerance >= movement.maxError)
    leaveUnchecked(tensor, updates, why);
}

/// Compares `data` with expected elements, which `expect(begin, count, output)`
/// writes.
template <typename Expect>
void RankChecker::compare(uint32_t number, int64_t step, int64_t count,
                          double tolerance, const std::byte *data,
                          Expect expect) {
  const fb::Tensor &tensor = tensorAt(plan, number);
  DataType type = typeOf(tensor);
  int64_t bytes = dataTypeBytes(type);
  std::vector<std::byte> expected(kPiece * bytes);
  std::string example;
  Comparison result;
  result.tolerance = tolerance;
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    int64_t size = std::min(kPiece, count - begin);
    expect(begin, size, expected.data());
    compareValues(type, expected.data(), data + begin * bytes, begin, size,
                  result);
    if (result.firstDifference >= begin && example.empty()) {
      int64_t at = result.firstDifference;
      example = absl::StrFormat(
          "tensor '%s' on rank %d in step %d: element %d is %.9g, the contract "
          "says %.9g",
          tensor.name()->str(), rank, step, at, valueAt(type, data, at),
          valueAt(type, expected.data(), at - begin));
    }
  }
  own.found.tolerance = std::max(own.found.tolerance, tolerance);
  own.found.maxError = std::max(own.found.maxError, result.maxError);
  if (result.firstDifference >= 0)
    own.found.fail(result.maxError, example);
}

void RankChecker::checkUnchanged(uint32_t tensor, int64_t step,
                                 const std::byte *data) {
  compare(tensor, step, localElements(plan, tensor, rank), 0, data,
          [&](int64_t begin, int64_t count, std::byte *output) {
            generateValues(typeOf(tensorAt(plan, tensor)),
                           giftKey(plan, tensor, rank, step), begin, count,
                           output);
          });
}

void RankChecker::checkRelation(const fb::Relation &relation, int64_t step,
                                const std::byte *data) {
  bool isEqual = isEqualInGroup(plan, relation, relation.tensor());
  if (isEqual)
    own.digests[{relation.tensor(), step}] = digest(
        data, localElements(plan, relation.tensor(), rank) *
                  dataTypeBytes(typeOf(tensorAt(plan, relation.tensor()))));
  if (isMoved(relation))
    checkMoved(relation, step, data);
  else if (!isEqual ||
           plan.topology().positionInGroup(rank, axesOf(relation)) == 0)
    checkReduced(relation, step, data);
}

void RankChecker::checkReduced(const fb::Relation &relation, int64_t step,
                               const std::byte *data) {
  const fb::Tensor &tensor = tensorAt(plan, relation.tensor());
  std::vector<int64_t> group = plan.topology().groupOf(rank, axesOf(relation));
  std::vector<uint64_t> keys;
  keys.reserve(group.size());
  for (int64_t member : group)
    keys.push_back(giftKey(plan, relation.of(), member, step));
  ElementRange range = rangeOf(relation.tensor());
  compare(relation.tensor(), step, range.size(),
          contractOf(step).tolerances.of(relation), data,
          [&](int64_t begin, int64_t count, std::byte *output) {
            expectReduced(typeOf(tensor),
                          static_cast<ReduceKind>(relation.reduce()), keys,
                          range.begin + begin, count, output);
          });
}

void RankChecker::checkMoved(const fb::Relation &relation, int64_t step,
                             const std::byte *data) {
  std::vector<int64_t> group = plan.topology().groupOf(rank, axesOf(relation));
  std::vector<uint64_t> keys;
  keys.reserve(group.size());
  for (int64_t member : group)
    keys.push_back(giftKey(plan, relation.of(), member, step));
  Movement movement(plan, relation,
                    plan.topology().positionInGroup(rank, axesOf(relation)),
                    static_cast<int64_t>(group.size()));
  DataType type = typeOf(tensorAt(plan, relation.of()));
  int64_t bytes = dataTypeBytes(type);
  compare(relation.tensor(), step, movement.count(),
          contractOf(step).tolerances.of(relation), data,
          [&](int64_t begin, int64_t count, std::byte *output) {
            for (int64_t i = begin; i < begin + count;) {
              MovedRun run = movement.at(i);
              int64_t length = std::min(run.length, begin + count - i);
              std::byte *to = output + (i - begin) * bytes;
              if (run.member == MovedRun::kAll)
                expectReduced(type, static_cast<ReduceKind>(relation.reduce()),
                              keys, run.source, length, to);
              else
                generateValues(
                    type,
                    run.member == MovedRun::kNobody ? kZeros : keys[run.member],
                    run.source, length, to);
              i += length;
            }
          });
}

/// Whether a rank has checked a state behind a change that the contract
/// promises.
static bool isStateChecked(uint32_t state,
                           const std::vector<RankFindings> &ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [&](const RankFindings &rank) {
    return rank.checkedSteps[state] > 0;
  });
}

/// The number of tensors that come back, and of states that are checked. Inputs
/// come back as they were given from any plan.
static int64_t countChecked(const Plan &plan,
                            const std::map<uint32_t, int64_t> &returned,
                            const std::vector<uint32_t> &states,
                            const std::vector<RankFindings> &ranks) {
  return std::count_if(returned.begin(), returned.end(),
                       [&](auto &entry) {
                         return tensorAt(plan, entry.first).role() !=
                                fb::Role::Input;
                       }) +
         std::count_if(states.begin(), states.end(), [&](uint32_t state) {
           return isStateChecked(state, ranks);
         });
}

/// The tensors that some rank can't check, and since when.
static std::vector<std::string>
listUnchecked(const Plan &plan, const std::vector<RankFindings> &ranks) {
  std::map<uint32_t, std::pair<int64_t, std::string>> unchecked;
  for (const RankFindings &rank : ranks)
    for (auto &[tensor, since] : rank.unchecked) {
      auto [entry, isNew] = unchecked.try_emplace(tensor, since);
      entry->second = std::min(entry->second, since);
    }
  std::vector<std::string> list;
  list.reserve(unchecked.size());
  for (auto &[tensor, since] : unchecked) {
    // Nobody has waited for the state while it could be checked.
    const bool isNever = runtime::isState(tensorAt(plan, tensor).role()) &&
                         !isStateChecked(tensor, ranks);
    list.push_back(absl::StrFormat("'%s' after %d iterations: %s",
                                   tensorAt(plan, tensor).name()->str(),
                                   isNever ? 0 : since.first, since.second));
  }
  return list;
}

CheckResult mergeChecks(const Plan &plan,
                        const std::vector<RankFindings> &ranks, int64_t steps) {
  CheckResult result;
  result.steps = steps;
  const RankChecker first(plan, 0);
  for (const RankFindings &rank : ranks) {
    result.passed &= rank.found.passed;
    result.maxError = std::max(result.maxError, rank.found.maxError);
    result.tolerance = std::max(result.tolerance, rank.found.tolerance);
    for (const std::string &failure : rank.found.failures)
      result.fail(0, failure);
  }
  for (const RankFindings &rank : ranks)
    for (auto &[place, found] : rank.digests) {
      for (uint64_t part : {static_cast<uint64_t>(place.first),
                            static_cast<uint64_t>(place.second), found})
        result.digest = (result.digest ^ part) * kDigestPrime;
      // A state's digests are counted by iterations that have been made.
      const bool isState = runtime::isState(tensorAt(plan, place.first).role());
      const fb::Relation &relation =
          isState ? *first.findRelation(place.first)
                  : *first.contractOf(place.second).relationOf[place.first];
      int64_t leader = plan.topology().groupOf(rank.rank, axesOf(relation))[0];
      auto other = ranks[leader].digests.find(place);
      if (other != ranks[leader].digests.end() && other->second != found)
        result.fail(
            0, absl::StrFormat("tensor '%s' in step %d: rank %d has other bits "
                               "than rank %d",
                               tensorAt(plan, place.first).name()->str(),
                               place.second, rank.rank, leader));
    }

  result.unchecked = listUnchecked(plan, ranks);

  // By tensor: the number of iterations in which it comes back.
  std::map<uint32_t, int64_t> expected;
  std::vector<std::set<uint32_t>> returned;
  returned.reserve(first.contracts.size());
  for (const RankChecker::StepContract &contract : first.contracts)
    returned.push_back(contract.findReturned(plan));
  for (int64_t step = 0; step < steps; ++step)
    for (uint32_t tensor : returned[runtime::stepOf(plan.root(), step)])
      ++expected[tensor];
  result.tensors = countChecked(plan, expected, first.changedStates(), ranks);
  if (result.tensors == 0)
    result.fail(0, "nothing was checked: expected a promise of the plan's "
                   "contract that can be checked, found none");
  for (const RankFindings &rank : ranks)
    for (auto [tensor, times] : expected)
      if (plan.cluster().isWorker(rank.rank) &&
          rank.checkedSteps[tensor] < times)
        result.fail(0, absl::StrFormat(
                           "tensor '%s' on rank %d was given back in %d of %d "
                           "steps",
                           tensorAt(plan, tensor).name()->str(), rank.rank,
                           rank.checkedSteps[tensor], times));
  return result;
}

} // namespace bagua::replay
