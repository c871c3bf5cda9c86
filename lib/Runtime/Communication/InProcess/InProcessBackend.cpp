//===- InProcessBackend.cpp - Communicators of threads of one process -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups meet in memory of the process, which all members reach.
//
//===----------------------------------------------------------------------===//
#include "Communication/InProcess/InProcessBackend.h"

#include "Communication/InProcess/InProcessRun.h"
#include "Device/Cpu/Pages.h"

#include "absl/strings/str_cat.h"

#include <utility>

namespace bagua::runtime {
namespace {

absl::StatusOr<GroupPlace> makePlace(const std::string &name, int members) {
  GroupPlace place;
  place.shape = {members, members, Gate::Scope::Process};
  auto pages = std::make_shared<Pages>(GroupMemory::bytesFor(place.shape));
  if (!pages->data())
    return absl::ResourceExhaustedError(
        absl::StrCat("communicator '", name, "': no memory for its ", members,
                     " members to meet in"));
  GroupMemory::initialize(pages->data(), place.shape);
  place.memory = pages->data();
  place.owner = std::move(pages);
  return place;
}

} // namespace

bool isInProcess(const Run &run) {
  return dynamic_cast<const InProcessRun *>(&run) != nullptr;
}

absl::StatusOr<std::shared_ptr<std::byte>>
allocateInProcess(const std::shared_ptr<Run> & /*run*/, size_t bytes) {
  auto pages = std::make_shared<Pages>(bytes);
  if (!pages->data() && bytes > 0)
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", bytes, " bytes"));
  return std::shared_ptr<std::byte>(pages, pages->data());
}

absl::StatusOr<std::unique_ptr<Communicator>>
createInProcess(const std::shared_ptr<Run> &run, const CommunicatorGroup &group,
                const CommunicatorOptions &options) {
  return createMemoryCommunicator(
      run->state, run->rank, group.members, group.name, options, [&] {
        return makePlace(group.name, static_cast<int>(group.members.size()));
      });
}

} // namespace bagua::runtime
