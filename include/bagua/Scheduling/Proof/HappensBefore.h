//===- HappensBefore.h - Which accesses to memory are ordered -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks on streams with dependencies, and the bytes they read and write. In
// every execution a task follows its dependencies and the earlier tasks of its
// stream, and hence all that those follow. This order must hold between two
// accesses to overlapping bytes if one of them is a write.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PROOF_HAPPENSBEFORE_H
#define BAGUA_SCHEDULING_PROOF_HAPPENSBEFORE_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bagua {

/// Bytes [begin, end) of one memory (an arena, or a named tensor).
struct MemoryAccess {
  int32_t task;
  int32_t memory;
  int64_t begin;
  int64_t end;
  bool writes;
};

/// Tasks are numbered in launch order, so dependencies point backwards.
struct OrderingProblem {
  int32_t streamCount = 0;
  /// The stream of each task.
  std::vector<int32_t> streams;
  /// The tasks that each task waits for.
  std::vector<std::vector<int32_t>> dependencies;
  std::vector<MemoryAccess> accesses;

  /// Describes what is wrong with the input; nothing if it is sound.
  std::optional<std::string> check() const;
};

/// Answers whether one task always ends before another starts, by a vector
/// clock of one entry a stream. O(tasks * streams) to build, O(1) to ask.
class HappensBefore {
public:
  explicit HappensBefore(const OrderingProblem &problem);

  bool operator()(int32_t before, int32_t after) const;

private:
  int32_t streamCount;
  std::vector<int32_t> streams;
  /// The place of each task on its stream, from 1.
  std::vector<int32_t> positions;
  /// For each task and stream, the position of the last task there that is this
  /// task or happens before it.
  std::vector<int32_t> clocks;
};

/// All pairs (i, j), i < j, of accesses that conflict without being ordered, by
/// ascending j then i; at most `limit`. O(a log a + pairs of overlapping
/// accesses).
std::vector<std::pair<int32_t, int32_t>>
findUnorderedConflicts(const OrderingProblem &problem, size_t limit);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PROOF_HAPPENSBEFORE_H
