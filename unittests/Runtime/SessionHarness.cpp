//===- SessionHarness.cpp - Sessions on all ranks of a plan ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads, worlds and buffers.
//
//===----------------------------------------------------------------------===//
#include "SessionHarness.h"

#include "FarBackend.h"

#include "Session/TensorOwners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace bagua::runtime::test {
namespace {

std::shared_ptr<std::byte> allocate(size_t bytes, bool isFar) {
  if (isFar)
    return allocateFar(bytes);
  return {new std::byte[bytes](), std::default_delete<std::byte[]>()};
}

absl::Status runRank(const std::shared_ptr<const Plan> &plan,
                     std::unique_ptr<World> world, const RankBody &body,
                     const HarnessOptions &options, std::atomic<int> &created) {
  RankContext context; // the session goes before the buffers
  SessionOptions sessionOptions = options.session;
  sessionOptions.timeout = options.timeout;
  if (options.isFar)
    sessionOptions.backend = kFar;
  auto session = Session::create(plan, std::move(world), sessionOptions);
  // What one does next must not end what others are still making.
  ++created;
  while (created < plan->topology().ranks())
    std::this_thread::yield();
  if (!session.ok())
    return session.status();
  context.session = *std::move(session);
  if (options.isFar)
    context.queue = makeFarQueue();
  context.isMoving = findMovable(*plan);
  if (!movesTensors())
    context.isMoving.assign(context.isMoving.size(), false);
  context.moved.resize(context.isMoving.size());
  const auto &tensors = *plan->root().tensors();
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const auto bytes =
        static_cast<size_t>(context.session->localBytes(TensorId(i)));
    context.buffers.push_back(allocate(bytes, options.isFar));
    context.isInArena.push_back(tensors.Get(i)->arena() >= 0);
    if (tensors.Get(i)->arena() < 0)
      BAGUA_RETURN_IF_ERROR(context.session->bind(
          TensorId(i), context.buffers.back().get(), bytes));
    context.session->programUpdates(tensors.Get(i)->name()->str());
    BAGUA_RETURN_IF_ERROR(
        context.session->address(TensorId(i), bytes).status());
  }
  if (options.beforeStart)
    BAGUA_RETURN_IF_ERROR(options.beforeStart(context));
  BAGUA_RETURN_IF_ERROR(context.session->start());
  absl::Status status = absl::OkStatus();
  try {
    status = body(context);
  } catch (const std::exception &exception) {
    status = absl::UnknownError(exception.what());
  }
  if (context.queue)
    context.queue->drain().IgnoreError(); // it signals the session's timelines
  context.session.reset();
  return status;
}

} // namespace

absl::Status RankContext::give(uint32_t tensor) {
  if (tensor >= isMoving.size()) // there is none
    return session->markReady(TensorId(tensor));
  const auto bytes = static_cast<size_t>(session->localBytes(TensorId(tensor)));
  // Given for the second time: a mistake.
  if (!moved[tensor].staged.empty())
    return session->markReady(TensorId(tensor), *queue);
  const bool moves = isMoving[tensor] && !moved[tensor].place;
  if (!moves && !queue)
    return session->markReady(TensorId(tensor));
  // Until it is there, what lies at its place is something else.
  auto *home = data<std::byte>(tensor);
  std::vector<std::byte> staged(home, home + bytes);
  std::fill_n(home, bytes, std::byte{0xee});
  if (!moves) {
    moved[tensor].staged = std::move(staged);
    BAGUA_RETURN_IF_ERROR(
        queue->copy(address(tensor), moved[tensor].staged.data(), bytes));
    return session->markReady(TensorId(tensor), *queue);
  }
  moved[tensor].place = allocate(bytes, queue != nullptr);
  std::byte *place = moved[tensor].place.get();
  if (!queue) {
    std::copy(staged.begin(), staged.end(), place);
    return session->markReady(TensorId(tensor), place, bytes);
  }
  moved[tensor].staged = std::move(staged);
  BAGUA_RETURN_IF_ERROR(queue->copy(place, moved[tensor].staged.data(), bytes));
  return session->markReady(TensorId(tensor), place, bytes, *queue);
}

absl::Status RankContext::wait(uint32_t tensor) {
  absl::Status status = queue ? session->wait(TensorId(tensor), *queue)
                              : session->wait(TensorId(tensor));
  // Why it has failed says the session.
  if (status.ok() && queue && !queue->drain().ok())
    status = session->wait(TensorId(tensor));
  if (status.ok())
    moved[tensor].staged.clear();
  if (status.ok() && moved[tensor].place) {
    std::memcpy(data<std::byte>(tensor), near(moved[tensor].place.get()),
                static_cast<size_t>(session->localBytes(TensorId(tensor))));
    moved[tensor].place.reset();
  }
  return status;
}

absl::Status RankContext::step(const std::vector<uint32_t> &tensors) {
  BAGUA_RETURN_IF_ERROR(session->beginStep());
  for (uint32_t tensor : tensors)
    BAGUA_RETURN_IF_ERROR(give(tensor));
  for (uint32_t tensor : tensors)
    BAGUA_RETURN_IF_ERROR(wait(tensor));
  return session->endStep();
}

PlanBuilder makeOneGradient(int64_t ranks, int64_t count) {
  PlanBuilder plan({{"gpu", ranks}});
  plan.addTensor("g", {count});
  uint32_t g = plan.whole(0);
  plan.addOp(fb::Opcode::AllReduce, {g}, {g}, {0});
  return plan;
}

std::string message(const absl::Status &status) {
  return std::string(status.message());
}

void expectOnAllRanks(const std::vector<absl::Status> &statuses,
                      const testing::Matcher<std::string> &matcher) {
  for (const absl::Status &status : statuses)
    EXPECT_THAT(message(status), matcher);
}

const TestBackend &backend() {
  const char *name = std::getenv("BAGUA_TEST_BACKEND");
  const std::vector<TestBackend> &known = testBackends();
  auto found =
      std::find_if(known.begin(), known.end(), [&](const TestBackend &entry) {
        return entry.name == (name ? name : "in_process");
      });
  if (found == known.end()) {
    std::fprintf(stderr, "BAGUA_TEST_BACKEND: no backend is called '%s'\n",
                 name);
    std::exit(2);
  }
  return *found;
}

BackendTraits traits() { return isFar() ? kFarTraits : backend().traits; }

bool movesTensors() { return std::getenv("BAGUA_TEST_MOVES"); }
bool isFar() { return std::getenv("BAGUA_TEST_DEVICE"); }

std::vector<absl::Status> runRanks(const std::shared_ptr<const Plan> &plan,
                                   const RankBody &body,
                                   HarnessOptions options) {
  auto size = static_cast<int>(plan->topology().ranks());
  auto worlds = backend().createWorlds(size, options.timeout);
  std::vector<absl::Status> statuses(size);
  std::atomic<int> created{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      statuses[rank] = runRank(plan,
                               options.isFar ? makeFar(std::move(worlds[rank]))
                                             : std::move(worlds[rank]),
                               body, options, created);
    });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

void runAll(const std::shared_ptr<const Plan> &plan, const RankBody &body,
            HarnessOptions options) {
  ASSERT_NE(plan, nullptr);
  std::vector<absl::Status> statuses = runRanks(plan, body, std::move(options));
  for (size_t rank = 0; rank < statuses.size(); ++rank)
    EXPECT_TRUE(statuses[rank].ok())
        << "rank " << rank << ": " << statuses[rank];
}

} // namespace bagua::runtime::test
