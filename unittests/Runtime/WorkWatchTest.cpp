//===- WorkWatchTest.cpp - Threads that hang ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time is what the tests say that it is: no look waits for it.
//
//===----------------------------------------------------------------------===//
#include "Communication/WorkWatch.h"
#include "AwaitSleep.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;

/// As absl::Notification, of which ThreadSanitizer knows nothing.
class Event {
public:
  void Notify() {
    std::lock_guard<std::mutex> lock(mutex);
    hasCome = true;
    changed.notify_all();
  }
  void WaitForNotification() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return hasCome; });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool hasCome = false;
};

class WorkWatchTest : public testing::Test {
protected:
  /// What is found by looks `every` so long, in all that is long for a thread.
  std::string look(std::chrono::nanoseconds every = 1s) {
    std::string found;
    for (auto end = now + 20 * kLimit; now < end && found.empty(); now += every)
      found = watch.findStuck(now, kLimit);
    return found;
  }

  static constexpr std::chrono::seconds kLimit{8};
  WorkWatch watch;
  WorkWatch::Station station{watch, [] { return "copy of 'w'"; }};
  WorkWatch::Time now = std::chrono::steady_clock::now();
};

// One that sleeps where nobody waits for others, until it is told.
class Sleeper {
public:
  explicit Sleeper(WorkWatch::Station &station)
      : thread([&] {
          AtWork work(&station);
          number = gettid();
          asleep.Notify();
          over.WaitForNotification();
        }) {
    asleep.WaitForNotification();
    awaitSleep(number);
  }
  ~Sleeper() {
    over.Notify();
    thread.join();
  }

private:
  Event asleep, over;
  pid_t number = 0;
  std::thread thread;
};

TEST_F(WorkWatchTest, a_thread_that_does_not_run_hangs) {
  Sleeper sleeper(station);
  EXPECT_EQ(look(), "copy of 'w'");
}

TEST_F(WorkWatchTest, not_before_the_limit) {
  Sleeper sleeper(station);
  // The first look finds it at work, the second what it is at.
  for (int second = 0; second < 9; ++second)
    EXPECT_EQ(watch.findStuck(now + second * 1s, kLimit), "") << second;
  EXPECT_EQ(watch.findStuck(now + 9s, kLimit), "copy of 'w'");
}

TEST_F(WorkWatchTest, who_is_at_no_work_does_not_hang) {
  {
    Sleeper sleeper(station);
  }
  EXPECT_EQ(look(), "");
}

// For others, or in the program's code.
TEST_F(WorkWatchTest, who_waits_does_not_hang) {
  Event asleep, over;
  std::thread thread([&] {
    AtWork work(&station);
    NotAtWork waiting;
    NotAtWork program; // of which one runs within another
    asleep.Notify();
    over.WaitForNotification();
  });
  asleep.WaitForNotification();
  EXPECT_EQ(look(), "");
  over.Notify();
  thread.join();
}

/// Stops a thread of this process, by another one, until that is told to end.
class Stopped {
public:
  explicit Stopped(pid_t thread) {
    int told[2];
    EXPECT_EQ(pipe(told), 0);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    tracer = fork();
    if (tracer == 0) {
      bool isTraced = ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0 &&
                      ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0 &&
                      waitpid(thread, nullptr, __WALL) == thread;
      if (write(told[1], &isTraced, 1) == 1)
        pause();
      _exit(0);
    }
    EXPECT_EQ(read(told[0], &hasStopped, 1), 1);
  }
  ~Stopped() {
    kill(tracer, SIGKILL);
    waitpid(tracer, nullptr, 0);
  }

  bool hasStopped = false;

private:
  pid_t tracer;
};

/// A thread that has come to a station, and sleeps until it is told.
class Attendant {
public:
  explicit Attendant(WorkWatch::Station &station)
      : thread([&] {
          station.attend();
          number = gettid();
          asleep.Notify();
          over.WaitForNotification();
        }) {
    asleep.WaitForNotification();
    awaitSleep(number);
  }
  ~Attendant() {
    over.Notify();
    thread.join();
  }

  pid_t number = 0;

private:
  Event asleep, over;
  std::thread thread;
};

// A debugger's, wherever it is.
TEST_F(WorkWatchTest, a_thread_that_was_stopped_hangs) {
  Attendant attendant(station);
  EXPECT_EQ(look(), "");
  Stopped stopped(attendant.number);
  if (!stopped.hasStopped)
    GTEST_SKIP() << "this machine lets no process stop a thread of another";
  EXPECT_EQ(look(), "copy of 'w'");
}

// Also where it came while another was at work, which has gone since.
TEST_F(WorkWatchTest, who_came_beside_the_work_of_another_hangs) {
  std::optional<AtWork> work(&station);
  Attendant attendant(station);
  work.reset();
  EXPECT_EQ(look(), "");
  Stopped stopped(attendant.number);
  if (!stopped.hasStopped)
    GTEST_SKIP() << "this machine lets no process stop a thread of another";
  EXPECT_EQ(look(), "copy of 'w'");
}

// The watch looks at the one who is at work, not at one who comes meanwhile.
TEST_F(WorkWatchTest, who_came_beside_work_that_goes_on_does_not_hang) {
  std::atomic<bool> over{false};
  Event begun;
  std::thread computes([&] {
    AtWork work(&station);
    begun.Notify();
    while (!over)
      continue;
  });
  begun.WaitForNotification();
  Attendant attendant(station);
  EXPECT_EQ(look(), "");
  over = true;
  computes.join();
}

// And is at work again afterwards.
TEST_F(WorkWatchTest, who_has_waited_may_hang) {
  Event asleep, over;
  pid_t number = 0;
  std::thread thread([&] {
    AtWork work(&station);
    {
      NotAtWork waiting;
    }
    number = gettid();
    asleep.Notify();
    over.WaitForNotification();
  });
  asleep.WaitForNotification();
  awaitSleep(number);
  EXPECT_EQ(look(), "copy of 'w'");
  over.Notify();
  thread.join();
}

// However long it takes, or has no core.
TEST_F(WorkWatchTest, who_computes_does_not_hang) {
  std::atomic<bool> over{false};
  Event begun;
  std::thread thread([&] {
    AtWork work(&station);
    begun.Notify();
    while (!over)
      continue;
  });
  begun.WaitForNotification();
  EXPECT_EQ(look(), "");
  over = true;
  thread.join();
}

// Where the whole process was stopped nobody could run.
TEST_F(WorkWatchTest, time_in_which_nobody_looked_does_not_count) {
  Sleeper sleeper(station);
  EXPECT_EQ(look(/*every=*/5s), "");
}

} // namespace
} // namespace bagua::runtime
