//===- ByteUsers.h - Who touches which bytes ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of bytes of some memories, each with a user, and which users touch a
// range.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PROOF_BYTEUSERS_H
#define BAGUA_SCHEDULING_PROOF_BYTEUSERS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bagua {

class ByteUsers {
public:
  /// `user` touches bytes [begin, end) of a memory; memories count from 0.
  void add(int32_t memory, int64_t begin, int64_t end, int32_t user);

  /// The users of any byte of the range, each once, ascending. The first call
  /// after an add takes O(n log n), later ones O(log n) for each use found.
  std::vector<int32_t> find(int32_t memory, int64_t begin, int64_t end);

private:
  struct Use {
    int64_t begin, end;
    int32_t user;
    /// The largest end in the subtree of which this use is the root.
    int64_t furthest;
  };
  struct Memory {
    std::vector<Use> uses;
    bool isSorted = false;
  };

  static int64_t findFurthest(std::vector<Use> &uses, size_t from, size_t to);
  static void collect(const std::vector<Use> &uses, size_t from, size_t to,
                      int64_t begin, int64_t end, std::vector<int32_t> &users);

  std::vector<Memory> memories;
};

} // namespace bagua

#endif // BAGUA_SCHEDULING_PROOF_BYTEUSERS_H
