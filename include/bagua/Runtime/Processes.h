//===- Processes.h - Ranks that are processes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   ProcessOptions options;
//   options.rank = ...; options.size = ...;
//   options.store = createFileStore("/shared/run-17");
//   absl::StatusOr<std::unique_ptr<World>> world = connectProcesses(options);
//
// Ranks of one host share memory, ranks of different ones are connected by TCP.
// Beside their collectives all ranks hold a
// connection to rank 0, by which they hear at once of one that ends, and within
// `patience` of one that is stopped or cut off; the run then ends on all others
// with an error that names it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_PROCESSES_H
#define BAGUA_RUNTIME_PROCESSES_H

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Store.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace bagua::runtime {

struct ProcessOptions {
  int rank = 0;
  int size = 1;
  /// How ranks find rank 0. Null: it listens at `address`, which all know.
  std::shared_ptr<Store> store;
  /// Where rank 0 listens, on that interface alone: "10.0.0.1:29500", or at the
  /// first free one of several ports: "10.0.0.1:29500-29509". With a
  /// store it is said on rank 0 alone, and port 0 is one that is free; empty:
  /// such a port of `interface`, or of loopback, which other hosts can't reach.
  std::string address;
  /// Without a store: what the run is called, where others may be at the next
  /// ports. Ranks that say another are not let in.
  std::string run;
  /// Ranks that say the same share memory. Empty: what tells hosts, and network
  /// namespaces of a host, from each other.
  std::string host;
  /// Numbers ranks anew, host by host, so that inner axes of plans lie within
  /// hosts however a launcher has distributed its processes; World::rank() then
  /// says what this rank's number is. The same on all ranks.
  bool ordersByHost = false;
  /// By which this rank reaches ranks of other hosts: the name of a network
  /// interface, or an address of this host's. Empty: the one by which it
  /// reaches rank 0. Looked for when the first group over several hosts is
  /// made.
  std::string interface;
  /// For all ranks to come.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  /// Of communicators that are created without options.
  std::chrono::nanoseconds communicatorTimeout = std::chrono::seconds(600);
  /// The most memory that this rank may share with others of its host, and the
  /// same on all of these: address space, of which only what is used takes
  /// memory. 0: as much as the host has, or as a file may have (ulimit -f).
  /// Groups over several hosts keep a copy of each largest buffer that isn't in
  /// it.
  size_t sharedBytes = 0;
  /// Within which all know of a rank that is silent: it counts as lost after
  /// eight tenths. The same on all ranks.
  std::chrono::nanoseconds patience = std::chrono::seconds(10);
};

/// Connects to all other ranks, at most 131072. DeadlineExceeded names those
/// that have not come, InvalidArgument and FailedPrecondition what ranks don't
/// agree on, ResourceExhausted a limit of this host's, such as that of
/// descriptors; where rank 0 fails before it listens, its error is that of
/// those which look for it in the store meanwhile, too.
absl::StatusOr<std::unique_ptr<World>>
connectProcesses(const ProcessOptions &options);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_PROCESSES_H
