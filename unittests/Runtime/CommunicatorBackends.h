//===- CommunicatorBackends.h - What the communicator suites run on -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A backend is a name, a way to make worlds in this process, and what its
// communicators promise. The suites are parameterised over this list. It has
// every row of the runtime's table, so a new row is tested without more.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_COMMUNICATORBACKENDS_H
#define BAGUA_UNITTESTS_RUNTIME_COMMUNICATORBACKENDS_H

#include "bagua/Runtime/Backend.h"

#include "gtest/gtest.h"

#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace bagua::runtime {

using Worlds = std::vector<std::unique_ptr<World>>;

struct TestBackend {
  std::string name;
  /// Worlds whose communicators are the backend's, in memory of the host.
  std::function<Worlds(int size, std::chrono::nanoseconds timeout)>
      createWorlds;
  /// Of which tests make worlds: connections grow with their square.
  int mostRanks;
  /// Whether a library that it stands on allocates in each call.
  bool allocates;
  BackendTraits traits;
  /// Whether members talk over connections of their own.
  bool hasConnections = false;
};

const std::vector<TestBackend> &testBackends();

/// As the ranks of that many processes: each sees shared memory at an address
/// of its own, and hears of others through sockets alone.
Worlds createProcessWorlds(int size, std::chrono::nanoseconds timeout);
/// The same, on as many hosts, and on two by turns: the hosts are names alone,
/// and what ranks of different ones tell each other goes over loopback.
Worlds createHostWorlds(int size, std::chrono::nanoseconds timeout);
Worlds createTwoHostWorlds(int size, std::chrono::nanoseconds timeout);
/// The same, each rank on the host of its name.
Worlds createWorldsOn(const std::vector<std::string> &hosts,
                      std::chrono::nanoseconds timeout);

inline std::ostream &operator<<(std::ostream &out, const TestBackend &backend) {
  return out << backend.name;
}

/// Longer than limits that are scaled: met only by a test that has gone wrong.
inline constexpr std::chrono::minutes kLongTime(10);

/// Runs `body(rank)` on a thread for each of `size` ranks and joins them.
inline void onEachRank(int size, const std::function<void(int)> &body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back(body, rank);
  for (std::thread &thread : threads)
    thread.join();
}

/// Once it is aborted, which other processes hear of a little later.
inline absl::Status awaitAbort(const World &world) {
  while (world.status().ok())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return world.status();
}

/// 0, 1, ..., size - 1.
inline std::vector<int> firstMembers(int size) {
  std::vector<int> members(size);
  std::iota(members.begin(), members.end(), 0);
  return members;
}

/// The communicator of all ranks, made on the rank's own thread. Null after a
/// failure, which is reported.
inline std::unique_ptr<Communicator> joinAll(World &world,
                                             const std::string &name = "all") {
  auto communicator =
      world.createCommunicator(firstMembers(world.size()), name);
  EXPECT_TRUE(communicator.ok()) << communicator.status();
  return communicator.ok() ? *std::move(communicator) : nullptr;
}

} // namespace bagua::runtime

#endif // BAGUA_UNITTESTS_RUNTIME_COMMUNICATORBACKENDS_H
