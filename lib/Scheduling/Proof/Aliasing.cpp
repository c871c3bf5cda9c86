//===- Aliasing.cpp - Values that share bytes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Union by size, without path compression: depth stays logarithmic and lookups
// stay const.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Proof/Aliasing.h"

#include <utility>

using namespace bagua;

int32_t AliasClasses::add() {
  auto value = static_cast<int32_t>(parents.size());
  parents.push_back(value);
  offsets.push_back(0);
  sizes.push_back(1);
  return value;
}

int32_t AliasClasses::classOf(int32_t value) const {
  while (parents[value] != value)
    value = parents[value];
  return value;
}

int64_t AliasClasses::offsetOf(int32_t value) const {
  int64_t offset = 0;
  while (parents[value] != value) {
    offset += offsets[value];
    value = parents[value];
  }
  return offset;
}

bool AliasClasses::tie(int32_t value, int32_t base, int64_t delta) {
  int32_t from = classOf(value), to = classOf(base);
  // The place of the class of `value` in the class of `base`.
  int64_t shift = offsetOf(base) + delta - offsetOf(value);
  if (from == to)
    return shift == 0;
  if (sizes[from] > sizes[to]) {
    std::swap(from, to);
    shift = -shift;
  }
  parents[from] = to;
  offsets[from] = shift;
  sizes[to] += sizes[from];
  return true;
}
