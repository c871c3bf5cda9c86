//===- SessionHarness.h - Sessions on all ranks of a plan -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs one function a rank, each on its own thread with a session of its own,
// and memory for every tensor that the program binds. With BAGUA_TEST_MOVES
// set, every tensor that may is given at an address of its own each time, which
// is freed when it is taken back. With BAGUA_TEST_DEVICE set, tensors are on a
// device that is far (FarDevice.h): the program hands them over in a queue.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_SESSIONHARNESS_H
#define BAGUA_UNITTESTS_RUNTIME_SESSIONHARNESS_H

#include "CommunicatorBackends.h"
#include "FarDevice.h"
#include "PlanBuilder.h"

#include "bagua/Runtime/Session.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bagua::runtime::test {

/// A rank's session, started, with all tensors bound. What it uses outlives it.
struct RankContext {
  struct Moved {
    std::shared_ptr<std::byte> place;
    /// Of a tensor on a far device: what is on its way there.
    std::vector<std::byte> staged;
  };
  /// By tensor: what is bound, where it doesn't live in an arena.
  std::vector<std::shared_ptr<std::byte>> buffers;
  /// Where tensors were given.
  std::vector<Moved> moved;
  /// The program's. Null: it works on the host.
  std::unique_ptr<FarQueue> queue;
  std::unique_ptr<Session> session;
  std::vector<bool> isInArena;
  std::vector<bool> isMoving;

  int rank() const { return session->rank(); }

  template <typename T> T *data(uint32_t tensor) {
    return reinterpret_cast<T *>(near(address(tensor)));
  }
  /// By which the session knows it.
  std::byte *address(uint32_t tensor) {
    if (!isInArena[tensor])
      return buffers[tensor].get();
    auto bytes = static_cast<size_t>(session->localBytes(TensorId(tensor)));
    return static_cast<std::byte *>(*session->address(TensorId(tensor), bytes));
  }
  template <typename T> int64_t count(uint32_t tensor) {
    return session->localBytes(TensorId(tensor)) /
           static_cast<int64_t>(sizeof(T));
  }
  absl::Status give(uint32_t tensor);
  absl::Status wait(uint32_t tensor);

  /// A step that gives tensors in order and takes them back.
  absl::Status step(const std::vector<uint32_t> &tensors);
};

using RankBody = std::function<absl::Status(RankContext &)>;

/// Whether BAGUA_TEST_MOVES, or BAGUA_TEST_DEVICE, is set.
bool movesTensors();
bool isFar();

struct HarnessOptions {
  /// Of the sessions and of their worlds.
  std::chrono::nanoseconds timeout = kLongTime;
  SessionOptions session;
  /// Called before start().
  RankBody beforeStart;
  /// Whether tensors are on a far device.
  bool isFar = test::isFar();
};

/// What ranks of these tests are: of BAGUA_TEST_BACKEND, else threads.
const TestBackend &backend();
/// What the communicators of sessions promise.
BackendTraits traits();

/// What each rank's body (or what came before it) returned. A body that throws
/// counts as Unknown.
std::vector<absl::Status> runRanks(const std::shared_ptr<const Plan> &plan,
                                   const RankBody &body,
                                   HarnessOptions options = {});

/// One gradient, reduced in place; tensor 0.
PlanBuilder makeOneGradient(int64_t ranks, int64_t count = 100);

std::string message(const absl::Status &status);
/// Of every one of them.
void expectOnAllRanks(const std::vector<absl::Status> &statuses,
                      const testing::Matcher<std::string> &matcher);

/// Fails the test unless all ranks return Ok.
void runAll(const std::shared_ptr<const Plan> &plan, const RankBody &body,
            HarnessOptions options = {});

} // namespace bagua::runtime::test

#define BAGUA_RETURN_IF_ERROR(expression)                                      \
  if (absl::Status status = (expression); !status.ok())                        \
  return status

#endif // BAGUA_UNITTESTS_RUNTIME_SESSIONHARNESS_H
