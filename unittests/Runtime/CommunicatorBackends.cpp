//===- CommunicatorBackends.cpp - What the communicator suites run on -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of worlds, the far backend as the host sees it, and rows of the
// table that no world uses by itself.
//
//===----------------------------------------------------------------------===//
#include "CommunicatorBackends.h"

#include "Communication/Backends.h"
#include "FarBackend.h"
#include "OtherWorld.h"
#include "StagedBackend.h"

#include <algorithm>
#include <utility>

namespace bagua::runtime {
namespace {

BackendTraits traitsOf(absl::string_view name) {
  for (const BackendRow &row : backendRows())
    if (row.name == name)
      return row.traits;
  return {};
}

Worlds createFarWorlds(int size, std::chrono::nanoseconds timeout) {
  Worlds worlds = createInProcessWorlds(size, timeout);
  for (auto &world : worlds) {
    world = test::makeFar(std::move(world));
    auto staged = test::makeStaged(*world->backend(test::kFar));
    world = std::make_unique<OtherWorld>(std::move(world), std::move(staged),
                                         OtherWorld::Use::AsControl);
  }
  return worlds;
}

/// Worlds of threads that communicate by the row of this name.
Worlds createWorldsOfRow(const std::string &name, int size,
                         std::chrono::nanoseconds timeout) {
  Worlds worlds = createInProcessWorlds(size, timeout);
  for (auto &world : worlds) {
    auto row = std::make_unique<BorrowedBackend>(*world->backend(name));
    world = std::make_unique<OtherWorld>(std::move(world), std::move(row),
                                         OtherWorld::Use::AsControl);
  }
  return worlds;
}

std::vector<TestBackend> makeList() {
  std::vector<TestBackend> list = {
      {"in_process", createInProcessWorlds, 64, false, traitsOf("in-process")},
      {"processes", createProcessWorlds, 64, false, traitsOf("shared-memory")},
      {"hosts", createHostWorlds, 8, true, traitsOf("gloo"), true},
      {"two_hosts", createTwoHostWorlds, 16, true, traitsOf("gloo"), true},
      {"far", createFarWorlds, 16, true, test::kFarTraits},
  };
  for (const BackendRow &row : backendRows()) {
    const std::string name(row.name);
    if (name == "in-process" || name == "shared-memory" || name == "gloo")
      continue;
    list.push_back({name,
                    [name](int size, std::chrono::nanoseconds timeout) {
                      return createWorldsOfRow(name, size, timeout);
                    },
                    16, true, row.traits});
    std::replace(list.back().name.begin(), list.back().name.end(), '-', '_');
  }
  return list;
}

} // namespace

const std::vector<TestBackend> &testBackends() {
  static const std::vector<TestBackend> list = makeList();
  return list;
}

} // namespace bagua::runtime
