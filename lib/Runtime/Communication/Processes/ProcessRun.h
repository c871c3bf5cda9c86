//===- ProcessRun.h - A run of processes ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process's connection to rank 0, and the memory that it shares with the
// other ranks of its host, in which groups meet.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_PROCESSES_PROCESSRUN_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_PROCESSES_PROCESSRUN_H

#include "Communication/Control/ControlPlane.h"
#include "Communication/Hosts/HostNetwork.h"
#include "Communication/OwnProcess.h"
#include "Communication/Run.h"
#include "Communication/SharedMemory/SharedRegion.h"
#include "Communication/WorkWatch.h"

#include "bagua/Runtime/Backend.h"

#include "absl/status/statusor.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace bagua::runtime {

/// The memory of groups that this rank has allocated. Other ranks may still
/// work there when this rank's communicator is destroyed, so the memory stays
/// until all have left and the next group is made.
class GroupPlaces {
public:
  explicit GroupPlaces(std::shared_ptr<SharedRegion> shared)
      : region(std::move(shared)) {}

  absl::StatusOr<std::byte *> make(const GroupShape &shape);
  void drop(std::byte *memory, const GroupShape &shape);
  void release(std::byte *memory) { region->free(memory); }

private:
  struct Dropped {
    std::byte *memory;
    GroupShape shape;
  };
  const std::shared_ptr<SharedRegion> region;
  std::mutex mutex;
  std::vector<Dropped> dropped;
};

/// Shared by a world and its communicators; the last of them says goodbye.
struct ProcessRun final : Run {
  ~ProcessRun() override;

  absl::Status check() const override { return process.check("a world"); }

  /// The members on this rank's host.
  std::vector<int> neighboursAmong(const std::vector<int> &members) const;

  const OwnProcess process;
  std::shared_ptr<ControlPlane> control;
  std::shared_ptr<WorkWatch> watch = std::make_shared<WorkWatch>();
  /// Indexed by rank, as World::hosts and startedAs.
  std::vector<int> hosts;
  std::vector<int> started;
  std::string secret;
  std::shared_ptr<SharedRegion> region;
  std::shared_ptr<GroupPlaces> places;
  std::unique_ptr<HostNetwork> network;
};

/// Finds where the members on this host meet, which may be all members.
/// InvalidArgument for a group that exists already: it would use the place of
/// the first.
absl::StatusOr<GroupPlace>
findGroupPlace(const std::shared_ptr<ProcessRun> &run,
               const CommunicatorGroup &group,
               const CommunicatorOptions &options);

/// The run of a backend that is open in runs of processes alone.
std::shared_ptr<ProcessRun> processRunOf(const std::shared_ptr<Run> &run);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_PROCESSES_PROCESSRUN_H
