//===- CoreUsers.h - Whether to spin before sleeping ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_COREUSERS_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_COREUSERS_H

#include <algorithm>
#include <atomic>
#include <thread>

namespace bagua::runtime {

/// Counts threads that each need a core of this host. If there are fewer cores
/// than threads, a spinning thread takes a core from the one it waits for.
class CoreUsers {
public:
  void add(int threads) { count.fetch_add(threads, std::memory_order_relaxed); }
  void remove(int threads) { add(-threads); }

  bool haveCoresForAll() const {
    return count.load(std::memory_order_relaxed) <= kCores;
  }

private:
  static inline const int kCores =
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<int> count{0};
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_COREUSERS_H
