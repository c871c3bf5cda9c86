//===- TraceWriter.h - Chrome traces --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects intervals and writes them as Chrome trace JSON, which
// chrome://tracing and Perfetto show. One writer serves all ranks of a process;
// a simulator uses it as a run does, so that both can be laid side by side.
//
//   TraceWriter trace;
//   trace.nameProcess(0, "rank 0");
//   trace.nameThread(0, 1, "comm");
//   trace.add({"bucket1", 0, 1, start, duration, {{"bytes", 4096}}});
//   file << trace.toJson();
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_TRACEWRITER_H
#define BAGUA_SUPPORT_TRACEWRITER_H

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bagua {

class TraceWriter {
public:
  /// `process` is a rank; `thread` 0 is the program, a stream is its number
  /// + 1.
  struct Event {
    std::string name;
    int process = 0;
    int thread = 0;
    /// On any clock, the same for all events.
    int64_t startNs = 0;
    int64_t durationNs = 0;
    std::vector<std::pair<std::string, int64_t>> arguments;
    // NOLINTNEXTLINE(readability-redundant-member-init): may be left out.
    std::vector<std::pair<std::string, std::string>> texts = {};
    /// A mark, and no interval.
    bool isInstant = false;
  };

  /// All are safe to call from any threads.
  void nameProcess(int process, std::string name);
  void nameThread(int process, int thread, std::string name);
  void add(Event event);
  size_t size() const;

  /// By process, thread and start.
  std::vector<Event> sortedEvents() const;

  /// Of the sorted events; times count from the earliest one, or from
  /// `originNs`.
  std::string toJson(std::optional<int64_t> originNs = std::nullopt) const;

  /// Now, on the clock that runs use: steady, in ns.
  static int64_t nowNs();

private:
  mutable std::mutex mutex;
  std::vector<Event> events;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
};

} // namespace bagua

#endif // BAGUA_SUPPORT_TRACEWRITER_H
