//===- Collective.cpp - The collectives there are -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One switch for each question.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/Collective.h"

namespace bagua {

std::string_view collectiveName(Collective collective) {
  switch (collective) {
  case Collective::AllReduce:
    return "all_reduce";
  case Collective::ReduceScatter:
    return "reduce_scatter";
  case Collective::AllGather:
    return "all_gather";
  case Collective::Reduce:
    return "reduce";
  case Collective::Broadcast:
    return "broadcast";
  case Collective::AllToAll:
    return "all_to_all";
  case Collective::ExchangeRing:
    return "exchange_ring";
  case Collective::ExchangeShiftOne:
    return "shift_one";
  case Collective::Permute:
    return "permute";
  case Collective::Push:
    return "push";
  case Collective::Pull:
    return "pull";
  }
  return {};
}

bool isReduction(Collective collective) {
  switch (collective) {
  case Collective::AllReduce:
  case Collective::ReduceScatter:
  case Collective::Reduce:
  case Collective::Push:
    return true;
  case Collective::AllGather:
  case Collective::Broadcast:
  case Collective::AllToAll:
  case Collective::ExchangeRing:
  case Collective::ExchangeShiftOne:
  case Collective::Permute:
  case Collective::Pull:
    return false;
  }
  return false;
}

bool usesServers(Collective collective) {
  return collective == Collective::Push || collective == Collective::Pull;
}

WholeSide wholeSideOf(Collective collective) {
  switch (collective) {
  case Collective::AllReduce:
  case Collective::ReduceScatter:
  case Collective::Reduce:
  case Collective::AllToAll:
  case Collective::ExchangeRing:
  case Collective::ExchangeShiftOne:
  case Collective::Permute:
  case Collective::Push:
    return WholeSide::Operand;
  case Collective::AllGather:
  case Collective::Broadcast:
  case Collective::Pull:
    return WholeSide::Result;
  }
  return WholeSide::Operand;
}

} // namespace bagua
