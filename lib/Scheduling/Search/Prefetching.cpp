//===- Prefetching.cpp - When a program's own communication runs ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tries limits on what is gathered ahead, each by playing compute and
// communication side by side.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Prefetching.h"

#include <algorithm>
#include <numeric>

using namespace bagua;

namespace {
class Prefetcher {
public:
  Prefetcher(const PrefetchProblem &problem, CollectivePrices &prices)
      : problem(problem), step(problem.step), prices(prices),
        size(problem.step.size()) {
    findEarly();
    findLine();
    findFirstUses();
  }

  std::optional<Prefetch> run();

private:
  void findEarly();
  void findLine();
  void findFirstUses();
  /// The order with at most `limit` bytes ahead; sets `aheadBytes`.
  std::vector<int32_t> orderWith(int64_t limit);
  double timeOf(const std::vector<int32_t> &order) const;
  bool isCollective(int32_t op) const {
    return step[op].kind == GraphOpKind::Collective;
  }

  const PrefetchProblem &problem;
  const OpGraph &step;
  CollectivePrices &prices;
  const int32_t size;
  /// Ops that are computed from states alone, which are there when the step
  /// begins.
  std::vector<bool> isEarly;
  /// All other ops in their order, but for those that follow communication and
  /// lead to none: they come last, and those that will wait for a gradient's
  /// reduction after all others.
  std::vector<int32_t> line;
  /// The first place in the line that needs a result; `size` for none.
  std::vector<int32_t> firstUse;
  /// Early collectives by their first uses.
  std::vector<int32_t> gathers;
  int64_t aheadBytes = 0;
};
} // namespace

void Prefetcher::findEarly() {
  isEarly.assign(size, false);
  for (int32_t op = 0; op < size; ++op)
    isEarly[op] =
        std::all_of(step.operandsOf(op).begin(), step.operandsOf(op).end(),
                    [&](int32_t from) {
                      return OpGraph::isState(from)
                                 ? !problem.isBatch[OpGraph::stateOf(from)]
                                 : isEarly[from];
                    });
}

void Prefetcher::findLine() {
  // Ops behind the step's own communication, and behind that which it does not
  // have yet.
  std::vector<bool> follows(size, false), waits(size, false);
  std::vector<bool> leads(size, false);
  for (int32_t op = 0; op < size; ++op)
    for (int32_t from : step.operandsOf(op)) {
      if (OpGraph::isState(from))
        continue;
      if (follows[from] || (isCollective(from) && !isEarly[from]))
        follows[op] = true;
      if (waits[from] || problem.isAwaited[from])
        waits[op] = true;
    }
  for (int32_t op = size; op-- > 0;) {
    if (isCollective(op) || problem.isAwaited[op])
      leads[op] = true;
    if (leads[op])
      for (int32_t from : step.operandsOf(op))
        if (!OpGraph::isState(from))
          leads[from] = true;
  }
  auto placeOf = [&](int32_t op) {
    return leads[op] ? 0 : waits[op] ? 2 : follows[op] ? 1 : 0;
  };
  for (int place : {0, 1, 2})
    for (int32_t op = 0; op < size; ++op)
      if (!isEarly[op] && placeOf(op) == place)
        line.push_back(op);
}

void Prefetcher::findFirstUses() {
  std::vector<int32_t> place(size, size);
  for (size_t i = 0; i < line.size(); ++i)
    place[line[i]] = static_cast<int32_t>(i);
  firstUse.assign(size, size);
  for (int32_t op = size; op-- > 0;) {
    int32_t use = isEarly[op] ? firstUse[op] : place[op];
    for (int32_t from : step.operandsOf(op))
      if (!OpGraph::isState(from))
        firstUse[from] = std::min(firstUse[from], use);
  }
  for (int32_t op = 0; op < size; ++op)
    if (isCollective(op) && isEarly[op])
      gathers.push_back(op);
  std::stable_sort(gathers.begin(), gathers.end(), [&](int32_t a, int32_t b) {
    return firstUse[a] < firstUse[b];
  });
}

std::vector<int32_t> Prefetcher::orderWith(int64_t limit) {
  std::vector<int32_t> order, pending;
  std::vector<bool> isPlaced(size, false);
  // Places early operands that are missing first.
  auto place = [&](int32_t last) {
    pending.assign(1, last);
    while (!pending.empty()) {
      int32_t op = pending.back(), missing = -1;
      for (int32_t from : step.operandsOf(op))
        if (!OpGraph::isState(from) && !isPlaced[from])
          missing = from;
      if (missing >= 0) {
        pending.push_back(missing);
        continue;
      }
      pending.pop_back();
      if (!isPlaced[op])
        order.push_back(op);
      isPlaced[op] = true;
    }
  };
  int64_t ahead = 0;
  aheadBytes = 0;
  size_t next = 0, used = 0;
  for (int32_t at = 0; at < static_cast<int32_t>(line.size()); ++at) {
    for (; next < gathers.size(); ++next) {
      int64_t bytes = step[gathers[next]].call.bytes;
      if (firstUse[gathers[next]] > at && ahead + bytes > limit)
        break;
      ahead += bytes;
      aheadBytes = std::max(aheadBytes, ahead);
      place(gathers[next]);
    }
    place(line[at]);
    for (; used < next && firstUse[gathers[used]] <= at; ++used)
      ahead -= step[gathers[used]].call.bytes;
  }
  for (int32_t op = 0; op < size; ++op)
    if (!isPlaced[op])
      place(op);
  return order;
}

/// The time of the ops in this order, compute and communication each one after
/// the other.
double Prefetcher::timeOf(const std::vector<int32_t> &order) const {
  std::vector<double> end(size, 0);
  double computeNs = 0, commNs = 0;
  for (int32_t op : order) {
    double &freeNs = isCollective(op) ? commNs : computeNs;
    for (int32_t from : step.operandsOf(op))
      if (!OpGraph::isState(from))
        freeNs = std::max(freeNs, end[from]);
    freeNs += isCollective(op) ? prices.of(step[op].call).ns() : step[op].ns;
    end[op] = freeNs;
  }
  return std::max(computeNs, commNs);
}

std::optional<Prefetch> Prefetcher::run() {
  int64_t total = 0, largest = 1;
  for (int32_t gather : gathers) {
    total += step[gather].call.bytes;
    largest = std::max(largest, step[gather].call.bytes);
  }
  std::vector<int32_t> written(size);
  std::iota(written.begin(), written.end(), 0);
  const double before = timeOf(written);
  std::vector<Prefetch> tried;
  for (int64_t limit = 0;; limit = std::max(largest, 2 * limit)) {
    std::vector<int32_t> order = orderWith(limit);
    double after = timeOf(order);
    tried.push_back({std::move(order), aheadBytes, before, after});
    if (limit >= total)
      break;
  }
  double best = before;
  for (const Prefetch &entry : tried)
    best = std::min(best, entry.afterNs);
  for (Prefetch &entry : tried)
    if (entry.afterNs <= 1.01 * best && entry.afterNs < before)
      return std::move(entry);
  return std::nullopt;
}

std::optional<Prefetch> bagua::prefetch(const PrefetchProblem &problem,
                                        CollectivePrices &prices) {
  return Prefetcher(problem, prices).run();
}
