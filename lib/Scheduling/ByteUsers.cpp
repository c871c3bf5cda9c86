//===- ByteUsers.cpp - Who touches which bytes ----------------------------===//
//
// By begin, with the furthest end so far: a query walks back no further than
// where all ranges end before it.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/ByteUsers.h"

#include <algorithm>

using namespace bagua;

void ByteUsers::add(int32_t memory, int64_t begin, int64_t end, int32_t user) {
  if (memories.size() <= static_cast<size_t>(memory))
    memories.resize(memory + 1);
  memories[memory].uses.push_back({begin, end, user, end});
  memories[memory].isSorted = false;
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
    for (size_t i = 0; i < uses.size(); ++i)
      uses[i].furthest =
          i ? std::max(uses[i - 1].furthest, uses[i].end) : uses[i].end;
    isSorted = true;
  }
  std::vector<int32_t> users;
  auto it =
      std::partition_point(uses.begin(), uses.end(),
                           [end](const Use &use) { return use.begin < end; });
  while (it != uses.begin() && std::prev(it)->furthest > begin)
    if (--it; it->end > std::max(it->begin, begin))
      users.push_back(it->user);
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}
