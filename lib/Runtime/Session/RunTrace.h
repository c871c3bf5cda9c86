//===- RunTrace.h - The trace that BAGUA_TRACE asks for -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If the environment variable BAGUA_TRACE names a folder, a session records its
// last steps. It writes them there when it finishes, when its run fails and
// when it is destroyed: a file for each rank of each session, in Chrome's
// format. A file that can't be written causes one warning and no error.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_RUNTRACE_H
#define BAGUA_LIB_RUNTIME_SESSION_RUNTRACE_H

#include "Session/Operation.h"
#include "Session/StepRecorder.h"

#include "bagua/Runtime/Plan.h"
#include "bagua/Support/TraceWriter.h"

#include "absl/status/status.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace bagua::runtime {

/// Names a rank and its threads in the same way for every trace of a run.
void nameRank(TraceWriter &trace, const Plan &plan, int rank);

class RunTrace {
public:
  struct Source {
    const Plan &plan;
    int rank;
    /// The session's number, the same on all its ranks.
    int64_t session;
    const SessionMemory &memory;
    const std::vector<std::unique_ptr<Operation>> &operations;
    const std::vector<StreamPrograms> &programs;
    std::function<void(const std::string &)> warn;
  };

  /// Null if no trace is asked for. Also null, with a warning, if none can be
  /// written.
  static std::unique_ptr<RunTrace> make(const Source &source);

  StepRecorder &recorder() { return records; }
  /// Times count from now, the beginning of step `firstStep`: all ranks have
  /// just met.
  void begin(int64_t firstStep);

  /// Writes the recorded steps, replacing an earlier file. May be called from
  /// any thread.
  void write() noexcept;
  /// Writes the trace of a run that has failed: once for the streams, and once
  /// more for the program (`byProgram`), when one of its calls has returned the
  /// error.
  void writeFailure(bool byProgram) noexcept;

private:
  /// The facts that the spans of an instruction show.
  struct Details {
    int64_t bytes = 0;
    int64_t bytesSent = 0;
    /// The axes over which the instruction communicates: "node,gpu".
    std::string over;
  };

  RunTrace(const Source &source, std::string path);
  absl::Status writeFile();
  std::string text() const;
  void addCalls(TraceWriter &trace, int64_t first, int64_t now) const;
  void addObstacles(TraceWriter &trace, uint32_t stream, int64_t first) const;
  void addInstruction(TraceWriter &trace, uint32_t stream,
                      const RecordRing::Entry &entry, int64_t now) const;
  TraceWriter::Event eventOf(const RecordRing::Entry &entry, int thread,
                             std::string name, int64_t now) const;
  std::string nameOf(const RecordRing::Entry &call) const;
  std::string tensorName(int64_t tensor) const;

  const Plan &plan;
  const int rank;
  const std::string path;
  const std::function<void(const std::string &)> warn;
  std::vector<Details> details;
  StepRecorder records;
  int64_t firstStep = 0;
  int64_t originNs = 0;

  std::mutex mutex;
  std::atomic<bool> hasWarned{false};
  std::atomic<bool> wroteByProgram{false}, wroteByStream{false};
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_RUNTRACE_H
