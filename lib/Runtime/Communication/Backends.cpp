//===- Backends.cpp - The table of backends -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what all backends check, and picks the host's backend for a group.
//
//===----------------------------------------------------------------------===//
#include "Communication/Backends.h"

#include "Communication/Hosts/HostsBackend.h"
#include "Communication/InProcess/InProcessBackend.h"
#include "Communication/SharedMemory/SharedMemoryBackend.h"
#include "bagua/Runtime/Device.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bagua::runtime {
namespace {

constexpr BackendTraits kOneHost = {.sumsInMemberOrder = true,
                                    .sumsInAccumulationType = true,
                                    .findsDifferingCalls = true,
                                    .failsAsOne = true,
                                    .launchesInAnyOrder = true};
/// A member may have its result when another one loses a connection.
constexpr BackendTraits kSeveralHosts = {.sumsInMemberOrder = true,
                                         .sumsInAccumulationType = true,
                                         .findsDifferingCalls = true,
                                         .launchesInAnyOrder = true};

constexpr BackendRow kRows[] = {
    {.name = "in-process",
     .device = cpuDevice,
     .traits = kOneHost,
     .isOpen = isInProcess,
     .reaches = [](const Run &, const std::vector<int> &) { return true; },
     .allocate = allocateInProcess,
     .createCommunicator = createInProcess},
    {.name = "shared-memory",
     .device = cpuDevice,
     .traits = kOneHost,
     .isOpen = isOfProcesses,
     .reaches = isOnOneHost,
     .allocate = allocateShared,
     .createCommunicator = createInSharedMemory},
    {.name = "gloo",
     .device = cpuDevice,
     .traits = kSeveralHosts,
     .isOpen = isOfProcesses,
     .reaches =
         [](const Run &run, const std::vector<int> &members) {
           return !isOnOneHost(run, members);
         },
     .allocate = allocateShared,
     .createCommunicator = createBetweenHosts},
    // New rows come last.
};

/// A row that is open in a run.
class RowBackend final : public Backend {
public:
  RowBackend(const BackendRow &ownRow, std::shared_ptr<Run> shared)
      : row(ownRow), run(std::move(shared)) {}

  absl::string_view name() const override { return row.name; }
  Device &device() const override { return row.device(); }
  BackendTraits traits() const override { return row.traits; }
  bool reaches(const std::vector<int> &members) const override {
    return std::all_of(members.begin(), members.end(),
                       [&](int member) {
                         return member >= 0 && member < run->state->size;
                       }) &&
           row.reaches(*run, members);
  }

  absl::StatusOr<std::shared_ptr<std::byte>> allocate(size_t bytes) override {
    absl::Status status = run->check();
    if (status.ok())
      status = run->state->status();
    if (!status.ok())
      return status;
    return row.allocate(run, bytes);
  }

  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const CommunicatorGroup &group,
                     const CommunicatorOptions &options) override {
    absl::Status status = run->check();
    if (status.ok())
      status = checkCreation(group.members, group.name, options, run->rank,
                             run->state->size);
    if (status.ok())
      status = run->state->status();
    if (!status.ok())
      return status;
    if (!reaches(group.members))
      return absl::InvalidArgumentError(absl::StrCat(
          "communicator '", group.name, "': expected ranks that backend '",
          row.name, "' reaches from rank ", run->rank, ", got [",
          absl::StrJoin(group.members, ", "), "]"));
    return row.createCommunicator(run, group, options);
  }

private:
  const BackendRow &row;
  const std::shared_ptr<Run> run;
};

/// Several backends of the host as one.
class HostBackend final : public Backend {
public:
  explicit HostBackend(std::vector<Backend *> preferredFirst)
      : rows(std::move(preferredFirst)) {}

  absl::string_view name() const override { return "host"; }
  Device &device() const override { return cpuDevice(); }
  BackendTraits traits() const override {
    BackendTraits common = rows.front()->traits();
    for (Backend *row : rows)
      common = common & row->traits();
    return common;
  }
  bool reaches(const std::vector<int> &members) const override {
    return std::any_of(rows.begin(), rows.end(),
                       [&](Backend *row) { return row->reaches(members); });
  }
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(size_t bytes) override {
    return rows.front()->allocate(bytes);
  }
  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const CommunicatorGroup &group,
                     const CommunicatorOptions &options) override {
    auto row = std::find_if(rows.begin(), rows.end(), [&](Backend *candidate) {
      return candidate->reaches(group.members);
    });
    // A group that none reaches is wrong for a reason that all say.
    return (row == rows.end() ? rows.front() : *row)
        ->createCommunicator(group, options);
  }

private:
  const std::vector<Backend *> rows;
};

/// Those of the host, up to the first that reaches all ranks: further ones
/// would not be used.
std::unique_ptr<Backend>
makeHostBackend(const std::vector<std::unique_ptr<Backend>> &open,
                int worldSize) {
  std::vector<int> everybody(worldSize);
  std::iota(everybody.begin(), everybody.end(), 0);
  std::vector<Backend *> used;
  for (const std::unique_ptr<Backend> &backend : open) {
    if (&backend->device() != &cpuDevice())
      continue;
    used.push_back(backend.get());
    if (backend->reaches(everybody))
      break;
  }
  return std::make_unique<HostBackend>(std::move(used));
}

} // namespace

BackendTraits BackendTraits::operator&(const BackendTraits &other) const {
  return {.sumsInMemberOrder = sumsInMemberOrder && other.sumsInMemberOrder,
          .sumsInAccumulationType =
              sumsInAccumulationType && other.sumsInAccumulationType,
          .findsDifferingCalls =
              findsDifferingCalls && other.findsDifferingCalls,
          .failsAsOne = failsAsOne && other.failsAsOne,
          .launchesInAnyOrder = launchesInAnyOrder && other.launchesInAnyOrder,
          .captures = captures && other.captures};
}

absl::Span<const BackendRow> backendRows() { return kRows; }

Backends::Backends(std::shared_ptr<Run> run) {
  for (const BackendRow &row : kRows)
    if (row.isOpen(*run))
      rows.push_back(std::make_unique<RowBackend>(row, run));
  host = makeHostBackend(rows, run->state->size);
}

Backends::~Backends() = default;

Backend *Backends::find(absl::string_view name) const {
  for (const std::unique_ptr<Backend> &backend : rows)
    if (backend->name() == name)
      return backend.get();
  return nullptr;
}

std::vector<std::string> Backends::names() const {
  std::vector<std::string> found;
  for (const std::unique_ptr<Backend> &backend : rows)
    found.emplace_back(backend->name());
  return found;
}

absl::StatusOr<Backend *> findBackend(World &world, absl::string_view name) {
  Backend *found = name.empty() ? &world.control() : world.backend(name);
  if (found)
    return found;
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a backend of this run (", absl::StrJoin(world.backends(), ", "),
      "), found '", name, "'"));
}

//===----------------------------------------------------------------------===//
// World's methods that use its control backend
//===----------------------------------------------------------------------===//

absl::StatusOr<std::unique_ptr<Communicator>>
World::createCommunicator(const std::vector<int> &members,
                          const std::string &name,
                          const CommunicatorOptions &options) {
  return control().createCommunicator({members, name}, options);
}

absl::StatusOr<std::shared_ptr<std::byte>> World::allocate(size_t bytes) {
  return control().allocate(bytes);
}

} // namespace bagua::runtime
