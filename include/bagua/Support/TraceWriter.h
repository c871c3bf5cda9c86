//===- TraceWriter.h - Chrome traces --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects intervals and writes them as Chrome trace JSON, which
// chrome://tracing and Perfetto show. One writer serves all ranks of a process.
// Runs and the simulator both use it, so that their traces can be compared.
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
  /// `process` is a rank. `thread` is 0 for the program, and a stream's number
  /// + 1 for the stream.
  struct Event {
    std::string name;
    int process = 0;
    int thread = 0;
    /// From any clock, the same one for all events.
    int64_t startNs = 0;
    int64_t durationNs = 0;
    std::vector<std::pair<std::string, int64_t>> arguments;
    // NOLINTNEXTLINE(readability-redundant-member-init): may be left out.
    std::vector<std::pair<std::string, std::string>> texts = {};
    /// Whether the event is a mark, and not an interval.
    bool isInstant = false;
  };

  /// All functions are safe to call from any thread.
  void nameProcess(int process, std::string name);
  void nameThread(int process, int thread, std::string name);
  void add(Event event);
  size_t size() const;

  /// The events sorted by process, thread and start.
  std::vector<Event> sortedEvents() const;

  /// The sorted events as JSON; times count from the earliest one, or from
  /// `originNs`.
  std::string toJson(std::optional<int64_t> originNs = std::nullopt) const;

  /// The time now in ns, on the steady clock that runs use.
  static int64_t nowNs();

private:
  mutable std::mutex mutex;
  std::vector<Event> events;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
};

} // namespace bagua

#endif // BAGUA_SUPPORT_TRACEWRITER_H
