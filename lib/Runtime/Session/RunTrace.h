//===- RunTrace.h - The trace that BAGUA_TRACE asks for -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the environment variable BAGUA_TRACE names a folder, a session records
// its last steps, and writes them there when it finishes, when its run fails
// and when it is destroyed: a file for each rank of each session, in Chrome's
// format. What can't be written is warned of once, and ends nothing.
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

/// Names a rank and its threads, as every trace of a run has them.
void nameRank(TraceWriter &trace, const Plan &plan, int rank);

class RunTrace {
public:
  struct Source {
    const Plan &plan;
    int rank;
    /// The session's number, which all its ranks have alike.
    int64_t session;
    const SessionMemory &memory;
    const std::vector<std::unique_ptr<Operation>> &operations;
    const StreamPrograms &schedule;
    std::function<void(const std::string &)> warn;
  };

  /// Null where no trace is asked for, or none can be written, of which it
  /// warns.
  static std::unique_ptr<RunTrace> make(const Source &source);

  StepRecorder &recorder() { return records; }
  /// Times count from now, which is step `firstStep`: all ranks have just met.
  void begin(int64_t firstStep);

  /// Writes what there is, in place of what was written before. From any
  /// thread.
  void write() noexcept;
  /// The same when the run has failed: once for the streams, and once more for
  /// the program (`byProgram`), when a call of its has ended with the error.
  void writeFailure(bool byProgram) noexcept;

private:
  /// Of an instruction, what its spans say.
  struct Details {
    int64_t bytes = 0;
    int64_t bytesSent = 0;
    /// The axes over which it communicates: "node,gpu".
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
