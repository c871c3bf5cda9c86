//===- Launch.h - Ranks as a launcher started them ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torchrun, mpirun and srun tell each process its place in the run through
// environment variables.
//
//   absl::StatusOr<std::optional<Launch>> launch = findLaunch(std::getenv);
//   auto world = connectLaunched(**launch, "", {});
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_LAUNCH_H
#define BAGUA_RUNTIME_LAUNCH_H

#include "bagua/Runtime/Processes.h"

#include "absl/status/statusor.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace bagua::runtime {

/// A process's place in its run.
struct Launch {
  /// The launcher's name for messages: torchrun, Open MPI, ...
  std::string launcher;
  int rank = 0;
  int size = 1;
  /// Ranks on this host; 0 if the launcher doesn't say.
  int localSize = 0;
  /// Where all ranks can meet: an address of rank 0, with one port or a range
  /// of ports. Empty: the launcher names none.
  std::string address;
  /// A text that distinguishes this run from others of this user on this host.
  /// `isJobNamed` says whether it is the launcher's own name for the run, which
  /// is the same on all hosts.
  std::string job;
  bool isJobNamed = false;
};

/// Returns the value of a variable; null if it is not set.
using Environment = std::function<const char *(const char *)>;

/// Returns nothing if no launcher has started this process. InvalidArgument
/// names a variable, its value and what was expected.
absl::StatusOr<std::optional<Launch>> findLaunch(const Environment &get);

/// Connects as launched. `rendezvous` is where ranks meet: the address of rank
/// 0, as in "10.0.0.1:29500" or "10.0.0.1:29500-29509", or a file that all
/// ranks can reach, whose name contains a slash. (A file needs an interface in
/// `options` if ranks are on several hosts.) If `rendezvous` is empty, ranks
/// meet at the address in `options`, else at the launcher's, else, if all are
/// on one host, by a file made for the run; otherwise FailedPrecondition. If
/// `options` has a store, ranks meet by that alone.
///
/// Sets some members of `options`: rank, size and ordersByHost; store and
/// address, from the place of meeting; and run, if it is empty. So
/// World::rank() is not the launcher's number if processes are distributed to
/// hosts in turn. If rank 0's host resolves its own name to a loopback address,
/// and there are other hosts, rank 0 listens on the interface in `options`, or
/// on all interfaces if there is none. With a store and an interface it listens
/// on that interface, whatever the launcher says.
absl::StatusOr<std::unique_ptr<World>>
connectLaunched(const Launch &launch, const std::string &rendezvous,
                ProcessOptions options);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_LAUNCH_H
