//===- ReduceKind.cpp - How a collective combines the ranks' values -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of the reduction kinds. What each computes is in lib/Runtime.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/ReduceKind.h"

#include <cassert>

namespace bagua {
namespace {

// Indexed by the enumerator's number.
constexpr std::string_view kNames[kReduceKindCount] = {"sum", "mean", "min",
                                                       "max"};

} // namespace

std::string_view reduceKindName(ReduceKind kind) {
  int index = static_cast<int>(kind);
  assert(index < kReduceKindCount && "not a reduce kind");
  return kNames[index];
}

std::optional<ReduceKind> parseReduceKind(std::string_view name) {
  for (int i = 0; i < kReduceKindCount; ++i)
    if (kNames[i] == name)
      return static_cast<ReduceKind>(i);
  return std::nullopt;
}

} // namespace bagua
