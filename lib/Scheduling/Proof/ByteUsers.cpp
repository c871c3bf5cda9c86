//===- ByteUsers.cpp - Who touches which bytes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses sorted by their begin form a balanced tree, in which each node knows the
// largest end below it. A query skips subtrees that end before its range.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Proof/ByteUsers.h"

#include <algorithm>
#include <limits>

using namespace bagua;

void ByteUsers::add(int32_t memory, int64_t begin, int64_t end, int32_t user) {
  if (memories.size() <= static_cast<size_t>(memory))
    memories.resize(memory + 1);
  memories[memory].uses.push_back({begin, end, user, end});
  memories[memory].isSorted = false;
}

/// Makes a tree of uses [from, to), with the middle one as its root. Returns
/// the largest end among them.
int64_t ByteUsers::findFurthest(std::vector<Use> &uses, size_t from,
                                size_t to) {
  if (from == to)
    return std::numeric_limits<int64_t>::min();
  size_t root = from + (to - from) / 2;
  return uses[root].furthest =
             std::max({uses[root].end, findFurthest(uses, from, root),
                       findFurthest(uses, root + 1, to)});
}

/// Adds the users of any byte of [begin, end) among uses [from, to), a tree.
void ByteUsers::collect(const std::vector<Use> &uses, size_t from, size_t to,
                        int64_t begin, int64_t end,
                        std::vector<int32_t> &users) {
  size_t root = from + (to - from) / 2;
  if (from == to || uses[root].furthest <= begin)
    return;
  collect(uses, from, root, begin, end, users);
  const Use &use = uses[root];
  if (use.begin >= end)
    return;
  if (use.end > std::max(use.begin, begin))
    users.push_back(use.user);
  collect(uses, root + 1, to, begin, end, users);
}

std::vector<int32_t> ByteUsers::find(int32_t memory, int64_t begin,
                                     int64_t end) {
  if (static_cast<size_t>(memory) >= memories.size())
    return {};
  auto &[uses, isSorted] = memories[memory];
  if (!isSorted) {
    std::stable_sort(uses.begin(), uses.end(), [](const Use &a, const Use &b) {
      return a.begin < b.begin;
    });
    findFurthest(uses, 0, uses.size());
    isSorted = true;
  }
  std::vector<int32_t> users;
  collect(uses, 0, uses.size(), begin, end, users);
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}
