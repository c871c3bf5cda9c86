//===- Joining.h - How the processes of a run find each other -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 listens, where all know or as a store says; the others come, say who
// they are, and are told when all are there. Strangers are turned away.
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
/// The most ranks: of so many the longest message is below what one may have.
constexpr int kMostRanks = 1 << 17;

struct JoinOptions {
  int rank = 0;
  int size = 1;
  /// Ranks that say the same run on one host.
  std::string host;
  /// Where rank 0 listens. With a store its port may be 0, and only rank 0 need
  /// know it.
  TcpAddress address;
  /// Null: all know the address.
  Store *store = nullptr;
  /// Without a store: ranks that say another are strangers.
  std::string run;
  /// Ranks that say the same reach each other over loopback.
  std::string network;
  /// The same on all ranks.
  std::chrono::nanoseconds patience = std::chrono::seconds(10);
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
};

struct Joined {
  /// As ControlPlane wants them.
  std::vector<ControlChannel> channels;
  /// By rank: the number of its host, counted from 0 as they come up.
  std::vector<int> hosts;
  /// 128 bits, of this run alone.
  std::string secret;
  /// The address of rank 0's host by which ranks of others reach it. Empty: all
  /// are on one host.
  std::string reachedAt;
};

/// Returns on all ranks when all have come. DeadlineExceeded names those that
/// have not; InvalidArgument ranks that don't agree on the run;
/// FailedPrecondition where rank 0 listens in vain for this one;
/// ResourceExhausted where rank 0 has no descriptors for all.
absl::StatusOr<Joined> joinRun(const JoinOptions &options);

/// What rank 0 leaves where others look for it when it has failed, so that they
/// do not wait for it: before it listens, nobody else could tell them. Ranks
/// that look only afterwards do wait, for the record may be a former run's.
void leaveFailure(Store &store, const absl::Status &why);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_JOINING_H
