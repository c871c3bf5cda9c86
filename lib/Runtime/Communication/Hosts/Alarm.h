//===- Alarm.h - Ends waits in time ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For waits that can be interrupted but have no limit of their own: one thread
// a process, which sleeps until the next time that somebody has set.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_ALARM_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_ALARM_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace bagua::runtime {

/// Outlives its entries.
class Alarm {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// May throw std::system_error: no thread.
  Alarm();
  ~Alarm();

  class Entry {
  public:
    /// `ring` is called on the alarm's thread and must be quick.
    Entry(Alarm &alarm, std::function<void()> ring);
    ~Entry();
    Entry(const Entry &) = delete;
    Entry &operator=(const Entry &) = delete;

    /// Rings once at `time`, in place of what was set before; Time::max():
    /// never. Wakes nobody but for a time before all others.
    void set(Time time);

  private:
    friend class Alarm;
    Alarm &alarm;
    const std::function<void()> ring;
    Time due = Time::max();
    std::list<Entry *>::iterator place;
  };

private:
  void run();

  std::mutex mutex;
  std::condition_variable changed;
  std::list<Entry *> entries;
  /// When the thread wakes next.
  Time planned = Time::max();
  bool isStopping = false;
  std::thread thread;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_ALARM_H
