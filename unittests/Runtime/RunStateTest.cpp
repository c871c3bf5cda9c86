//===- RunStateTest.cpp - How members of a host wait for each other -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One member's work takes as long as the test likes, which no collective can be
// made to do.
//
//===----------------------------------------------------------------------===//
#include "AllocationCount.h"
#include "AwaitSleep.h"
#include "CommunicatorBackends.h"

#include "Communication/Memory/RunState.h"
#include "Device/Cpu/Pages.h"

#include "gtest/gtest.h"

#include <atomic>
#include <memory>
#include <thread>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {
namespace {

class RunStateTest : public testing::Test {
protected:
  void SetUp() override {
    place.shape = {2, 2, Gate::Scope::Process};
    auto pages = std::make_shared<Pages>(GroupMemory::bytesFor(place.shape));
    place.memory = pages->data();
    place.owner = std::move(pages);
    GroupMemory::initialize(place.memory, place.shape);
  }

  std::shared_ptr<MemoryGroup> join(int member) {
    auto group =
        state.joinGroup({0, 1}, {0, 1}, "g", member,
                        [&]() -> absl::StatusOr<GroupPlace> { return place; });
    EXPECT_TRUE(group.ok()) << group.status();
    return *std::move(group);
  }

  GroupPlace place;
  RunState state{2, 2, kLongTime};
};

// It looks several times whether the other one is given up.
TEST_F(RunStateTest, who_waits_long_for_anothers_work_allocates_nothing) {
  auto first = join(0), second = join(1);
  std::atomic<pid_t> waiter{0};
  int64_t allocations = 0;
  std::thread other([&] {
    waiter = gettid();
    const int64_t before = allocationCount();
    EXPECT_TRUE(state.meetAfterWork(*first, 0, "all_reduce", {}).ok());
    allocations = allocationCount() - before;
  });
  awaitSleep(waiter);
  const int64_t before = sleepsOf(waiter);
  while (sleepsOf(waiter) < before + 3)
    std::this_thread::yield();
  EXPECT_TRUE(state.meetAfterWork(*second, 1, "all_reduce", {}).ok());
  other.join();
  EXPECT_EQ(allocations, 0);
}

} // namespace
} // namespace bagua::runtime
