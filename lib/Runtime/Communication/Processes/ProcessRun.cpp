//===- ProcessRun.cpp - A run of processes --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The members of a group on one host meet in memory that the first of them
// offers.
//
//===----------------------------------------------------------------------===//
#include "Communication/Processes/ProcessRun.h"

#include "Communication/MembersName.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <utility>

namespace bagua::runtime {

ProcessRun::~ProcessRun() {
  network = nullptr;
  // No other surviving rank works in this memory: each call of this rank has
  // waited for that.
  if (region)
    region->forgetWithdrawn();
  if (control)
    control->retire();
}

std::vector<int>
ProcessRun::neighboursAmong(const std::vector<int> &members) const {
  std::vector<int> neighbours;
  for (int member : members)
    if (hosts[member] == hosts[rank])
      neighbours.push_back(member);
  return neighbours;
}

absl::StatusOr<std::byte *> GroupPlaces::make(const GroupShape &shape) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto isOver = [&](const Dropped &group) {
      GroupMemory memory(group.memory, group.shape);
      for (int i = 0; i < group.shape.members; ++i)
        if (!memory.member(i).isDone)
          return false;
      region->free(group.memory);
      return true;
    };
    dropped.erase(std::remove_if(dropped.begin(), dropped.end(), isOver),
                  dropped.end());
  }
  auto memory = region->allocate(GroupMemory::bytesFor(shape),
                                 SharedRegion::Use::Meeting);
  if (memory.ok())
    GroupMemory::initialize(*memory, shape);
  return memory;
}

void GroupPlaces::drop(std::byte *memory, const GroupShape &shape) {
  std::lock_guard<std::mutex> lock(mutex);
  dropped.push_back({memory, shape});
}

/// The memory of a group is the one that the first member offers to rank 0.
absl::StatusOr<GroupPlace>
findGroupPlace(const std::shared_ptr<ProcessRun> &run,
               const CommunicatorGroup &group,
               const CommunicatorOptions &options) {
  const std::vector<int> neighbours = run->neighboursAmong(group.members);
  const int self = placeIn(neighbours, run->rank);
  absl::Status isNew =
      run->state->checkNew(group.members, neighbours, group.name, self);
  if (!isNew.ok())
    return isNew;
  GroupPlace result;
  result.shape = {static_cast<int>(neighbours.size()),
                  static_cast<int>(group.members.size()), Gate::Scope::Host};
  auto own = run->places->make(result.shape);
  if (!own.ok())
    return own.status();
  const AddressSpace &space = run->region->addresses();
  std::string offset = absl::StrCat(space.offsetOf(*own));
  auto kept = run->control->claim(
      absl::StrCat("group ", group.name, " ", nameOf(group.members), " of ",
                   neighbours[0]),
      offset, options.timeout, [&] { return !run->state->status().ok(); });
  uint64_t place = 0;
  if (!kept.ok()) {
    // Rank 0 may still keep this place, so it is never used for anything else.
    run->state->abort(absl::IsDeadlineExceeded(kept.status())
                          ? run->state->lateStatus(
                                describeCall(group.name, run->rank,
                                             "create_communicator", options),
                                options.timeout, {0})
                          : kept.status());
    return run->state->status();
  }
  const bool isOwn = *kept == offset;
  if (!isOwn)
    run->places->release(*own);
  const size_t bytes = GroupMemory::bytesFor(result.shape);
  if (!absl::SimpleAtoi(*kept, &place) || place % 64 != 0 ||
      !space.contains(space.at(place), bytes))
    return absl::InternalError(absl::StrCat("communicator '", group.name,
                                            "': rank 0 keeps '", *kept,
                                            "', no place"));
  result.addresses = space;
  result.reachable = run->region;
  result.memory = space.at(place);
  result.owner = std::shared_ptr<void>(
      nullptr, [places = run->places, memory = result.memory,
                shape = result.shape, self, isOwn](void *) {
        GroupMemory(memory, shape).member(self).isDone = true;
        if (isOwn)
          places->drop(memory, shape);
      });
  return result;
}

std::shared_ptr<ProcessRun> processRunOf(const std::shared_ptr<Run> &run) {
  return std::static_pointer_cast<ProcessRun>(run);
}

} // namespace bagua::runtime
