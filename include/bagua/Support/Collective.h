//===- Collective.h - The collectives there are ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One name for each collective, for the IR's ops, the prices and the plan's
// opcodes.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_COLLECTIVE_H
#define BAGUA_SUPPORT_COLLECTIVE_H

#include <string_view>

namespace bagua {

enum class Collective {
  AllReduce,
  ReduceScatter,
  AllGather,
  Reduce,
  Broadcast,
  AllToAll,
  ExchangeRing,
  ExchangeShiftOne,
  Permute,
  Push,
  Pull,
};

/// The collective's name in the dialect, which tables of measured times use,
/// too.
std::string_view collectiveName(Collective collective);

/// Whether the collective combines the values of a group's ranks.
bool isReduction(Collective collective);
/// Whether servers take part in the collective: push and pull.
bool usesServers(Collective collective);

/// Which side of a collective is whole over the group. The bytes of that side
/// are communicated; the other side is a part of it, a root's copy or what
/// servers hold.
enum class WholeSide { Operand, Result };
WholeSide wholeSideOf(Collective collective);

} // namespace bagua

#endif // BAGUA_SUPPORT_COLLECTIVE_H
