//===- AwaitSleep.h - Until another thread waits --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a test in which one does something while another already waits, inside of
// a call that says nothing of that:
//
//   std::atomic<pid_t> waiter{0};
//   ... waiter = gettid(); communicator->barrier();   // on one thread
//   ... awaitSleep(waiter); worlds[2]->abort(why);    // on the other
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_AWAITSLEEP_H
#define BAGUA_UNITTESTS_RUNTIME_AWAITSLEEP_H

#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <sys/types.h>
#include <thread>

namespace bagua::runtime {

/// Whether a thread of this process sleeps, or has ended.
inline bool isAsleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  return !std::getline(file, text) || text.find(") S ") != std::string::npos;
}

inline void awaitSleep(pid_t thread) {
  while (!isAsleep(thread))
    std::this_thread::yield();
}

/// Once it has said its number, too.
inline void awaitSleep(const std::atomic<pid_t> &thread) {
  while (thread == 0)
    std::this_thread::yield();
  awaitSleep(thread.load());
}

/// How often it has begun to sleep.
inline int64_t sleepsOf(pid_t thread) {
  const std::string name = "voluntary_ctxt_switches:";
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string word; file >> word;)
    if (int64_t times = 0; word == name && file >> times)
      return times;
  return 0;
}

} // namespace bagua::runtime

#endif // BAGUA_UNITTESTS_RUNTIME_AWAITSLEEP_H
