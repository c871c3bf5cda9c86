//===- Collective.h - The collectives there are ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the IR's ops, the prices and the plan's opcodes call by one name.
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

/// The name as the dialect has it, which tables of measured times go by too.
std::string_view collectiveName(Collective collective);

/// Whether it combines the values of a group's ranks.
bool isReduction(Collective collective);
/// Whether servers take part: push and pull.
bool usesServers(Collective collective);

/// The value that is whole over the group: its bytes are what is communicated,
/// the other side is a part of it, a root's copy or what servers hold.
enum class WholeSide { Operand, Result };
WholeSide wholeSideOf(Collective collective);

} // namespace bagua

#endif // BAGUA_SUPPORT_COLLECTIVE_H
