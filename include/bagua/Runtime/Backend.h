//===- Backend.h - A way for ranks to communicate -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A backend makes communicators over groups of ranks, and the memory that they
// move fastest. It says on which device that memory is, and which promises its
// communicators keep. Callers that need more than the interface of Communicator
// promises ask the traits.
//
// Backends are rows of a table (docs/Extending.md). A world opens each row that
// its run can use: World::backend finds one by name, and World::control is the
// backend of the host's memory, which every world has.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_BACKEND_H
#define BAGUA_RUNTIME_BACKEND_H

#include "bagua/Runtime/Communicator.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace bagua::runtime {

/// The promises of a backend's communicators beyond the interface of
/// Communicator. Each trait is a promise, so a backend without any keeps the
/// least.
struct BackendTraits {
  /// Sums are in member order, ((x0 + x1) + x2) + ... Without this they are in
  /// any order. All members get the same bits either way.
  bool sumsInMemberOrder = false;
  /// Sums are in the accumulation type (docs/Semantics.md, "Collectives").
  /// Without this each addition may round to the type of the elements.
  bool sumsInAccumulationType = false;
  /// If members' calls differ in anything but their data, or in the facts that
  /// they carry, the call is InvalidArgument on all members. Without this the
  /// call may wait until its timeout, or give wrong results.
  bool findsDifferingCalls = false;
  /// Either all members find that a call has failed or none, with one reason,
  /// and a call that fails leaves buffers as they were.
  bool failsAsOne = false;
  /// Calls of a rank's different communicators may be launched in different
  /// orders on different ranks. Without this all ranks launch the calls that
  /// they share in one order, whatever the communicator and the queue.
  bool launchesInAnyOrder = false;
  /// Calls may be captured in a graph of the device.
  bool captures = false;

  /// The promises that both keep.
  BackendTraits operator&(const BackendTraits &other) const;
};

/// The members of a communicator, which are distinct ranks of a world, and its
/// name.
struct CommunicatorGroup {
  std::vector<int> members;
  std::string name;
};

class Device;

/// One rank's use of a backend. Owned by the rank's world.
class Backend {
public:
  virtual ~Backend() = default;

  virtual absl::string_view name() const = 0;
  /// The device whose memory the communicators move.
  virtual Device &device() const = 0;
  virtual BackendTraits traits() const = 0;

  /// Whether a group of these members, which include this rank, can
  /// communicate.
  virtual bool reaches(const std::vector<int> &members) const = 0;

  /// Zeroed memory of the device that the other members of this rank's groups
  /// reach without intermediate copies. Collectives take any memory of the
  /// device, and are fastest on this. The memory is freed with the last copy of
  /// the pointer. A rank that was lost but still runs can't reach it any more
  /// once calls on it have returned. ResourceExhausted if there is no memory;
  /// after an abort, the status of the abort.
  virtual absl::StatusOr<std::shared_ptr<std::byte>> allocate(size_t bytes) = 0;

  /// A communicator over the group, which includes this rank. Collective over
  /// the members: all of them call it with the same group, from any threads,
  /// and only once for each group. Communicators of different names are
  /// independent of each other. InvalidArgument for other members, for a group
  /// that exists already, or for one that the backend doesn't reach;
  /// DeadlineExceeded and Unavailable as in calls; ResourceExhausted if there
  /// is no memory or no thread. Between hosts also InvalidArgument if the
  /// interface doesn't exist, and Unimplemented in a library built without
  /// Gloo; there any error aborts the world.
  virtual absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const CommunicatorGroup &group,
                     const CommunicatorOptions &options) = 0;
};

/// The world's backend of a name, or control() if the name is empty.
/// InvalidArgument, with the names that the run has, if it has no such backend.
absl::StatusOr<Backend *> findBackend(World &world, absl::string_view name);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_BACKEND_H
