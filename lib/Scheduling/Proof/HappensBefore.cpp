//===- HappensBefore.cpp - Which accesses to memory are ordered -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks, and a sweep over each memory's accesses.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Proof/HappensBefore.h"

#include <algorithm>
#include <set>

using namespace bagua;

std::optional<std::string> OrderingProblem::check() const {
  auto count = static_cast<int32_t>(streams.size());
  if (dependencies.size() != streams.size())
    return std::string("expected one list of dependencies a task");
  for (int32_t task = 0; task < count; ++task) {
    if (streams[task] < 0 || streams[task] >= streamCount)
      return "expected a stream below " + std::to_string(streamCount) +
             " for task " + std::to_string(task) + ", found " +
             std::to_string(streams[task]);
    for (int32_t dependency : dependencies[task])
      if (dependency < 0 || dependency >= task)
        return "task " + std::to_string(task) + " waits for task " +
               std::to_string(dependency) + ", which is not before it";
  }
  for (const MemoryAccess &access : accesses)
    if (access.task < 0 || access.task >= count || access.begin > access.end)
      return std::string("expected accesses of tasks that exist to ranges");
  return std::nullopt;
}

HappensBefore::HappensBefore(const OrderingProblem &problem)
    : streamCount(problem.streamCount), streams(problem.streams),
      positions(problem.streams.size()) {
  clocks.assign(streams.size() * streamCount, 0);
  std::vector<int32_t> lastOnStream(streamCount, -1);
  for (size_t task = 0; task < streams.size(); ++task) {
    int32_t *clock = &clocks[task * streamCount];
    auto follow = [&](int32_t before) {
      const int32_t *other = &clocks[before * streamCount];
      for (int32_t stream = 0; stream < streamCount; ++stream)
        clock[stream] = std::max(clock[stream], other[stream]);
    };
    int32_t &last = lastOnStream[streams[task]];
    if (last >= 0)
      follow(last);
    for (int32_t dependency : problem.dependencies[task])
      follow(dependency);
    positions[task] = last < 0 ? 1 : positions[last] + 1;
    clock[streams[task]] = positions[task];
    last = static_cast<int32_t>(task);
  }
}

bool HappensBefore::operator()(int32_t before, int32_t after) const {
  return before != after &&
         clocks[after * static_cast<size_t>(streamCount) + streams[before]] >=
             positions[before];
}

std::vector<std::pair<int32_t, int32_t>>
bagua::findUnorderedConflicts(const OrderingProblem &problem, size_t limit) {
  HappensBefore happensBefore(problem);
  const std::vector<MemoryAccess> &accesses = problem.accesses;
  std::vector<int32_t> order;
  for (size_t i = 0; i < accesses.size(); ++i)
    if (accesses[i].begin < accesses[i].end)
      order.push_back(static_cast<int32_t>(i));
  auto key = [&](int32_t i) {
    return std::make_pair(accesses[i].memory, accesses[i].begin);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return key(a) < key(b); });

  std::vector<std::pair<int32_t, int32_t>> conflicts;
  // The accesses whose range is open at the current place of the sweep, by
  // their ends.
  std::set<std::pair<int64_t, int32_t>> open;
  int32_t memory = -1;
  for (int32_t i : order) {
    const MemoryAccess &access = accesses[i];
    if (access.memory != memory)
      open.clear();
    memory = access.memory;
    open.erase(open.begin(), open.upper_bound({access.begin, INT32_MAX}));
    for (auto [end, j] : open) {
      const MemoryAccess &other = accesses[j];
      if (!access.writes && !other.writes)
        continue;
      if (access.task == other.task || happensBefore(access.task, other.task) ||
          happensBefore(other.task, access.task))
        continue;
      conflicts.emplace_back(std::min(i, j), std::max(i, j));
    }
    open.insert({access.end, i});
  }
  std::sort(conflicts.begin(), conflicts.end(), [](auto a, auto b) {
    return std::make_pair(a.second, a.first) <
           std::make_pair(b.second, b.first);
  });
  if (conflicts.size() > limit)
    conflicts.resize(limit);
  return conflicts;
}
