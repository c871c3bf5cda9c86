//===- Joining.h - How the processes of a run find each other -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 listens at an address that all ranks know, or that a store has. The
// other ranks connect, say who they are, and are told when all have come.
// Strangers are turned away.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_JOINING_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_JOINING_H

#include "Communication/Control/ControlChannel.h"
#include "Communication/Rendezvous/Sockets.h"

#include "bagua/Runtime/Store.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace bagua::runtime {

/// The most bytes of a host's name, or of an address.
constexpr size_t kMostName = 1024;
/// The most ranks, such that the longest message stays below its limit.
constexpr int kMostRanks = 1 << 17;

struct JoinOptions {
  int rank = 0;
  int size = 1;
  /// Ranks with the same text run on one host.
  std::string host;
  /// Where rank 0 listens. With a store its port may be 0, and only rank 0 must
  /// know it.
  TcpAddress address;
  /// Null if all ranks know the address.
  Store *store = nullptr;
  /// Without a store: ranks with another text are strangers.
  std::string run;
  /// Ranks with the same text reach each other over loopback.
  std::string network;
  /// The same on all ranks.
  std::chrono::nanoseconds patience = std::chrono::seconds(10);
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
};

struct Joined {
  /// The channels for the ControlPlane.
  std::vector<ControlChannel> channels;
  /// The number of each rank's host, in the order of first ranks from 0.
  std::vector<int> hosts;
  /// 128 bits, different for each run.
  std::string secret;
  /// The address by which ranks of other hosts reach rank 0's host. Empty if
  /// all ranks are on one host.
  std::string reachedAt;
};

/// Returns on all ranks when all have come. DeadlineExceeded names the ranks
/// that have not; InvalidArgument names ranks that don't agree on the run;
/// FailedPrecondition if rank 0 listens where this rank can't reach it;
/// ResourceExhausted if rank 0 has too few descriptors for all.
absl::StatusOr<Joined> joinRun(const JoinOptions &options);

/// Leaves rank 0's failure in the store, so that ranks that look for rank 0 do
/// not wait for it: before it listens, nobody else could tell them. Ranks that
/// look only later do wait, since the record may be a former run's.
void leaveFailure(Store &store, const absl::Status &why);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_JOINING_H
