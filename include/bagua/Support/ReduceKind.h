//===- ReduceKind.h - How a collective combines the ranks' values ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reduction kinds of the IR, of plans and of communicators.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_REDUCEKIND_H
#define BAGUA_SUPPORT_REDUCEKIND_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace bagua {

/// The numbers are part of the plan format: append, never renumber. `Mean`
/// divides by the group's size after its own sum.
enum class ReduceKind : uint8_t { Sum = 0, Mean = 1, Min = 2, Max = 3 };

inline constexpr int kReduceKindCount = 4;

/// sum, mean, min, max.
std::string_view reduceKindName(ReduceKind kind);

/// The inverse of reduceKindName; nothing for an unknown name.
std::optional<ReduceKind> parseReduceKind(std::string_view name);

} // namespace bagua

#endif // BAGUA_SUPPORT_REDUCEKIND_H
