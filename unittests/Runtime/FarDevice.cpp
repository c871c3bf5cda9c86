//===- FarDevice.cpp - A device that is not the host ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each piece of memory is at two addresses: its own, where nothing is mapped,
// and one that the device's threads go by.
//
//===----------------------------------------------------------------------===//
#include "FarDevice.h"

#include "bagua/Runtime/Device.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

namespace bagua::runtime::test {
namespace {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

class FarMemory {
public:
  /// `near` is freed with it.
  std::shared_ptr<std::byte> add(std::shared_ptr<std::byte> near,
                                 size_t bytes) {
    // Behind the last byte, too, nothing is to be found.
    const size_t mapped = bytes + 1;
    void *far = mmap(nullptr, mapped, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(far != MAP_FAILED);
    auto *begin = static_cast<std::byte *>(far);
    std::lock_guard<std::mutex> lock(mutex);
    pieces[begin] = {near.get(), bytes};
    return {begin, [this, mapped, near](std::byte *address) {
              std::lock_guard<std::mutex> free(mutex);
              pieces.erase(address);
              munmap(address, mapped);
            }};
  }

  /// Null where the address, and so many bytes behind it, are none of these.
  std::byte *find(const std::byte *address, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    auto piece = pieces.upper_bound(address);
    if (piece == pieces.begin())
      return nullptr;
    --piece;
    const auto offset = static_cast<size_t>(address - piece->first);
    return offset + bytes <= piece->second.bytes ? piece->second.near + offset
                                                 : nullptr;
  }

private:
  struct Piece {
    std::byte *near;
    size_t bytes;
  };
  std::mutex mutex;
  std::map<const std::byte *, Piece> pieces;
};

FarMemory &farMemory() {
  static FarMemory memory;
  return memory;
}

template <typename T> T *nearOf(T *address) {
  auto *found =
      farMemory().find(reinterpret_cast<const std::byte *>(address), 0);
  return found ? reinterpret_cast<T *>(found) : address;
}
const void *nearOf(const void *address) {
  return nearOf(static_cast<const std::byte *>(address));
}
void *nearOf(void *address) {
  return nearOf(static_cast<std::byte *>(address));
}

//===----------------------------------------------------------------------===//
// Timelines
//===----------------------------------------------------------------------===//

/// The timelines that the device knows. Using another one, or dismissing one
/// that work still uses, ends the process.
class FarTimelines {
public:
  void admit(const Timeline &timeline) {
    std::lock_guard<std::mutex> lock(mutex);
    known[&timeline] = {};
  }
  void dismiss(const Timeline &timeline) {
    std::lock_guard<std::mutex> lock(mutex);
    check(known.count(&timeline) > 0 && known[&timeline].uses == 0,
          "a timeline is dismissed that work uses, or that is not known");
    known.erase(&timeline);
  }
  void release(const Timeline &timeline) {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto found = known.find(&timeline); found != known.end())
      found->second.isReleased = true;
  }
  void use(const Timeline &timeline, int change) {
    std::lock_guard<std::mutex> lock(mutex);
    check(known.count(&timeline) > 0, "a timeline is used that is not known");
    known[&timeline].uses += change;
  }
  bool isReleased(const Timeline &timeline) {
    std::lock_guard<std::mutex> lock(mutex);
    return known[&timeline].isReleased;
  }

private:
  struct State {
    int uses = 0;
    bool isReleased = false;
  };
  static void check(bool isRight, const char *what) {
    if (isRight)
      return;
    std::fprintf(stderr, "far device: %s\n", what);
    std::abort();
  }
  std::mutex mutex;
  std::map<const Timeline *, State> known;
};

FarTimelines &farTimelines() {
  static FarTimelines timelines;
  return timelines;
}

//===----------------------------------------------------------------------===//
// Queues
//===----------------------------------------------------------------------===//

/// While it is set, no queue works.
std::atomic<bool> isStalled{false};

/// Work comes a little late, in order; after an error only what is always done.
class LateQueue final : public FarQueue {
public:
  explicit LateQueue(std::function<void(const absl::Status &)> onError)
      : tell(std::move(onError)), thread([this] { work(); }) {}
  ~LateQueue() override {
    push([this] { isOver = true; });
    thread.join();
  }

  void pushWork(std::function<absl::Status()> run) {
    push([this, run = std::move(run)] {
      if (error.ok())
        take(run());
    });
  }

  bool canFollow() const override { return true; }
  /// Knows that a timeline has failed only when it is told.
  void follow(const Timeline &timeline, uint64_t value) override {
    farTimelines().use(timeline, +1);
    push([this, &timeline, value] {
      while (error.ok() && !timeline.reached(value)) {
        if (farTimelines().isReleased(timeline))
          take(absl::AbortedError("what the queue waits for has failed"));
        std::this_thread::yield();
      }
      farTimelines().use(timeline, -1);
    });
  }
  void signal(Timeline &timeline, uint64_t value) override {
    farTimelines().use(timeline, +1);
    push([this, &timeline, value] {
      if (error.ok()) {
        timeline.signal(value);
        timeline.tell();
      } else {
        timeline.fail();
        farTimelines().release(timeline);
      }
      farTimelines().use(timeline, -1);
    });
  }
  absl::Status copyRows(void *to, size_t toStride, const void *from,
                        size_t fromStride, size_t rowBytes,
                        size_t rows) override {
    pushWork([=] {
      return cpuQueue().copyRows(nearOf(to), toStride, nearOf(from), fromStride,
                                 rowBytes, rows);
    });
    return absl::OkStatus();
  }
  absl::Status zero(void *to, size_t bytes) override {
    pushWork([=] { return cpuQueue().zero(nearOf(to), bytes); });
    return absl::OkStatus();
  }
  absl::Status drain(std::chrono::nanoseconds limit) override {
    auto done = std::make_shared<std::promise<absl::Status>>();
    push([this, done] { done->set_value(error); });
    std::future<absl::Status> status = done->get_future();
    return status.wait_for(limit) == std::future_status::ready
               ? status.get()
               : absl::DeadlineExceededError("the far device works on");
  }
  void fail(const absl::Status &why) override {
    pushWork([why] { return why; });
  }
  void hold(const std::atomic<bool> &isHeld) override {
    push([&isHeld] {
      while (isHeld)
        std::this_thread::yield();
    });
  }

private:
  /// On the queue's thread.
  void take(const absl::Status &result) {
    error = result;
    if (!error.ok() && tell)
      tell(error);
  }

  void push(std::function<void()> next) {
    std::lock_guard<std::mutex> lock(mutex);
    todo.push_back(std::move(next));
    changed.notify_all();
  }

  void work() {
    std::minstd_rand random(std::random_device{}());
    while (!isOver) {
      std::function<void()> next;
      {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return !todo.empty(); });
        next = std::move(todo.front());
        todo.pop_front();
      }
      while (isStalled)
        std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
      next();
    }
  }

  const std::function<void(const absl::Status &)> tell;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> todo;
  // The thread's.
  bool isOver = false;
  absl::Status error;
  std::thread thread;
};

/// At once, where the queue is the host's.
absl::Status runOn(Queue &queue, std::function<absl::Status()> work) {
  auto *late = dynamic_cast<LateQueue *>(&queue);
  if (!late)
    return work();
  late->pushWork(std::move(work));
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// One of the host's, on memory that is near: where the values are is looked up
/// when it is enqueued, as the arguments of a launch are.
class FarKernel final : public Kernel {
public:
  FarKernel(const KernelTable::Bind &bind, const fb::Instruction &instruction,
            std::vector<LocalValue> inputs, std::vector<LocalValue> outputs) {
    const size_t count = inputs.size() + outputs.size();
    addresses.resize(count);
    for (std::vector<LocalValue> *values : {&inputs, &outputs})
      for (LocalValue &value : *values) {
        places.push_back(value.place);
        value.place = Place(&addresses[places.size() - 1]);
      }
    kernel = bind(instruction, inputs, outputs);
  }

  absl::Status launch(Queue &queue, int64_t step) override {
    std::vector<std::byte *> now;
    for (Place place : places)
      now.push_back(nearOf(place.address()));
    return runOn(queue, [this, now, step] {
      std::copy(now.begin(), now.end(), addresses.begin());
      return kernel->launch(cpuQueue(), step);
    });
  }

private:
  std::vector<Place> places;
  std::vector<std::byte *> addresses;
  std::unique_ptr<Kernel> kernel;
};

class FarDevice final : public Device {
public:
  FarDevice() {
    for (const auto &[opcode, bind] : cpuDevice().kernels().all())
      table.set(opcode, [&bind = bind](const auto &...arguments) {
        return std::make_unique<FarKernel>(bind, arguments...);
      });
  }

  absl::Status checkAddress(const void *data, size_t bytes) const override {
    if (bytes == 0 ||
        farMemory().find(static_cast<const std::byte *>(data), bytes))
      return absl::OkStatus();
    return absl::InvalidArgumentError("expected memory of the far device");
  }
  absl::StatusOr<std::unique_ptr<Queue>>
  createQueue(std::function<void(const absl::Status &)> onError) override {
    return std::make_unique<LateQueue>(std::move(onError));
  }
  void admit(Timeline &timeline) override { farTimelines().admit(timeline); }
  void dismiss(Timeline &timeline) override {
    farTimelines().dismiss(timeline);
  }
  void release(Timeline &timeline) override {
    farTimelines().release(timeline);
  }
  const KernelTable &kernels() const override { return table; }

private:
  KernelTable table;
};

} // namespace

Device &farDevice() {
  static FarDevice device;
  return device;
}

std::shared_ptr<std::byte> makeFarMemory(std::shared_ptr<std::byte> near,
                                         size_t bytes) {
  return farMemory().add(std::move(near), bytes);
}

std::shared_ptr<std::byte> allocateFar(size_t bytes) {
  return makeFarMemory(
      {new std::byte[bytes + 1](), std::default_delete<std::byte[]>()}, bytes);
}

void stallFar(bool isOn) { isStalled = isOn; }

std::byte *near(std::byte *address) { return nearOf(address); }
void *near(void *address) { return nearOf(address); }
const void *near(const void *address) { return nearOf(address); }

absl::Status enqueueFar(Queue &queue, std::function<absl::Status()> work) {
  return runOn(queue, std::move(work));
}

std::unique_ptr<FarQueue> makeFarQueue() {
  return std::make_unique<LateQueue>(nullptr);
}

} // namespace bagua::runtime::test
