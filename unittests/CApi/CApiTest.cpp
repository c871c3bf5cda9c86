//===- CApiTest.cpp - The runtime's interface in C ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// That its functions are those of C++ is said by what comes of them; that a
// caller's mistake is an error, and not a crash, by making each.
//
//===----------------------------------------------------------------------===//
#include "bagua/bagua.h"

#include "PlanBuilder.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

using testing::Each;
using testing::HasSubstr;

#define EXPECT_DONE(call) EXPECT_EQ(call, BAGUA_OK) << bagua_last_error()
#define EXPECT_ERROR(call, expected, text)                                     \
  do {                                                                         \
    EXPECT_EQ(call, expected);                                                 \
    EXPECT_THAT(std::string(bagua_last_error()), HasSubstr(text));             \
  } while (false)

/// Seconds: met only by a test that has gone wrong.
constexpr double kLongTime = 120;

/// Three gradients in two buckets, an optional one, and a buffer.
bagua_plan *makePlan(int ranks) {
  using namespace bagua::runtime;
  test::PlanBuilder builder = test::makeDdpPlan(ranks);
  uint32_t optional = builder.addTensor("optional", {8});
  builder.tensor(optional).optional = true;
  uint32_t buffer =
      builder.addTensor("buffer", {5}, fb::Role::Buffer, fb::DataType::Float64);
  for (uint32_t tensor : {optional, buffer}) {
    uint32_t value = builder.whole(tensor);
    builder.op(builder.addOp(fb::Opcode::AllReduce, {value}, {value}, {0}))
        .kind = fb::ReduceKind::Mean;
  }
  std::string bytes = builder.bytes();
  bagua_plan *plan = nullptr;
  EXPECT_DONE(bagua_plan_from_bytes(bytes.data(), bytes.size(), &plan));
  return plan;
}

void onThreads(int size, const std::function<void(int)> &body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] { body(rank); });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(CApiTest, SaysWhatAPlanHas) {
  bagua_plan *plan = makePlan(4);
  EXPECT_EQ(bagua_plan_ranks(plan), 4);
  EXPECT_EQ(bagua_plan_servers(plan), 0);
  EXPECT_NE(bagua_plan_fingerprint(plan), 0u);
  ASSERT_EQ(bagua_plan_tensor_count(plan), 5u);
  bagua_tensor gradient = {}, buffer = {};
  EXPECT_DONE(bagua_plan_tensor(plan, 0, &gradient));
  EXPECT_EQ(gradient.role, BAGUA_GRADIENT);
  EXPECT_EQ(gradient.type, BAGUA_FLOAT32);
  ASSERT_EQ(gradient.dimensions, 1u);
  EXPECT_EQ(gradient.shape[0], 1021);
  EXPECT_TRUE(gradient.is_given && gradient.is_in_arena);
  EXPECT_FALSE(gradient.is_optional);
  EXPECT_DONE(bagua_plan_tensor(plan, 4, &buffer));
  EXPECT_STREQ(buffer.name, "buffer");
  EXPECT_EQ(buffer.role, BAGUA_BUFFER);
  EXPECT_EQ(buffer.type, BAGUA_FLOAT64);
  EXPECT_FALSE(buffer.is_in_arena);
  EXPECT_ERROR(bagua_plan_tensor(plan, 5, &buffer), BAGUA_INVALID_ARGUMENT,
               "expected a tensor's number below 5, found 5");
  bagua_plan_free(plan);
}

struct Told {
  std::atomic<int> calls{0};
  std::atomic<int> code{-1};
  /// The rank that the error speaks of.
  std::atomic<int64_t> culprit{-1};
};
void tell(void *user, bagua_code code, const char *) {
  auto *told = static_cast<Told *>(user);
  int64_t culprit = -1;
  if (code != BAGUA_OK)
    bagua_last_error_place(&culprit, nullptr, nullptr, nullptr);
  told->culprit = culprit;
  told->code = code;
  ++told->calls;
}

/// Gives all tensors of a step and takes them back; each is the mean.
void step(bagua_session *session, int rank, std::vector<double> &buffer,
          bool isAbsent) {
  ASSERT_EQ(bagua_session_begin_step(session), BAGUA_OK) << bagua_last_error();
  auto number = static_cast<float>(bagua_session_step(session) + rank);
  std::vector<std::vector<float>> gradients;
  Told told;
  std::vector<void *> places;
  std::vector<size_t> sizes;
  const uint32_t numbers[] = {0, 1, 2, 3, 4};
  for (uint32_t i = 0; i < 4; ++i) {
    sizes.push_back(bagua_session_local_bytes(session, i));
    auto &data = gradients.emplace_back(sizes[i] / sizeof(float), number + i);
    places.push_back(data.data());
  }
  EXPECT_DONE(bagua_session_mark_each_ready(session, numbers, places.data(),
                                            sizes.data(), 2));
  for (uint32_t i : {2, 3})
    EXPECT_DONE(
        i == 3 && isAbsent
            ? bagua_session_mark_absent_at(session, i, places[i], sizes[i])
            : bagua_session_mark_ready_at(session, i, places[i], sizes[i]));
  std::fill(buffer.begin(), buffer.end(), number);
  EXPECT_DONE(rank == 0 ? bagua_session_mark_ready(session, 4)
                        : bagua_session_mark_each_ready(session, numbers + 4,
                                                        nullptr, nullptr, 1));
  EXPECT_DONE(bagua_session_on_done(session, 0, tell, &told));
  EXPECT_DONE(bagua_session_wait_for_each(session, numbers, 4));
  EXPECT_DONE(bagua_session_wait(session, 4));
  EXPECT_TRUE(bagua_session_is_ready(session, 0));
  EXPECT_EQ(bagua_session_step_uses(session, 0), 1);
  float mean = number - rank + 0.5f;
  for (uint32_t i = 0; i < 3; ++i)
    EXPECT_THAT(gradients[i], Each(mean + i));
  EXPECT_THAT(buffer, Each(mean));
  EXPECT_DONE(bagua_session_end_step(session));
  while (told.calls == 0)
    std::this_thread::yield();
  EXPECT_EQ(told.code, BAGUA_OK);
  EXPECT_EQ(told.calls, 1);
}

TEST(CApiTest, RunsAPlanStopsAndGoesOn) {
  bagua_plan *plan = makePlan(2);
  std::vector<bagua_world *> worlds(2);
  EXPECT_DONE(bagua_worlds_in_process(2, kLongTime, worlds.data()));
  onThreads(2, [&](int rank) {
    EXPECT_EQ(bagua_world_rank(worlds[rank]), rank);
    EXPECT_EQ(bagua_world_size(worlds[rank]), 2);
    EXPECT_EQ(bagua_world_hosts(worlds[rank]), 1);
    EXPECT_EQ(bagua_world_next_number(worlds[rank]), 0);
    void *state = nullptr;
    size_t size = 0;
    for (int run = 0; run < 2; ++run) {
      bagua_session_options options = {sizeof(options), kLongTime, nullptr,
                                       nullptr,         nullptr,   0};
      bagua_session *session = nullptr;
      ASSERT_EQ(bagua_session_create(plan, worlds[rank], &options, &session),
                BAGUA_OK)
          << bagua_last_error();
      std::vector<double> buffer(5);
      uint32_t number = 0;
      EXPECT_DONE(bagua_session_find(session, "buffer", &number));
      EXPECT_EQ(number, 4u);
      void *place = nullptr;
      EXPECT_DONE(bagua_session_bind_or_locate(session, number, buffer.data(),
                                               buffer.size() * sizeof(double),
                                               &place));
      EXPECT_EQ(place, buffer.data());
      EXPECT_EQ(bagua_session_program_updates(session, "buffer"), 1);
      if (run == 1) {
        EXPECT_DONE(bagua_session_load_state(session, state, size));
        bagua_bytes_free(state);
      }
      EXPECT_DONE(bagua_session_start(session));
      for (int i = 0; i < 3; ++i)
        step(session, rank, buffer, /*isAbsent=*/i == 1 && rank == 1);
      EXPECT_EQ(bagua_session_step(session), 3 * run + 2);
      EXPECT_DONE(bagua_session_finish(session));
      EXPECT_GT(bagua_session_bytes_sent(session), 0);
      EXPECT_GT(bagua_session_arena_bytes(session), 0);
      if (run == 0) {
        EXPECT_DONE(bagua_session_save_state(session, &state, &size));
      }
      bagua_memory *memory = nullptr;
      EXPECT_DONE(bagua_session_hold(
          session, 0, bagua_session_local_bytes(session, 0), &place, &memory));
      auto *gradient = static_cast<float *>(place);
      const float last = gradient[0];
      bagua_session_free(session);
      EXPECT_EQ(gradient[0], last);
      bagua_memory_free(memory);
    }
    bagua_world_free(worlds[rank]);
  });
  bagua_plan_free(plan);
}

TEST(CApiTest, TheHostsQueueWorksAtOnce) {
  bagua_world *world = nullptr;
  EXPECT_DONE(bagua_worlds_in_process(1, kLongTime, &world));
  bagua_queue *queue = nullptr;
  EXPECT_ERROR(bagua_queue_create(world, "board", &queue),
               BAGUA_INVALID_ARGUMENT,
               "expected a backend of this run (in-process), found 'board'");
  EXPECT_ERROR(bagua_queue_create(nullptr, nullptr, &queue),
               BAGUA_INVALID_ARGUMENT, "expected 'world', found null");
  EXPECT_DONE(bagua_queue_create(world, nullptr, &queue));
  bagua_world_free(world);
  std::vector<int> from = {1, 2, 3}, to(3);
  EXPECT_DONE(bagua_queue_copy(queue, to.data(), from.data(), 12));
  EXPECT_EQ(to, from);
  EXPECT_DONE(bagua_queue_zero(queue, to.data(), 8));
  EXPECT_EQ(to, (std::vector{0, 0, 3}));
  EXPECT_DONE(bagua_queue_copy(queue, nullptr, nullptr, 0));
  EXPECT_DONE(bagua_queue_zero(queue, nullptr, 0));
  EXPECT_DONE(bagua_queue_drain(queue, 0));
  EXPECT_ERROR(bagua_queue_copy(queue, to.data(), nullptr, 12),
               BAGUA_INVALID_ARGUMENT, "expected 'from', found null");
  EXPECT_ERROR(bagua_queue_zero(queue, nullptr, 12), BAGUA_INVALID_ARGUMENT,
               "expected 'to', found null");
  EXPECT_ERROR(bagua_queue_drain(queue, -1), BAGUA_INVALID_ARGUMENT,
               "limit_seconds: expected a number of seconds, found -1");
  EXPECT_ERROR(bagua_queue_drain(nullptr, 0), BAGUA_INVALID_ARGUMENT,
               "expected 'queue', found null");
  EXPECT_ERROR(bagua_session_wait_before(nullptr, 0, queue),
               BAGUA_INVALID_ARGUMENT, "expected 'session', found null");
  bagua_queue_free(queue);
  bagua_queue_free(nullptr);
}

/// Creates a session of one rank; the code is that of the call.
bagua_code tryOptions(const bagua_session_options &options) {
  bagua_plan *plan = makePlan(1);
  bagua_world *world = nullptr;
  EXPECT_DONE(bagua_worlds_in_process(1, kLongTime, &world));
  bagua_session *session = nullptr;
  bagua_code code = bagua_session_create(plan, world, &options, &session);
  bagua_session_free(session);
  bagua_world_free(world);
  bagua_plan_free(plan);
  return code;
}

TEST(CApiTest, ASessionNamesItsBackend) {
  bagua_session_options options = {};
  options.struct_size = sizeof(options);
  EXPECT_DONE(tryOptions(options));
  options.backend = "board";
  EXPECT_ERROR(tryOptions(options), BAGUA_INVALID_ARGUMENT,
               "expected a backend of this run (in-process), found 'board'");
  // A program that was compiled before sessions had backends.
  options.struct_size = offsetof(bagua_session_options, backend);
  EXPECT_DONE(tryOptions(options));
}

/// By structs of any size that a version has: of an older program, this one's
/// and a newer one's.
void readFigures(bagua_session *session, int64_t steps) {
  int64_t sum = 0;
  for (int64_t back = 0; back < steps; ++back) {
    bagua_step_figures figures = {};
    figures.struct_size = sizeof(figures);
    EXPECT_DONE(bagua_session_step_figures(session, back, &figures));
    EXPECT_EQ(figures.struct_size, sizeof(figures));
    EXPECT_EQ(figures.step, steps - 1 - back);
    EXPECT_GT(figures.seconds, 0);
    EXPECT_GE(figures.exposed_seconds, 0);
    EXPECT_LE(figures.exposed_seconds, figures.seconds);
    sum += figures.bytes_sent;
  }
  EXPECT_EQ(sum, bagua_session_bytes_sent(session));
  bagua_step_figures older = {};
  older.struct_size = offsetof(bagua_step_figures, exposed_seconds);
  older.bytes_sent = -7;
  EXPECT_DONE(bagua_session_step_figures(session, 0, &older));
  EXPECT_EQ(older.step, steps - 1);
  EXPECT_GT(older.seconds, 0);
  EXPECT_EQ(older.bytes_sent, -7);
  struct {
    bagua_step_figures known;
    int64_t more;
  } newer = {{}, 5};
  newer.known.struct_size = sizeof(newer);
  EXPECT_DONE(bagua_session_step_figures(session, 0, &newer.known));
  EXPECT_EQ(newer.known.struct_size, sizeof(newer));
  EXPECT_EQ(newer.more, 0);
  newer.known.struct_size = 7;
  EXPECT_ERROR(
      bagua_session_step_figures(session, 0, &newer.known),
      BAGUA_INVALID_ARGUMENT,
      "expected struct_size to be sizeof(bagua_step_figures), found 7");
  newer.known.struct_size = sizeof(newer);
  EXPECT_ERROR(bagua_session_step_figures(session, steps, &newer.known),
               BAGUA_OUT_OF_RANGE, "steps back from 0 and below");
  EXPECT_ERROR(bagua_session_step_figures(session, 0, nullptr),
               BAGUA_INVALID_ARGUMENT, "expected 'figures', found null");
}

TEST(CApiTest, SaysWhatStepsTook) {
  bagua_plan *plan = makePlan(2);
  std::vector<bagua_world *> worlds(2);
  EXPECT_DONE(bagua_worlds_in_process(2, 30, worlds.data()));
  onThreads(2, [&](int rank) {
    bagua_session *session = nullptr;
    ASSERT_EQ(bagua_session_create(plan, worlds[rank], nullptr, &session),
              BAGUA_OK);
    std::vector<double> buffer(5);
    EXPECT_DONE(
        bagua_session_bind(session, 4, buffer.data(), 5 * sizeof(double)));
    EXPECT_DONE(bagua_session_start(session));
    for (int i = 0; i < 4; ++i)
      step(session, rank, buffer, /*isAbsent=*/false);
    EXPECT_DONE(bagua_session_finish(session));
    readFigures(session, 4);
    bagua_session_free(session);
    bagua_world_free(worlds[rank]);
  });
  bagua_plan_free(plan);
}

TEST(CApiTest, HasCollectives) {
  std::vector<bagua_world *> worlds(3);
  EXPECT_DONE(bagua_worlds_in_process(3, kLongTime, worlds.data()));
  onThreads(3, [&](int rank) {
    bagua_communicator *group = nullptr;
    ASSERT_EQ(
        bagua_communicator_create(worlds[rank], nullptr, 0, "all", &group),
        BAGUA_OK);
    bagua_world_free(worlds[rank]); // the communicator keeps it
    std::vector<int64_t> own = {rank, 10 * rank}, all(6);
    EXPECT_DONE(
        bagua_all_gather(group, own.data(), all.data(), 2, BAGUA_INT64));
    EXPECT_EQ(all, (std::vector<int64_t>{0, 0, 1, 10, 2, 20}));
    EXPECT_DONE(bagua_all_reduce(group, own.data(), own.data(), 2, BAGUA_INT64,
                                 BAGUA_MAX));
    EXPECT_EQ(own, (std::vector<int64_t>{2, 20}));
    double root = rank == 1 ? 7 : 0;
    EXPECT_DONE(bagua_broadcast(group, &root, 1, BAGUA_FLOAT64, 1));
    EXPECT_EQ(root, 7);
    EXPECT_DONE(bagua_barrier(group));
    EXPECT_ERROR(bagua_broadcast(group, &root, 1, BAGUA_FLOAT64, 3),
                 BAGUA_INVALID_ARGUMENT, "expected a root in [0, 3), found 3");
    EXPECT_ERROR(bagua_all_reduce(group, &root, &root, 1, 7, BAGUA_SUM),
                 BAGUA_INVALID_ARGUMENT, "7 is no type");
    EXPECT_ERROR(bagua_all_reduce(group, &root, &root, 1, BAGUA_FLOAT64, 4),
                 BAGUA_INVALID_ARGUMENT, "4 is no kind");
    EXPECT_ERROR(
        bagua_all_reduce(group, &root, nullptr, 1, BAGUA_FLOAT64, BAGUA_SUM),
        BAGUA_INVALID_ARGUMENT, "expected 'output', found null");
    EXPECT_ERROR(
        bagua_all_gather(group, &root, &root, INT64_MAX / 2, BAGUA_FLOAT64),
        BAGUA_INVALID_ARGUMENT, "are too many");
    EXPECT_ERROR(bagua_all_gather(group, &root, &root, -1, BAGUA_FLOAT64),
                 BAGUA_INVALID_ARGUMENT, "expected a count from 0, found -1");
    bagua_communicator_free(group);
  });
}

// The world's limit is 600 s, the communicator's own 0.2.
TEST(CApiTest, ACommunicatorHasALimitOfItsOwn) {
  std::vector<bagua_world *> worlds(2);
  EXPECT_DONE(bagua_worlds_in_process(2, 600, worlds.data()));
  std::string warned;
  bagua_communicator_options options = {};
  options.struct_size = sizeof(options);
  options.timeout_seconds = 0.2;
  options.on_warning = [](void *user, const char *text) {
    *static_cast<std::string *>(user) = text;
  };
  options.user = &warned;
  bagua_communicator *group = nullptr;
  EXPECT_ERROR(bagua_communicator_create_with(worlds[0], nullptr, 0, "all",
                                              &options, &group),
               BAGUA_DEADLINE_EXCEEDED, "rank 1");
  EXPECT_NE(warned, "");
  for (bagua_world *world : worlds)
    bagua_world_free(world);
}

// A session takes its world's limit of 0.2 s, in place of the 600 s of others.
TEST(CApiTest, ASessionHasTheLimitOfItsWorld) {
  bagua_plan *plan = makePlan(2);
  std::vector<bagua_world *> worlds(2);
  EXPECT_DONE(bagua_worlds_in_process(2, 0.2, worlds.data()));
  bagua_session *session = nullptr;
  EXPECT_ERROR(bagua_session_create(plan, worlds[0], nullptr, &session),
               BAGUA_DEADLINE_EXCEEDED, "waited 200ms for rank 1");
  for (bagua_world *world : worlds)
    bagua_world_free(world);
  bagua_plan_free(plan);
}

// Ranks end with what one of them says.
TEST(CApiTest, AbortsWithAReason) {
  bagua_plan *plan = makePlan(2);
  std::vector<bagua_world *> worlds(2);
  EXPECT_DONE(bagua_worlds_in_process(2, kLongTime, worlds.data()));
  std::atomic<bool> hasStarted{false};
  onThreads(2, [&](int rank) {
    bagua_session *session = nullptr;
    ASSERT_EQ(bagua_session_create(plan, worlds[rank], nullptr, &session),
              BAGUA_OK);
    std::vector<double> buffer(5);
    EXPECT_DONE(bagua_session_bind(session, 4, buffer.data(), 40));
    EXPECT_DONE(bagua_session_start(session));
    // The other one gives its tensor, which this one never does.
    Told told;
    if (rank == 0) {
      hasStarted = true;
      if (bagua_session_begin_step(session) == BAGUA_OK)
        bagua_session_mark_ready(session, 0);
    } else {
      while (!hasStarted)
        std::this_thread::yield();
      bagua_session_abort(session, "no more data");
    }
    bagua_session_on_done(session, 0, tell, &told);
    EXPECT_EQ(bagua_session_wait(session, 0), BAGUA_ABORTED);
    EXPECT_THAT(std::string(bagua_last_error()),
                HasSubstr("rank 1: aborted: no more data"));
    int64_t culprit = -1;
    bagua_last_error_place(&culprit, nullptr, nullptr, nullptr);
    EXPECT_EQ(culprit, 1);
    bagua_session_free(session);
    EXPECT_EQ(told.calls, 1);
    EXPECT_EQ(told.code, BAGUA_ABORTED);
    EXPECT_EQ(told.culprit, 1);
    bagua_world_free(worlds[rank]);
  });
  bagua_plan_free(plan);
}

TEST(CApiTest, TakesNullHandles) {
  EXPECT_EQ(bagua_plan_fingerprint(nullptr), 0u);
  EXPECT_EQ(bagua_plan_ranks(nullptr), -1);
  EXPECT_EQ(bagua_plan_servers(nullptr), -1);
  EXPECT_EQ(bagua_plan_tensor_count(nullptr), 0u);
  EXPECT_EQ(bagua_plan_has_late_updates(nullptr), -1);
  EXPECT_EQ(bagua_world_rank(nullptr), -1);
  EXPECT_EQ(bagua_world_size(nullptr), -1);
  EXPECT_EQ(bagua_world_hosts(nullptr), -1);
  EXPECT_EQ(bagua_world_next_number(nullptr), -1);
  EXPECT_EQ(bagua_session_local_bytes(nullptr, 0), -1);
  EXPECT_EQ(bagua_session_program_updates(nullptr, "w"), -1);
  EXPECT_EQ(bagua_session_first_waiter(nullptr, 0), -1);
  EXPECT_EQ(bagua_session_is_ready(nullptr, 0), -1);
  EXPECT_EQ(bagua_session_step_uses(nullptr, 0), -1);
  EXPECT_EQ(bagua_session_step(nullptr), -1);
  EXPECT_EQ(bagua_session_bytes_sent(nullptr), -1);
  EXPECT_EQ(bagua_session_arena_bytes(nullptr), -1);
  bagua_step_figures figures = {};
  EXPECT_EQ(bagua_session_step_figures(nullptr, 0, &figures),
            BAGUA_INVALID_ARGUMENT);
  bagua_world_limit_stay(nullptr);
  bagua_world_abort(nullptr, "no world");
  bagua_session_abort(nullptr, "no session");
  bagua_plan_free(nullptr);
  bagua_world_free(nullptr);
  bagua_communicator_free(nullptr);
  bagua_session_free(nullptr);
  bagua_memory_free(nullptr);
  bagua_bytes_free(nullptr);
}

TEST(CApiTest, RefusesSizesThatNoStructHas) {
  bagua_plan *plan = makePlan(1);
  bagua_world *world = nullptr;
  bagua_session *session = nullptr;
  bagua_communicator *communicator = nullptr;
  const int self = 0;
  EXPECT_DONE(bagua_worlds_in_process(1, 5, &world));
  for (size_t size : {size_t{7}, sizeof(bagua_session_options) - 1}) {
    bagua_session_options odd = {};
    odd.struct_size = size;
    EXPECT_ERROR(bagua_session_create(plan, world, &odd, &session),
                 BAGUA_INVALID_ARGUMENT,
                 "expected struct_size to be sizeof(bagua_session_options)");
  }
  for (size_t size : {size_t{7}, sizeof(bagua_communicator_options) - 1}) {
    const bagua_communicator_options odd = {size, 0, nullptr, nullptr};
    EXPECT_ERROR(
        bagua_communicator_create_with(world, &self, 1, "own", &odd,
                                       &communicator),
        BAGUA_INVALID_ARGUMENT,
        "expected struct_size to be sizeof(bagua_communicator_options)");
  }
  bagua_world_free(world);
  bagua_plan_free(plan);
}

TEST(CApiTest, NamesMistakes) {
  EXPECT_EQ(bagua_api_version(), uint32_t{BAGUA_API_VERSION});
  bagua_plan *plan = nullptr;
  EXPECT_ERROR(bagua_plan_read(nullptr, &plan), BAGUA_INVALID_ARGUMENT,
               "bagua_plan_read: expected 'path', found null");
  EXPECT_ERROR(bagua_plan_read("/no/such/plan", &plan), BAGUA_NOT_FOUND,
               "/no/such/plan");
  EXPECT_ERROR(bagua_plan_from_bytes("no plan", 7, &plan),
               BAGUA_INVALID_ARGUMENT, "not a plan");
  EXPECT_ERROR(bagua_plan_from_bytes("no plan", SIZE_MAX, &plan),
               BAGUA_INVALID_ARGUMENT, "expected at most 2147483648 bytes");
  EXPECT_EQ(plan, nullptr);
  bagua_world *world = nullptr;
  EXPECT_ERROR(bagua_worlds_in_process(0, 1, &world), BAGUA_INVALID_ARGUMENT,
               "expected a size from 1, found 0");
  EXPECT_ERROR(bagua_worlds_in_process(1, -1, &world), BAGUA_INVALID_ARGUMENT,
               "expected a number of seconds, found -1");
  EXPECT_ERROR(bagua_worlds_in_process(1, NAN, &world), BAGUA_INVALID_ARGUMENT,
               "expected a number of seconds, found nan");
  bagua_world_options options = {};
  EXPECT_ERROR(bagua_world_connect(&options, &world), BAGUA_INVALID_ARGUMENT,
               "expected struct_size to be sizeof(bagua_world_options)");
  // In the middle of a pointer.
  for (size_t cut = 1; cut < sizeof(void *); ++cut) {
    options.struct_size = sizeof(options) - cut;
    EXPECT_ERROR(bagua_world_connect(&options, &world), BAGUA_INVALID_ARGUMENT,
                 "expected struct_size to be sizeof(bagua_world_options)");
  }
  options.struct_size = sizeof(options);
  options.rank = 3;
  options.size = 2;
  EXPECT_ERROR(bagua_world_connect(&options, &world), BAGUA_INVALID_ARGUMENT,
               "expected a rank in [0, 2), found 3");
  options.rank = 0;
  options.store_get = [](void *, const char *, char *, size_t) -> int64_t {
    return -1;
  };
  EXPECT_ERROR(bagua_world_connect(&options, &world), BAGUA_INVALID_ARGUMENT,
               "expected store_set and store_get, found one");
  options.store_set = [](void *, const char *, const char *) { return 1; };
  EXPECT_ERROR(bagua_world_connect(&options, &world), BAGUA_ABORTED,
               "store_set failed for 'bagua/rank0'");
  options.rendezvous = "/tmp/there";
  EXPECT_ERROR(bagua_world_connect(&options, &world), BAGUA_INVALID_ARGUMENT,
               "expected a rendezvous or a store, found both");
  options.rendezvous = nullptr;
  options.store_set = nullptr;
  options.store_get = nullptr;
  // Of a program that is newer than the library.
  struct {
    bagua_world_options known;
    int64_t more;
  } newer = {options, 1};
  newer.known.struct_size = sizeof(newer);
  EXPECT_ERROR(bagua_world_connect(&newer.known, &world), BAGUA_UNIMPLEMENTED,
               "compiled against a newer bagua.h");
  newer.more = 0;
  newer.known.rank = 0;
  newer.known.size = 1;
  std::string rendezvous = testing::TempDir() + "/bagua-c-api-rendezvous";
  newer.known.rendezvous = rendezvous.c_str();
  EXPECT_DONE(bagua_world_connect(&newer.known, &world));
  bagua_plan *one = makePlan(1);
  bagua_session *session = nullptr;
  EXPECT_ERROR(bagua_session_create(one, nullptr, nullptr, &session),
               BAGUA_INVALID_ARGUMENT, "expected 'world', found null");
  EXPECT_DONE(bagua_session_create(one, world, nullptr, &session));
  EXPECT_EQ(bagua_session_local_bytes(session, 5), -1);
  uint32_t number = 0;
  EXPECT_ERROR(bagua_session_find(session, "nobody", &number), BAGUA_NOT_FOUND,
               "'nobody'");
  EXPECT_ERROR(bagua_session_bind(session, 9, &number, 4),
               BAGUA_INVALID_ARGUMENT,
               "expected a tensor's number below 5, found 9");
  EXPECT_ERROR(bagua_session_on_done(session, 0, nullptr, nullptr),
               BAGUA_INVALID_ARGUMENT, "expected 'done', found null");
  const uint32_t first = 0;
  void *const somewhere[] = {&session};
  EXPECT_ERROR(
      bagua_session_mark_each_ready(session, nullptr, nullptr, nullptr, 1),
      BAGUA_INVALID_ARGUMENT, "tensors");
  EXPECT_ERROR(
      bagua_session_mark_each_ready(session, &first, somewhere, nullptr, 1),
      BAGUA_INVALID_ARGUMENT, "bytes");
  EXPECT_ERROR(bagua_session_wait_for_each(session, nullptr, 1),
               BAGUA_INVALID_ARGUMENT, "tensors");
  EXPECT_ERROR(bagua_session_wait(nullptr, 0), BAGUA_INVALID_ARGUMENT,
               "expected 'session', found null");
  void *place = nullptr;
  EXPECT_ERROR(bagua_session_hold(session, 0, 4, &place, nullptr),
               BAGUA_INVALID_ARGUMENT, "expected 'memory', found null");
  EXPECT_ERROR(bagua_session_load_state(session, "x", 1),
               BAGUA_INVALID_ARGUMENT, "");
  bagua_session_free(session);
  bagua_session_free(nullptr);
  bagua_world_free(world);
  bagua_plan_free(one);
  std::remove(rendezvous.c_str());
}

} // namespace
