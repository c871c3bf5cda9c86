//===- Launch.h - Ranks as a launcher started them ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torchrun, mpirun and srun tell each process its place by its environment.
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
  /// As in messages: torchrun, Open MPI, ...
  std::string launcher;
  int rank = 0;
  int size = 1;
  /// Ranks on this host; 0 where the launcher doesn't say.
  int localSize = 0;
  /// Where all may meet: an address of rank 0, with one port or several.
  /// Empty: none.
  std::string address;
  /// What tells this run from others of this user on this host; and whether the
  /// launcher calls it so, on all hosts.
  std::string job;
  bool isJobNamed = false;
};

/// Null for a variable that is not set.
using Environment = std::function<const char *(const char *)>;

/// Nothing where no launcher has started this process. InvalidArgument names a
/// variable with what it holds and what was expected.
absl::StatusOr<std::optional<Launch>> findLaunch(const Environment &get);

/// Connects as launched. `rendezvous` is where ranks meet: the address of rank
/// 0, as in "10.0.0.1:29500" or "10.0.0.1:29500-29509", or a file that all can
/// reach, with a slash in its name, which needs an interface where ranks are on
/// several hosts; empty: the address in `options`, else the launcher's, else a
/// file of the run's where all are on one host, else FailedPrecondition. Where
/// `options` has a store, ranks meet by that alone. Of `options` rank, size and
/// ordersByHost are set, and store, address and run where there are none: where
/// processes are distributed to hosts by turns, World::rank() is not the
/// launcher's. Where rank 0's own host takes its name for a loopback address,
/// and there are other hosts, rank 0 listens on the interface in `options`, and
/// on all of them where there is none. With a store and an interface it listens
/// on that, whatever the launcher says.
absl::StatusOr<std::unique_ptr<World>>
connectLaunched(const Launch &launch, const std::string &rendezvous,
                ProcessOptions options);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_LAUNCH_H
