//===- Aliasing.h - Values that share bytes -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A union-find over values with byte offsets: which values lie in one piece of
// memory, and where in it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PROOF_ALIASING_H
#define BAGUA_SCHEDULING_PROOF_ALIASING_H

#include <cstdint>
#include <vector>

namespace bagua {

/// Values are numbered from 0. Each starts in a class of its own at offset 0.
class AliasClasses {
public:
  /// Adds a value; returns its number.
  int32_t add();

  /// The number of the value's class; all values of a class have the same one
  /// until the next tie.
  int32_t classOf(int32_t value) const;
  /// The value's byte offset in the class's own coordinates; may be negative.
  int64_t offsetOf(int32_t value) const;

  /// Demands that `value` lie `delta` bytes behind `base`. Returns false and
  /// changes nothing if both are in one class already, at another distance.
  /// O(log n).
  bool tie(int32_t value, int32_t base, int64_t delta);

private:
  std::vector<int32_t> parents;
  /// The byte offset of each value relative to its parent.
  std::vector<int64_t> offsets;
  std::vector<int32_t> sizes;
};

} // namespace bagua

#endif // BAGUA_SCHEDULING_PROOF_ALIASING_H
