//===- InProcessWorld.cpp - Ranks that are threads of this process --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks share one state; groups are in memory of the process.
//
//===----------------------------------------------------------------------===//
#include "Communication/Memory/RunState.h"
#include "Device/Host/Pages.h"

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

class InProcessWorld final : public World {
public:
  InProcessWorld(std::shared_ptr<RunState> sharedState, int worldRank)
      : state(std::move(sharedState)), ownRank(worldRank) {}
  ~InProcessWorld() override { state->leave(ownRank); }

  int rank() const override { return ownRank; }
  int size() const override { return state->size; }
  std::vector<int> hosts() const override {
    return std::vector<int>(static_cast<size_t>(size()), 0);
  }

  std::chrono::nanoseconds timeout() const override { return state->timeout; }

  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const std::vector<int> &members, const std::string &name,
                     const CommunicatorOptions &options) override;

  absl::StatusOr<std::shared_ptr<std::byte>> allocate(size_t bytes) override;

  void note(const std::string &what) override { state->note(ownRank, what); }
  void abort(const absl::Status &why) override { state->abortBy(ownRank, why); }
  absl::Status status() const override { return state->status(); }
  void onAbort(const void *owner, std::function<void()> handler) override {
    state->onAbort(ownRank, owner, std::move(handler));
  }

private:
  std::shared_ptr<RunState> state;
  const int ownRank;
};

absl::StatusOr<std::unique_ptr<Communicator>>
InProcessWorld::createCommunicator(const std::vector<int> &members,
                                   const std::string &name,
                                   const CommunicatorOptions &options) {
  absl::Status status =
      checkCreation(members, name, options, ownRank, state->size);
  if (!status.ok())
    return status;
  return createMemoryCommunicator(state, ownRank, members, name, options, [&] {
    return makePlace(name, static_cast<int>(members.size()));
  });
}

absl::StatusOr<std::shared_ptr<std::byte>>
InProcessWorld::allocate(size_t bytes) {
  auto pages = std::make_shared<Pages>(bytes);
  if (!pages->data() && bytes > 0)
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", bytes, " bytes"));
  return std::shared_ptr<std::byte>(pages, pages->data());
}

} // namespace

std::vector<std::unique_ptr<World>>
createInProcessWorlds(int size, std::chrono::nanoseconds timeout) {
  auto state = std::make_shared<RunState>(size, /*neighbours=*/size, timeout);
  std::vector<std::unique_ptr<World>> worlds;
  worlds.reserve(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank)
    worlds.push_back(std::make_unique<InProcessWorld>(state, rank));
  return worlds;
}

} // namespace bagua::runtime
