//===- WaitReport.h - How an object reports its waits ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each world and each session has such a report, by which Waits.h finds it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_WAITREPORT_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_WAITREPORT_H

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

namespace bagua::runtime {

class WaitReport {
public:
  /// `describe` appends whole lines. It is called on any thread as long as the
  /// report lives, and must not wait for long: see tryFor().
  explicit WaitReport(std::function<void(std::string &)> describe);
  ~WaitReport();
  WaitReport(const WaitReport &) = delete;
  WaitReport &operator=(const WaitReport &) = delete;

  void append(std::string &text) const { describe(text); }

private:
  const std::function<void(std::string &)> describe;
};

/// Locks the mutex; returns no lock if another thread keeps it for long.
std::unique_lock<std::mutex> tryFor(std::mutex &mutex);

/// From the first call on, writes describeWaits() on the signal that the
/// environment names.
void dumpOnSignal();

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_WAITREPORT_H
