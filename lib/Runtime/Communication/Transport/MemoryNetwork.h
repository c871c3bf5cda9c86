//===- MemoryNetwork.h - Messages between threads of one process ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps every promise of Transport.h and promises no more: a wait or a flush of
// its sender offers a message, and a wait of its receiver copies it. So code
// that is built on a Transport can be tested by itself, with every order of
// arrival.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_TRANSPORT_MEMORYNETWORK_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_TRANSPORT_MEMORYNETWORK_H

#include "Communication/Transport/Transport.h"

#include "absl/types/span.h"

#include <cstddef>
#include <functional>
#include <memory>

namespace bagua::runtime {

/// A message that its receiver awaits and that can arrive now.
struct Arrival {
  int from = -1;
  int to = -1;
  Tag tag;
};

/// Says which of several messages arrives next, by its place among them: at
/// most one of each stream of each pair, in the order of receivers, senders and
/// streams. Called when all members of a group wait and nothing else can
/// happen, by one of them, for all messages of the group one by one.
using ChooseArrival = std::function<size_t(absl::Span<const Arrival>)>;

/// Members that open transports here with one secret are a group. Without
/// `choose` messages arrive as soon as they can; with it, a member that no
/// longer waits for messages closes its transport, so that the others' arrive.
std::unique_ptr<Network> createMemoryNetwork(ChooseArrival choose = {});

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_TRANSPORT_MEMORYNETWORK_H
