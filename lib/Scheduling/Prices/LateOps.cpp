//===- LateOps.cpp - What the program can put off to its next step --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First finds which ops can be late, by striking out the others; then where
// they run.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/LateOps.h"

#include "StepParts.h"

#include <algorithm>

using namespace bagua;

namespace {
class LateFinder {
public:
  explicit LateFinder(const OpGraph &step)
      : step(step), size(step.size()), parts(classifyOps(step)) {}

  std::vector<int32_t> run();

private:
  bool isProgram(int32_t op) const {
    return step[op].kind == GraphOpKind::Compute;
  }
  bool strikeOut();
  void findFirstReaders();
  void findFirstGifts();
  void placeAll();
  void runBefore(int32_t op, int32_t other);

  const OpGraph &step;
  const int32_t size;
  std::vector<StepPart> parts;
  std::vector<bool> isLate;
  std::vector<int32_t> before;
  /// By state: the first op of a step that reads it and isn't late; -1 for
  /// none.
  std::vector<int32_t> firstReaders;
  /// By op of the runtime: the first op of the program from which it is
  /// computed by ops of the runtime alone; -1 for none.
  std::vector<int32_t> firstGifts;
};
} // namespace

/// Strikes out ops that must run in their own step, given the ops that are late
/// so far. Returns whether there were any.
bool LateFinder::strikeOut() {
  // By op: whether an op that isn't late uses it, whether a late op or the
  // yield does, and whether it waits for communication.
  std::vector<bool> isUsedNow(size, false), isUsed(size, false),
      isBehind(size, false);
  // By state: whether the runtime reads it, and whether the runtime, or the
  // program after the step's gradients are made, reads it.
  std::vector<bool> isRuntimes(step.yields.size(), false),
      isTouched(step.yields.size(), false);
  for (int32_t op = 0; op < size; ++op)
    for (int32_t operand : step.operandsOf(op)) {
      if (OpGraph::isState(operand)) {
        int32_t state = OpGraph::stateOf(operand);
        if (!isProgram(op))
          isRuntimes[state] = true;
        if (!isProgram(op) || (parts[op] == StepPart::Late && !isLate[op]))
          isTouched[state] = true;
        continue;
      }
      (isLate[op] ? isUsed : isUsedNow)[operand] = true;
      if (!isProgram(operand) || (isLate[operand] && isBehind[operand]))
        isBehind[op] = true;
    }
  std::vector<bool> mustStay(size, false);
  for (size_t state = 0; state < step.yields.size(); ++state)
    if (int32_t from = step.yields[state]; from >= 0) {
      isUsed[from] = true;
      if (isTouched[state])
        mustStay[from] = true;
    }
  bool isAny = false;
  for (int32_t op = 0; op < size; ++op) {
    if (!isLate[op])
      continue;
    bool stays = isUsedNow[op] || !isUsed[op] || !isBehind[op] || mustStay[op];
    for (int32_t operand : step.operandsOf(op))
      if (OpGraph::isState(operand)) {
        int32_t state = OpGraph::stateOf(operand), writer = step.yields[state];
        stays |= isRuntimes[state] || (writer >= 0 && !isLate[writer]);
      }
    if (stays) {
      isLate[op] = false;
      isAny = true;
    }
  }
  return isAny;
}

void LateFinder::findFirstReaders() {
  firstReaders.assign(step.yields.size(), -1);
  for (int32_t op = 0; op < size; ++op)
    if (isProgram(op) && !isLate[op])
      for (int32_t operand : step.operandsOf(op))
        if (OpGraph::isState(operand)) {
          int32_t &first = firstReaders[OpGraph::stateOf(operand)];
          first = first < 0 ? op : first;
        }
}

void LateFinder::runBefore(int32_t op, int32_t other) {
  if (other >= 0 && (before[op] < 0 || other < before[op]))
    before[op] = other;
}

/// Finds the tensors that the program gives: in the next step they overwrite
/// the memory of those from which the runtime made what late ops read.
void LateFinder::findFirstGifts() {
  firstGifts.assign(size, -1);
  for (int32_t op = 0; op < size; ++op)
    for (int32_t operand : step.operandsOf(op)) {
      if (OpGraph::isState(operand) || isProgram(op))
        continue;
      int32_t gift = isProgram(operand) ? operand : firstGifts[operand];
      if (gift >= 0 && (firstGifts[op] < 0 || gift < firstGifts[op]))
        firstGifts[op] = gift;
    }
}

/// Places ops from the last to the first, so that an op that uses a result or
/// overwrites a state is placed before the op that makes or reads it. An op
/// that nothing bounds is placed afterwards, where the ops that it waits for
/// are done.
void LateFinder::placeAll() {
  before.assign(size, -1);
  std::vector<std::vector<int32_t>> statesOf(size), lateReaders;
  lateReaders.resize(step.yields.size());
  for (size_t state = 0; state < step.yields.size(); ++state)
    if (int32_t writer = step.yields[state]; writer >= 0 && isLate[writer]) {
      statesOf[writer].push_back(static_cast<int32_t>(state));
      runBefore(writer, firstReaders[state]);
    }
  for (int32_t op = 0; op < size; ++op)
    for (int32_t operand : step.operandsOf(op))
      if (isLate[op] && OpGraph::isState(operand))
        lateReaders[OpGraph::stateOf(operand)].push_back(op);
  // Visits the late ops that must run before `op`, or right before the same op.
  auto forEachEarlier = [&](int32_t op, auto visit) {
    for (int32_t operand : step.operandsOf(op))
      if (!OpGraph::isState(operand) && isLate[operand])
        visit(operand);
    for (int32_t state : statesOf[op])
      for (int32_t reader : lateReaders[state])
        if (reader < op)
          visit(reader);
  };
  for (int32_t op = size; op-- > 0;) {
    if (!isLate[op])
      continue;
    for (int32_t operand : step.operandsOf(op))
      if (!OpGraph::isState(operand) && !isLate[operand])
        runBefore(op, isProgram(operand) ? operand : firstGifts[operand]);
    forEachEarlier(op, [&](int32_t other) { runBefore(other, before[op]); });
  }
  for (int32_t op = 0; op < size; ++op)
    if (isLate[op] && before[op] < 0)
      forEachEarlier(op, [&](int32_t other) {
        before[op] = std::max(before[op], before[other]);
      });
}

std::vector<int32_t> LateFinder::run() {
  isLate.assign(size, false);
  for (int32_t op = 0; op < size; ++op)
    isLate[op] =
        isProgram(op) && step[op].mayBeLate && parts[op] == StepPart::Late;
  findFirstGifts();
  for (bool isChanged = true; isChanged;) {
    while (strikeOut())
      ;
    findFirstReaders();
    placeAll();
    isChanged = false;
    for (int32_t op = 0; op < size; ++op)
      if (isLate[op] && before[op] < 0) {
        isLate[op] = false;
        isChanged = true;
      }
  }
  return before;
}

std::vector<int32_t> bagua::findLateOps(const OpGraph &step) {
  return LateFinder(step).run();
}

std::vector<int32_t> bagua::orderLateOps(const std::vector<int32_t> &before) {
  std::vector<int32_t> order;
  for (size_t op = 0; op < before.size(); ++op)
    if (before[op] >= 0)
      order.push_back(static_cast<int32_t>(op));
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return before[a] < before[b]; });
  return order;
}

std::vector<int32_t>
bagua::executionOrder(const std::vector<int32_t> &launchOrder,
                      const std::vector<int32_t> &before) {
  std::vector<std::vector<int32_t>> lateOf(before.size());
  for (int32_t op : launchOrder)
    if (before[op] >= 0)
      lateOf[before[op]].push_back(op);
  std::vector<int32_t> order;
  order.reserve(launchOrder.size());
  for (int32_t op : launchOrder) {
    if (before[op] >= 0)
      continue;
    order.insert(order.end(), lateOf[op].begin(), lateOf[op].end());
    order.push_back(op);
  }
  return order;
}
