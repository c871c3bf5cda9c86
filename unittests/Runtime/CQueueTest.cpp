//===- CQueueTest.cpp - A program's queue in C, on a late device ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shared library knows the host alone, where queues run work at once. So
// its functions are tested here with a late device: data that is not there yet
// when a tensor is given, and handles that are freed while work is under way.
//
//===----------------------------------------------------------------------===//
#include "FarBackend.h"
#include "FarDevice.h"
#include "SessionHarness.h"

#include "Handles.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace bagua::runtime::test {
namespace {

using testing::Each;

#define EXPECT_DONE(call) EXPECT_EQ(call, BAGUA_OK) << bagua_last_error()

constexpr int kRanks = 2;
constexpr int64_t kCount = 100000;
constexpr size_t kBytes = kCount * sizeof(float);

/// Handles on the far device, as a program has them.
struct Handles {
  bagua_session *session = nullptr;
  bagua_queue *queue = nullptr;
};

/// Runs a body on each rank, with a session of one gradient that is started.
void onFarRanks(const std::function<void(int rank, Handles &)> &body) {
  PlanBuilder builder = makeOneGradient(kRanks, kCount);
  builder.tensor(0).optional = true;
  auto plan = builder.load();
  auto worlds = createInProcessWorlds(kRanks, kLongTime);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      auto *world = new bagua_world{makeFar(std::move(worlds[rank]))};
      Handles handles;
      EXPECT_DONE(bagua_queue_create(world, kFar, &handles.queue));
      SessionOptions options;
      options.backend = kFar;
      auto session = Session::create(plan, world->world, options);
      ASSERT_TRUE(session.ok()) << session.status();
      handles.session = new bagua_session{1, *std::move(session), {}};
      bagua_world_free(world);
      EXPECT_DONE(bagua_session_start(handles.session));
      body(rank, handles);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// A step that gives what is on its way, and fetches the mean.
void runStep(const Handles &handles, const std::vector<float> &given,
             std::byte *far, std::vector<float> &fetched) {
  EXPECT_DONE(bagua_session_begin_step(handles.session));
  EXPECT_DONE(bagua_queue_copy(handles.queue, far, given.data(), kBytes));
  EXPECT_DONE(bagua_session_mark_ready_after(handles.session, 0, far, kBytes,
                                             handles.queue));
  EXPECT_DONE(bagua_session_wait_before(handles.session, 0, handles.queue));
  EXPECT_DONE(bagua_queue_copy(handles.queue, fetched.data(), far, kBytes));
  EXPECT_DONE(bagua_session_end_step(handles.session));
}

TEST(CQueueTest, TensorsAreGivenAndTakenByAQueue) {
  onFarRanks([](int rank, Handles &handles) {
    auto far = allocateFar(kBytes);
    for (int step = 0; step < 3; ++step) {
      std::vector<float> given(kCount, static_cast<float>(rank + 10 * step)),
          fetched(kCount);
      runStep(handles, given, far.get(), fetched);
      EXPECT_DONE(bagua_queue_drain(handles.queue, 0));
      EXPECT_THAT(fetched, Each(static_cast<float>(1 + 20 * step)));
    }
    EXPECT_DONE(bagua_session_finish(handles.session));
    bagua_session_free(handles.session);
    bagua_queue_free(handles.queue);
  });
}

/// Whichever handle goes first. A session that is freed before finish() ends
/// the run, so the results are those of some ranks alone.
TEST(CQueueTest, HandlesAreFreedWhileWorkIsUnderWay) {
  for (bool isQueueFirst : {false, true})
    onFarRanks([&](int rank, Handles &handles) {
      auto far = allocateFar(kBytes);
      std::vector<float> given(kCount, static_cast<float>(rank)),
          fetched(kCount);
      bagua_session_begin_step(handles.session);
      bagua_queue_copy(handles.queue, far.get(), given.data(), kBytes);
      bagua_session_mark_ready_after(handles.session, 0, far.get(), kBytes,
                                     handles.queue);
      bagua_session_wait_before(handles.session, 0, handles.queue);
      bagua_queue_copy(handles.queue, fetched.data(), far.get(), kBytes);
      if (isQueueFirst)
        bagua_queue_free(handles.queue);
      bagua_session_free(handles.session);
      if (!isQueueFirst)
        bagua_queue_free(handles.queue);
    });
}

/// Zeros are added for what lies there.
TEST(CQueueTest, AnAbsentTensorIsZeroedAfterTheQueuesWork) {
  onFarRanks([](int rank, Handles &handles) {
    auto far = allocateFar(kBytes);
    std::vector<float> given(kCount, 4.0f), fetched(kCount);
    EXPECT_DONE(bagua_session_begin_step(handles.session));
    EXPECT_DONE(
        bagua_queue_copy(handles.queue, far.get(), given.data(), kBytes));
    EXPECT_DONE(
        rank == 0 ? bagua_session_mark_ready_after(
                        handles.session, 0, far.get(), kBytes, handles.queue)
                  : bagua_session_mark_absent_after(
                        handles.session, 0, far.get(), kBytes, handles.queue));
    EXPECT_DONE(bagua_session_wait_before(handles.session, 0, handles.queue));
    EXPECT_DONE(
        bagua_queue_copy(handles.queue, fetched.data(), far.get(), kBytes));
    EXPECT_DONE(bagua_queue_zero(handles.queue, far.get(), kBytes));
    EXPECT_DONE(
        bagua_queue_copy(handles.queue, given.data(), far.get(), kBytes));
    EXPECT_DONE(bagua_queue_drain(handles.queue, 0));
    EXPECT_THAT(fetched, Each(4.0f));
    EXPECT_THAT(given, Each(0.0f));
    EXPECT_DONE(bagua_session_end_step(handles.session));
    EXPECT_DONE(bagua_session_finish(handles.session));
    bagua_session_free(handles.session);
    bagua_queue_free(handles.queue);
  });
}

} // namespace
} // namespace bagua::runtime::test
