//===- WorkWatch.cpp - Finds threads that hang in their own work ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The system tells for each thread whether it is ready to run, and how often it
// has started and stopped running.
//
//===----------------------------------------------------------------------===//
#include "Communication/WorkWatch.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {
namespace {

thread_local WorkWatch::Station *ownStation = nullptr;

pid_t ownThread() {
  static thread_local const pid_t self = gettid();
  return self;
}

/// A text that changes when a thread runs. Empty if the thread need not run, or
/// if nothing is known about it: it is ready to run, or it waits for others and
/// is not stopped.
std::string progressOf(pid_t thread, bool isAtWork) {
  std::ifstream status(absl::StrCat("/proc/self/task/", thread, "/status"));
  std::string line, progress;
  while (std::getline(status, line)) {
    const bool isState = absl::StartsWith(line, "State:");
    if (isState && absl::StrContains(line, "R ("))
      return {};
    if (isState && !isAtWork && !absl::StrContains(line, "stop"))
      return {};
    if (absl::StrContains(line, "ctxt_switches"))
      absl::StrAppend(&progress, line, " ");
  }
  return progress;
}

} // namespace

WorkWatch::Station::Station(WorkWatch &ownWatch,
                            std::function<std::string()> ownDescribe)
    : watch(ownWatch), describe(std::move(ownDescribe)) {
  std::lock_guard<std::mutex> lock(watch.mutex);
  watch.stations.push_back(this);
}

WorkWatch::Station::~Station() {
  std::lock_guard<std::mutex> lock(watch.mutex);
  watch.stations.erase(
      std::find(watch.stations.begin(), watch.stations.end(), this));
}

void WorkWatch::Station::attend() {
  attendant.store(ownThread(), std::memory_order_relaxed);
}

std::string WorkWatch::findStuck(Time now, std::chrono::nanoseconds limit) {
  std::lock_guard<std::mutex> lock(mutex);
  const bool wasStopped = now - std::exchange(lastLook, now) > limit / 2;
  for (Station *station : stations) {
    Station::Look &last = station->last;
    const uint64_t turns = station->turns.load(std::memory_order_acquire);
    const bool isSame = turns == std::exchange(last.turns, turns);
    const pid_t worker = station->worker.load(std::memory_order_relaxed);
    const pid_t thread =
        worker ? worker : station->attendant.load(std::memory_order_relaxed);
    // The system is not asked about threads that came or went since the last
    // look.
    std::string progress = isSame
                               ? progressOf(thread, /*isAtWork=*/turns % 2 == 1)
                               : std::string();
    const bool hasMoved =
        progress.empty() || progress != last.progress || wasStopped;
    last.progress = std::move(progress);
    if (hasMoved)
      last.since = now;
    else if (now - last.since >= limit)
      return station->describe();
  }
  return {};
}

AtWork::AtWork(WorkWatch::Station *at) : station(at) {
  if (!station)
    return;
  station->worker.store(ownThread(), std::memory_order_relaxed);
  station->turns.fetch_add(1, std::memory_order_release);
  ownStation = station;
}

AtWork::~AtWork() {
  if (!station)
    return;
  ownStation = nullptr;
  station->turns.fetch_add(1, std::memory_order_release);
  station->worker.store(0, std::memory_order_relaxed);
}

NotAtWork::NotAtWork() : station(std::exchange(ownStation, nullptr)) {
  if (station)
    station->turns.fetch_add(1, std::memory_order_release);
}

NotAtWork::~NotAtWork() {
  if (!station)
    return;
  station->turns.fetch_add(1, std::memory_order_release);
  ownStation = station;
}

} // namespace bagua::runtime
