//===- PlanCommunicators.h - The groups that a plan communicates over -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One communicator for each stream and group of a plan, created once when a
// session connects, so that streams never wait for each other inside a
// collective.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_PLANCOMMUNICATORS_H
#define BAGUA_LIB_RUNTIME_SESSION_PLANCOMMUNICATORS_H

#include "bagua/Runtime/Backend.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include "absl/status/status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bagua::runtime {

/// A group of workers, with or without servers.
struct PlanGroup {
  /// Null if the group is this rank alone.
  std::unique_ptr<Communicator> communicator;
  /// Members below this number are workers.
  int workers = 1;
  /// This rank's number among the members.
  int position = 0;
  /// The members that are the servers asked for, in their order.
  std::vector<int> owners;
  /// For a push or pull: the slot of the servers' values that belongs to this
  /// group, and a worker of the group.
  int64_t slot = 0;
  int64_t firstRank = 0;
};

class PlanCommunicators {
public:
  /// The options for a stream, by its number.
  using Options = std::function<CommunicatorOptions(uint32_t)>;

  /// Creates the communicators of `rank`. Collective over all ranks; names
  /// begin with `prefix`. Errors are the backend's.
  absl::Status create(const Plan &plan, int rank, Backend &backend,
                      const std::string &prefix, const Options &optionsOf);

  /// The groups of `instruction` that this rank is in: at most one, but on a
  /// server one for each slot. Empty if the rank takes no part.
  const std::vector<PlanGroup> &
  groupsOf(const fb::Instruction &instruction) const;

  /// The communicators of groups without servers, in the order of their first
  /// instructions.
  std::vector<Communicator *> ofWorkers() const;

private:
  struct Key {
    uint32_t stream;
    std::vector<int64_t> axes;
    /// For a push or pull, the layout on workers; else empty.
    std::string layout;
    /// -1 for all servers, -2 for none.
    int64_t server;

    bool operator<(const Key &other) const;
  };
  static Key keyOf(const Plan &plan, const fb::Instruction &instruction);
  absl::Status createGroups(const Key &key, const Layout &workerLayout);
  absl::Status addGroup(const Key &key, const std::string &name,
                        int64_t firstRank, int64_t slot,
                        std::vector<PlanGroup> &groups);

  const Plan *plan = nullptr;
  int rank = 0;
  Backend *backend = nullptr;
  std::string prefix;
  Options optionsOf;
  std::map<Key, std::vector<PlanGroup>> groups;
  /// In the order in which they were created.
  std::vector<const std::vector<PlanGroup> *> withoutServers;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_PLANCOMMUNICATORS_H
