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
#include <utility>

using namespace bagua;

/// Steps that are played until each takes as long as the one before.
constexpr int kSteps = 4;

static int64_t addUp(int64_t a, int64_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

namespace {
class Prefetcher {
public:
  Prefetcher(const PrefetchProblem &problem, CollectivePrices &prices)
      : problem(problem), step(problem.step), prices(prices),
        size(problem.step.size()) {
    findReaders();
    findEarly();
    findLine();
    findFirstUses();
  }

  std::optional<Prefetch> run();

private:
  void findReaders();
  void findEarly();
  void findLine();
  void findFirstUses();
  bool takesAKeptState() const;
  /// The order with at most `limit` bytes ahead; sets `aheadBytes`.
  std::vector<int32_t> orderWith(int64_t limit);
  double timeOf(const std::vector<int32_t> &order) const;
  bool isCollective(int32_t op) const {
    return step[op].kind == GraphOpKind::Collective;
  }
  bool isGather(int32_t op) const { return isCollective(op) && isEarly[op]; }
  /// Calls `visit` for each op that has to run before this one.
  template <typename Visit> void forEachBefore(int32_t op, Visit visit) const {
    for (int32_t from : step.operandsOf(op))
      if (!OpGraph::isState(from))
        visit(from);
    for (int32_t reader : readers[op])
      visit(reader);
  }

  const PrefetchProblem &problem;
  const OpGraph &step;
  CollectivePrices &prices;
  const int32_t size;
  /// By op: the ops that read the states whose next values it makes, perhaps in
  /// their memory, and stand before it.
  std::vector<std::vector<int32_t>> readers;
  /// Ops that can run when the step begins: all before them is computed from
  /// states alone.
  std::vector<bool> isEarly;
  /// All ops but gathers in their order, except for those that follow
  /// communication and lead to none: they come last, and those that will wait
  /// for a gradient's reduction after all others.
  std::vector<int32_t> line;
  /// The first place in the line that needs a result, through other gathers
  /// and what they are computed from; `size` for none.
  std::vector<int32_t> firstUse;
  /// Early collectives by their first uses.
  std::vector<int32_t> gathers;
  int64_t aheadBytes = 0;
};
} // namespace

void Prefetcher::findReaders() {
  std::vector<std::vector<int32_t>> readersOf(step.yields.size());
  for (int32_t op = 0; op < size; ++op)
    for (int32_t from : step.operandsOf(op))
      if (OpGraph::isState(from))
        readersOf[OpGraph::stateOf(from)].push_back(op);
  readers.resize(size);
  for (size_t state = 0; state < step.yields.size(); ++state)
    if (int32_t writer = step.yields[state]; writer >= 0)
      for (int32_t reader : readersOf[state])
        if (reader < writer)
          readers[writer].push_back(reader);
}

void Prefetcher::findEarly() {
  isEarly.assign(size, true);
  for (int32_t op = 0; op < size; ++op) {
    for (int32_t from : step.operandsOf(op))
      if (OpGraph::isState(from) && problem.isBatch[OpGraph::stateOf(from)])
        isEarly[op] = false;
    forEachBefore(op, [&](int32_t from) {
      if (!isEarly[from])
        isEarly[op] = false;
    });
  }
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
      forEachBefore(op, [&](int32_t from) { leads[from] = true; });
  }
  auto placeOf = [&](int32_t op) {
    return leads[op] ? 0 : waits[op] ? 2 : follows[op] ? 1 : 0;
  };
  for (int place : {0, 1, 2})
    for (int32_t op = 0; op < size; ++op)
      if (!isGather(op) && placeOf(op) == place)
        line.push_back(op);
}

void Prefetcher::findFirstUses() {
  std::vector<int32_t> place(size, size);
  for (size_t i = 0; i < line.size(); ++i)
    place[line[i]] = static_cast<int32_t>(i);
  firstUse.assign(size, size);
  for (int32_t op = size; op-- > 0;) {
    int32_t use = std::min(firstUse[op], place[op]);
    for (int32_t from : step.operandsOf(op))
      if (!OpGraph::isState(from))
        firstUse[from] = std::min(firstUse[from], use);
  }
  for (int32_t op = 0; op < size; ++op)
    if (isGather(op))
      gathers.push_back(op);
  std::stable_sort(gathers.begin(), gathers.end(), [&](int32_t a, int32_t b) {
    return firstUse[a] < firstUse[b];
  });
}

/// Whether a collective takes a state as it is that the step does not change:
/// nothing but the order of its users then tells when the next step may
/// overwrite its result.
bool Prefetcher::takesAKeptState() const {
  for (int32_t op = 0; op < size; ++op)
    for (int32_t from : step.operandsOf(op))
      if (isCollective(op) && OpGraph::isState(from) &&
          step.yields[OpGraph::stateOf(from)] < 0)
        return true;
  return false;
}

std::vector<int32_t> Prefetcher::orderWith(int64_t limit) {
  std::vector<int32_t> order, pending;
  std::vector<bool> isPlaced(size, false), isSeen(size, false);
  // Places what has to run before an op first.
  auto place = [&](int32_t last) {
    pending.assign(1, last);
    while (!pending.empty()) {
      int32_t op = pending.back();
      if (!isSeen[op]) {
        isSeen[op] = true;
        forEachBefore(op, [&](int32_t from) {
          if (!isSeen[from])
            pending.push_back(from);
        });
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
  auto gather = [&](int32_t at) {
    for (; next < gathers.size(); ++next) {
      int64_t bytes = step[gathers[next]].call.bytes;
      if (firstUse[gathers[next]] > at && addUp(ahead, bytes) > limit)
        break;
      ahead = addUp(ahead, bytes);
      aheadBytes = std::max(aheadBytes, ahead);
      place(gathers[next]);
    }
  };
  for (int32_t at = 0; at < static_cast<int32_t>(line.size()); ++at) {
    // Communication that compute waits for goes before what can wait.
    bool isMessage = isCollective(line[at]);
    if (!isMessage)
      gather(at);
    place(line[at]);
    if (isMessage)
      gather(at);
    for (; used < next && firstUse[gathers[used]] <= at; ++used)
      ahead -= step[gathers[used]].call.bytes;
  }
  for (int32_t op = 0; op < size; ++op)
    place(op);
  return order;
}

/// The time of one of many steps with this order, compute and communication
/// each one after the other.
double Prefetcher::timeOf(const std::vector<int32_t> &order) const {
  std::vector<double> end(size, 0), made(step.yields.size(), 0);
  double computeNs = 0, commNs = 0, last = 0, before = 0;
  for (int played = 0; played < kSteps; ++played) {
    for (int32_t op : order) {
      double &freeNs = isCollective(op) ? commNs : computeNs;
      for (int32_t from : step.operandsOf(op))
        freeNs = std::max(freeNs, OpGraph::isState(from)
                                      ? made[OpGraph::stateOf(from)]
                                      : end[from]);
      freeNs += isCollective(op) ? prices.of(step[op].call).ns() : step[op].ns;
      end[op] = freeNs;
    }
    for (size_t state = 0; state < step.yields.size(); ++state)
      if (int32_t writer = step.yields[state]; writer >= 0)
        made[state] = end[writer];
    before = std::exchange(last, std::max(computeNs, commNs));
  }
  return last - before;
}

std::optional<Prefetch> Prefetcher::run() {
  if (takesAKeptState())
    return std::nullopt;
  int64_t total = 0, largest = 1;
  for (int32_t gather : gathers) {
    total = addUp(total, step[gather].call.bytes);
    largest = std::max(largest, step[gather].call.bytes);
  }
  std::vector<int32_t> written(size);
  std::iota(written.begin(), written.end(), 0);
  const double before = timeOf(written);
  std::vector<Prefetch> tried;
  for (int64_t limit = 0;; limit = std::max(largest, addUp(limit, limit))) {
    std::vector<int32_t> order = orderWith(limit);
    double after = timeOf(order);
    tried.push_back({std::move(order), aheadBytes, before, after});
    if (limit >= total)
      break;
  }
  double best = before;
  for (const Prefetch &entry : tried)
    best = std::min(best, entry.afterNs);
  // Another order for nothing would only make plans hard to read.
  if (before <= 1.01 * best)
    return std::nullopt;
  for (Prefetch &entry : tried)
    if (entry.afterNs <= 1.01 * best)
      return std::move(entry);
  return std::nullopt;
}

std::optional<Prefetch> bagua::prefetch(const PrefetchProblem &problem,
                                        CollectivePrices &prices) {
  return Prefetcher(problem, prices).run();
}
