//===- WorkWatch.h - Threads that hang in work of their own ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank's threads copy and add up without waiting for anybody. One that does
// not come back from there (a page of a file whose server is gone, a debugger)
// keeps all other ranks waiting while its process lives and says so. Who is
// merely slow, or has no core, is told from one that hangs: it is ready to run,
// or has run.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_WORKWATCH_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_WORKWATCH_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <vector>

namespace bagua::runtime {

/// Of one rank.
class WorkWatch {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// Where one thread at a time works. Outlived by the watch.
  class Place {
  public:
    /// `describe`: what is at work there, or comes next; called by another
    /// thread.
    Place(WorkWatch &watch, std::function<std::string()> describe);
    ~Place();
    Place(const Place &) = delete;
    Place &operator=(const Place &) = delete;

    /// This thread comes here to work now and then.
    void attend();

  private:
    friend class WorkWatch;
    friend class AtWork;
    friend class NotAtWork;
    /// What the watch saw at its last look.
    struct Look {
      uint64_t turns = 0;
      std::string progress;
      Time since;
    };

    WorkWatch &watch;
    const std::function<std::string()> describe;
    /// Odd while somebody is at work.
    std::atomic<uint64_t> turns{0};
    /// The thread that is at work; 0: none. The one that comes here now and
    /// then; 0: none yet. Two, since one may come while another is at work.
    std::atomic<pid_t> worker{0};
    std::atomic<pid_t> attendant{0};
    Look last;
  };

  /// To be called some times within `limit`, by one thread: describes what a
  /// thread is at that was there all that time, and neither ran nor waited for
  /// a core; or that was stopped all that time, at work or not. Empty: none. If
  /// this thread did not run itself for half of the limit, the time begins
  /// anew.
  std::string findStuck(Time now, std::chrono::nanoseconds limit);

private:
  std::mutex mutex;
  std::vector<Place *> places;
  Time lastLook;
};

/// While it lives this thread is at work at a place, if there is one.
class AtWork {
public:
  explicit AtWork(WorkWatch::Place *place);
  ~AtWork();
  AtWork(const AtWork &) = delete;
  AtWork &operator=(const AtWork &) = delete;

private:
  WorkWatch::Place *const place;
};

/// While it lives this thread is not, whatever lives around it: it waits for
/// others, or runs the program's code, which may take any time.
class NotAtWork {
public:
  NotAtWork();
  ~NotAtWork();
  NotAtWork(const NotAtWork &) = delete;
  NotAtWork &operator=(const NotAtWork &) = delete;

private:
  /// Null: the thread is at no watched work.
  WorkWatch::Place *const place;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_WORKWATCH_H
