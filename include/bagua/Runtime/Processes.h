//===- Processes.h - Ranks that are processes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   ProcessOptions options;
//   options.rank = ...; options.size = ...;
//   options.store = createFileStore("/shared/run-17");
//   absl::StatusOr<std::unique_ptr<World>> world = connectProcesses(options);
//
// Ranks of one host share memory; ranks of different hosts are connected by
// TCP. Besides, every rank holds a connection to rank 0. Through it all ranks
// learn at once of a rank whose process has ended, and within `patience` of a
// rank that is stopped or cut off. The run then ends on all other ranks with an
// error that names the lost one.
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
  /// How ranks find rank 0. Null: rank 0 listens at `address`, which all ranks
  /// know.
  std::shared_ptr<Store> store;
  /// Where rank 0 listens, on that interface alone: "10.0.0.1:29500", or at the
  /// first free one of several ports: "10.0.0.1:29500-29509". With a store,
  /// only rank 0 needs an address, and port 0 stands for a free port. An empty
  /// address with a store means a free port on `interface`, or on loopback,
  /// which other hosts can't reach, if that is empty, too.
  std::string address;
  /// The name of the run. It is needed without a store, if another run may use
  /// the next ports: rank 0 rejects ranks of a run with another name.
  std::string run;
  /// Ranks with the same value share memory. Empty: derived from the host and
  /// its network namespace.
  std::string host;
  /// Whether ranks are renumbered host by host, so that inner axes of plans lie
  /// within hosts however a launcher has distributed its processes.
  /// World::rank() is then the new number. The same on all ranks.
  bool ordersByHost = false;
  /// The interface on which this rank reaches ranks of other hosts: the name of
  /// a network interface, or an address of this host. Empty: the one on which
  /// it reaches rank 0. The interface is looked up when the first group over
  /// several hosts is created.
  std::string interface;
  /// How long to wait for all ranks to connect.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  /// The timeout of communicators that are created without options.
  std::chrono::nanoseconds communicatorTimeout = std::chrono::seconds(600);
  /// The most memory that this rank may share with others of its host; the same
  /// on all of these. This is address space, of which only the used part takes
  /// memory. 0: as much as the host has, or as a file may have (ulimit -f).
  /// Groups over several hosts keep a copy of each largest buffer that is not
  /// in shared memory.
  size_t sharedBytes = 0;
  /// The time within which all ranks know of a rank that is silent. A rank
  /// counts as lost after eight tenths of it. The same on all ranks.
  std::chrono::nanoseconds patience = std::chrono::seconds(10);
};

/// Connects to all other ranks, at most 131072. DeadlineExceeded names the
/// ranks that have not come, InvalidArgument and FailedPrecondition say on what
/// ranks don't agree, ResourceExhausted names a limit of this host, such as
/// that of descriptors. If rank 0 fails before it listens, ranks that look for
/// it in the store fail with the same error.
absl::StatusOr<std::unique_ptr<World>>
connectProcesses(const ProcessOptions &options);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_PROCESSES_H
