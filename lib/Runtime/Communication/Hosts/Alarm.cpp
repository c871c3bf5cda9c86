//===- Alarm.cpp - Ends waits in time -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times are mostly put off before they come: the thread then finds nothing to
// do when it wakes, and looks for the next one.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/Alarm.h"

#include "Communication/ThreadName.h"

#include <algorithm>
#include <utility>

namespace bagua::runtime {

Alarm::Alarm()
    : thread([this] {
        nameThread("alarm");
        run();
      }) {}

Alarm::~Alarm() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopping = true;
    changed.notify_all();
  }
  thread.join();
}

void Alarm::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isStopping) {
    planned = Time::max();
    for (Entry *entry : entries) {
      if (entry->due <= std::chrono::steady_clock::now()) {
        entry->due = Time::max();
        entry->ring();
      }
      planned = std::min(planned, entry->due);
    }
    // Time::max() itself is too far for some clocks.
    if (planned == Time::max())
      changed.wait(lock);
    else
      changed.wait_until(lock, planned);
  }
}

Alarm::Entry::Entry(Alarm &ownAlarm, std::function<void()> ownRing)
    : alarm(ownAlarm), ring(std::move(ownRing)) {
  std::lock_guard<std::mutex> lock(alarm.mutex);
  place = alarm.entries.insert(alarm.entries.end(), this);
}

Alarm::Entry::~Entry() {
  std::lock_guard<std::mutex> lock(alarm.mutex);
  alarm.entries.erase(place);
}

void Alarm::Entry::set(Time time) {
  std::lock_guard<std::mutex> lock(alarm.mutex);
  due = time;
  if (due < alarm.planned)
    alarm.changed.notify_all();
}

} // namespace bagua::runtime
