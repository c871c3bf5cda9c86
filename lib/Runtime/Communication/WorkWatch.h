//===- WorkWatch.h - Finds threads that hang in their own work ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads of a rank copy and add without waiting for anybody. A thread that
// never returns from such work (a page of a file whose server is gone, a
// debugger) keeps all other ranks waiting, while its process lives and says so.
// A thread that is only slow, or has no core, is distinguished from one that
// hangs: it is ready to run, or has run.
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

/// The watch of one rank.
class WorkWatch {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// A station where one thread at a time works. The watch outlives it.
  class Station {
  public:
    /// `describe` returns the work in progress or next at this station. Another
    /// thread calls it.
    Station(WorkWatch &watch, std::function<std::string()> describe);
    ~Station();
    Station(const Station &) = delete;
    Station &operator=(const Station &) = delete;

    /// Says that this thread works here from time to time.
    void attend();

  private:
    friend class WorkWatch;
    friend class AtWork;
    friend class NotAtWork;
    /// The watch's last look at this station.
    struct Look {
      uint64_t turns = 0;
      std::string progress;
      Time since;
    };

    WorkWatch &watch;
    const std::function<std::string()> describe;
    /// Odd while a thread is at work.
    std::atomic<uint64_t> turns{0};
    /// `worker` is the thread at work, or 0. `attendant` is the thread that
    /// works here from time to time, or 0 if none has. They may differ: one
    /// thread may attend while another is at work.
    std::atomic<pid_t> worker{0};
    std::atomic<pid_t> attendant{0};
    Look last;
  };

  /// To be called some times within `limit`, by one thread. Describes the work
  /// of a thread that, all that time, was at work and neither ran nor waited
  /// for a core, or that was stopped, at work or not. Empty if there is none.
  /// If the calling thread itself did not run for half of the limit, the time
  /// starts again.
  std::string findStuck(Time now, std::chrono::nanoseconds limit);

private:
  std::mutex mutex;
  std::vector<Station *> stations;
  Time lastLook;
};

/// While this object lives, its thread is at work at a station, if that is not
/// null.
class AtWork {
public:
  explicit AtWork(WorkWatch::Station *station);
  ~AtWork();
  AtWork(const AtWork &) = delete;
  AtWork &operator=(const AtWork &) = delete;

private:
  WorkWatch::Station *const station;
};

/// While this object lives, its thread is not at work, even inside an AtWork:
/// it waits for others, or runs the program's code, which may take any time.
class NotAtWork {
public:
  NotAtWork();
  ~NotAtWork();
  NotAtWork(const NotAtWork &) = delete;
  NotAtWork &operator=(const NotAtWork &) = delete;

private:
  /// Null if the thread was at no watched work.
  WorkWatch::Station *const station;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_WORKWATCH_H
