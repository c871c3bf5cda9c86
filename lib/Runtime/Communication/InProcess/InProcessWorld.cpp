//===- InProcessWorld.cpp - Ranks that are threads of this process --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks share one state.
//
//===----------------------------------------------------------------------===//
#include "Communication/Backends.h"
#include "Communication/InProcess/InProcessRun.h"

#include <utility>

namespace bagua::runtime {
namespace {

class InProcessWorld final : public World {
public:
  InProcessWorld(const std::shared_ptr<RunState> &sharedState, int worldRank)
      : state(sharedState), ownRank(worldRank),
        opened(std::make_shared<InProcessRun>(worldRank, sharedState)) {}
  ~InProcessWorld() override { state->leave(ownRank); }

  int rank() const override { return ownRank; }
  int size() const override { return state->size; }
  std::vector<int> hosts() const override {
    return std::vector<int>(static_cast<size_t>(size()), 0);
  }

  std::chrono::nanoseconds timeout() const override { return state->timeout; }

  Backend *backend(absl::string_view name) override {
    return opened.find(name);
  }
  std::vector<std::string> backends() const override { return opened.names(); }
  Backend &control() override { return opened.control(); }

  void note(const std::string &what) override { state->note(ownRank, what); }
  void abort(const absl::Status &why) override { state->abortBy(ownRank, why); }
  absl::Status status() const override { return state->status(); }
  void onAbort(const void *owner, std::function<void()> handler) override {
    state->onAbort(ownRank, owner, std::move(handler));
  }

private:
  const std::shared_ptr<RunState> state;
  const int ownRank;
  const Backends opened;
};

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
