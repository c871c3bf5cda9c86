//===- SharedRegionTest.cpp - Memory that processes of a host share -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Out of the reach of a process that lives, though it is lost: each test has a
// second process, which does as it is told.
//
//===----------------------------------------------------------------------===//
#include "Communication/SharedMemory/SharedRegion.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace bagua::runtime {
namespace {

constexpr size_t kPartBytes = size_t{64} << 20;
constexpr size_t kBytes = size_t{8} << 20;

/// Rank 1 of two, of which this process is rank 0.
class Other {
public:
  explicit Other(const SharedRegion &region) {
    EXPECT_EQ(pipe(orders), 0);
    EXPECT_EQ(pipe(answers), 0);
    process = fork();
    if (process == 0)
      obey(region.descriptor());
    tell(0); // once it has the memory
  }
  ~Other() { end(); }

  /// Has it write `value` over all of rank 0's memory.
  void overwrite(char value) { tell(value); }
  /// What it finds at an offset of that.
  char look(size_t at) {
    tell('?');
    EXPECT_EQ(write(orders[1], &at, sizeof at), ssize_t{sizeof at});
    return answer();
  }
  void end() {
    if (process < 0)
      return;
    close(orders[1]);
    waitpid(process, nullptr, 0);
    process = -1;
  }

private:
  void tell(char order) {
    EXPECT_EQ(write(orders[1], &order, 1), 1);
    EXPECT_EQ(answer(), order);
  }
  char answer() {
    char got = 0;
    EXPECT_EQ(read(answers[0], &got, 1), 1);
    return got;
  }

  [[noreturn]] void obey(int file) {
    close(orders[1]);
    auto region =
        SharedRegion::open(Descriptor(dup(file)), 2, kPartBytes, /*place=*/1);
    if (!region.ok())
      _exit(1);
    (*region)->mark(1);
    char order = 0;
    std::byte *memory = (*region)->addresses().at(0);
    while (read(orders[0], &order, 1) == 1) {
      if (order != 0 && order != '?')
        std::memset(memory, order, kBytes);
      if (write(answers[1], &order, 1) != 1)
        break;
      size_t at = 0;
      if (order == '?' && (read(orders[0], &at, sizeof at) != sizeof at ||
                           write(answers[1], memory + at, 1) != 1))
        break;
    }
    _exit(0);
  }

  int orders[2];
  int answers[2];
  pid_t process;
};

bool isAll(const std::byte *memory, size_t bytes, char value) {
  return std::all_of(memory, memory + bytes,
                     [&](std::byte each) { return each == std::byte(value); });
}

class SharedRegionTest : public testing::Test {
protected:
  void SetUp() override {
    auto made = SharedRegion::create(2, kPartBytes);
    ASSERT_TRUE(made.ok()) << made.status();
    region = *std::move(made);
    region->mark(0);
    memory = *region->allocate(kBytes);
  }

  std::shared_ptr<SharedRegion> region;
  std::byte *memory = nullptr;
};

// A rank that was stopped while it wrote, and goes on when others have given it
// up, writes to what is no longer theirs.
TEST_F(SharedRegionTest, a_process_that_is_lost_reaches_nothing_withdrawn) {
  Other other(*region);
  other.overwrite('a');
  EXPECT_TRUE(isAll(memory, kBytes, 'a'));
  ASSERT_TRUE(region->withdraw({1}).ok());
  EXPECT_TRUE(region->isWithdrawn());
  EXPECT_TRUE(isAll(memory, kBytes, 'a'));
  std::memset(memory, 'b', kBytes / 2);
  other.overwrite('c');
  EXPECT_TRUE(isAll(memory, kBytes / 2, 'b'));
  EXPECT_TRUE(isAll(memory + kBytes / 2, kBytes / 2, 'a'));
  EXPECT_EQ(other.look(0), 'c');
  // What others see of it is freed, and this process's own is not.
  region->forgetWithdrawn();
  EXPECT_EQ(other.look(kBytes / 2), 0);
  EXPECT_TRUE(isAll(memory, kBytes / 2, 'b'));
  EXPECT_TRUE(isAll(memory + kBytes / 2, kBytes / 2, 'a'));
  EXPECT_TRUE(absl::IsFailedPrecondition(region->allocate(1).status()));
  region->free(memory);
}

// Which nobody has used yet.
TEST_F(SharedRegionTest, zeros_are_withdrawn_too) {
  Other other(*region);
  ASSERT_TRUE(region->withdraw({1}).ok());
  other.overwrite('c');
  EXPECT_TRUE(isAll(memory, kBytes, 0));
}

// Another survivor may be reading: what it sees stays as it was.
TEST_F(SharedRegionTest, others_go_on_finding_what_was_there) {
  Other other(*region);
  std::memset(memory, 'a', kBytes);
  ASSERT_TRUE(region->withdraw({1}).ok());
  std::memset(memory, 'b', kBytes);
  EXPECT_EQ(other.look(0), 'a');
  EXPECT_EQ(other.look(kBytes - 1), 'a');
}

// Members meet there for as long as any of them needs it.
TEST_F(SharedRegionTest, places_to_meet_stay_shared) {
  // Where the other writes.
  region->free(memory);
  memory = *region->allocate(kBytes, SharedRegion::Use::Meeting);
  Other other(*region);
  ASSERT_TRUE(region->withdraw({1}).ok());
  region->forgetWithdrawn();
  other.overwrite('a');
  EXPECT_TRUE(isAll(memory, kBytes, 'a'));
}

// A program's own threads, which know nothing of a loss.
TEST_F(SharedRegionTest, threads_that_write_meanwhile_lose_nothing) {
  constexpr int kThreads = 3;
  constexpr size_t kStride = 4096;
  Other other(*region);
  std::atomic<bool> isOver{false};
  std::atomic<int> started{0};
  std::vector<std::vector<uint32_t>> counted(
      kThreads, std::vector<uint32_t>(kBytes / kStride));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (size_t at = 0; !isOver; at = (at + 1) % (kBytes / kStride)) {
        // Each has words of its own in all pages.
        auto *word = reinterpret_cast<uint32_t *>(memory + at * kStride);
        word[thread] = ++counted[thread][at];
        started = std::max<int>(started, at > 0);
      }
    });
  while (started == 0)
    std::this_thread::yield();
  EXPECT_TRUE(region->withdraw({1}).ok());
  isOver = true;
  for (std::thread &thread : threads)
    thread.join();
  other.overwrite('c');
  for (size_t at = 0; at < kBytes / kStride; ++at)
    for (int thread = 0; thread < kThreads; ++thread)
      ASSERT_EQ(reinterpret_cast<uint32_t *>(memory + at * kStride)[thread],
                counted[thread][at]);
}

// Which costs a copy, and as much memory again.
TEST_F(SharedRegionTest, nothing_is_withdrawn_from_who_has_ended) {
  Other other(*region);
  other.end();
  ASSERT_TRUE(region->withdraw({1}).ok());
  EXPECT_FALSE(region->isWithdrawn());
  EXPECT_TRUE(region->allocate(1).ok());
}

// Each rank's part begins at a page, also where ranks and memory are so many
// that what a process can address has to be shared out.
TEST(SharedRegionPartsTest, parts_begin_at_pages) {
  auto region = SharedRegion::create(3, size_t{1} << 44);
  if (!region.ok())
    GTEST_SKIP() << region.status();
  auto third = SharedRegion::open(Descriptor(dup((*region)->descriptor())), 3,
                                  size_t{1} << 44, 2);
  ASSERT_TRUE(third.ok()) << third.status();
  auto memory = (*third)->allocate(1);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 4096, 0u);
}

} // namespace
} // namespace bagua::runtime
