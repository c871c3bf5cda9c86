//===- ProcessWorlds.cpp - Worlds of processes, in one process ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that are connected as processes are, each with sockets and a mapping of
// its own, on threads of a test.
//
//===----------------------------------------------------------------------===//
#include "CommunicatorBackends.h"

#include "bagua/Runtime/Processes.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace bagua::runtime {
namespace {

class MapStore final : public Store {
public:
  absl::Status set(const std::string &name, const std::string &text) override {
    std::lock_guard<std::mutex> lock(mutex);
    texts[name] = text;
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<std::string>>
  get(const std::string &name) override {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = texts.find(name);
    if (found == texts.end())
      return std::nullopt;
    return found->second;
  }

private:
  std::mutex mutex;
  std::map<std::string, std::string> texts;
};

Worlds createWorlds(int size, std::chrono::nanoseconds timeout,
                    const std::function<std::string(int)> &hostOf) {
  auto store = std::make_shared<MapStore>();
  Worlds worlds(size);
  onEachRank(size, [&](int rank) {
    ProcessOptions options;
    options.rank = rank;
    options.size = size;
    options.store = store;
    options.host = hostOf(rank);
    // All mappings are this process's.
    options.sharedBytes = size_t{128} << 20;
    options.timeout = kLongTime;
    options.patience = kLongTime;
    options.communicatorTimeout = timeout;
    auto world = connectProcesses(options);
    EXPECT_TRUE(world.ok()) << world.status();
    if (world.ok())
      worlds[rank] = *std::move(world);
  });
  return worlds;
}

} // namespace

Worlds createProcessWorlds(int size, std::chrono::nanoseconds timeout) {
  return createWorlds(size, timeout, [](int) { return ""; });
}

Worlds createHostWorlds(int size, std::chrono::nanoseconds timeout) {
  return createWorlds(size, timeout,
                      [](int rank) { return std::to_string(rank); });
}

Worlds createTwoHostWorlds(int size, std::chrono::nanoseconds timeout) {
  return createWorlds(size, timeout,
                      [](int rank) { return std::to_string(rank % 2); });
}

Worlds createWorldsOn(const std::vector<std::string> &hosts,
                      std::chrono::nanoseconds timeout) {
  return createWorlds(static_cast<int>(hosts.size()), timeout,
                      [&](int rank) { return hosts[rank]; });
}

} // namespace bagua::runtime
