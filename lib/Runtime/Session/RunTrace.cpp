//===- RunTrace.cpp - The trace that BAGUA_TRACE asks for -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes named events of records, and writes them to a file.
//
//===----------------------------------------------------------------------===//
#include "Session/RunTrace.h"

#include "Files/ReplaceFile.h"

#include "bagua/Runtime/PlanGenerated.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {

using absl::StrCat;

void nameRank(TraceWriter &trace, const Plan &plan, int rank) {
  trace.nameProcess(rank, StrCat("rank ", rank));
  trace.nameThread(rank, 0, "program");
  for (uint32_t i = 0; i < plan.root().streams()->size(); ++i)
    trace.nameThread(rank, static_cast<int>(i) + 1,
                     plan.root().streams()->Get(i)->str());
}

namespace {

/// Why a folder can't take a trace; empty if it can.
std::string refusalOf(const std::string &folder) {
  struct stat about = {};
  if (stat(folder.c_str(), &about) != 0)
    return StrCat("expected a folder, found ", std::strerror(errno));
  if (!S_ISDIR(about.st_mode))
    return "expected a folder, found something else";
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return StrCat("expected a folder to write to, found ",
                  std::strerror(errno));
  return "";
}

/// The path from the root, since the program may change its folder. Empty if
/// there is none.
std::string absolutePath(const std::string &folder) {
  std::unique_ptr<char, decltype(&std::free)> found(
      realpath(folder.c_str(), nullptr), &std::free);
  return found ? found.get() : "";
}

/// The characters of a plan's name that a file name may have.
std::string fileNameOf(const std::string &name) {
  constexpr size_t kMost = 64;
  std::string result = name.substr(0, kMost);
  for (char &c : result)
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_')
      c = '_';
  return result;
}

std::string axesOf(const Plan &plan, const fb::Instruction &op) {
  std::vector<std::string> names;
  if (op.axes())
    for (uint32_t axis : *op.axes())
      names.push_back(plan.root().cluster()->axes()->Get(axis)->name()->str());
  return absl::StrJoin(names, ",");
}

/// Bytes of the largest operand or result on this rank.
int64_t bytesOf(const SessionMemory &memory, const fb::Instruction &op) {
  int64_t bytes = 0;
  for (auto *values : {op.inputs(), op.outputs()})
    if (values)
      for (uint32_t value : *values)
        bytes = std::max(bytes, memory.value(value).bytes());
  return bytes;
}

} // namespace

std::unique_ptr<RunTrace> RunTrace::make(const Source &source) {
  const char *folder = std::getenv("BAGUA_TRACE");
  if (!folder || !*folder)
    return nullptr;
  if (std::string refusal = refusalOf(folder); !refusal.empty()) {
    source.warn(
        StrCat("no trace is written: BAGUA_TRACE='", folder, "': ", refusal));
    return nullptr;
  }
  const auto digits =
      static_cast<int>(StrCat(source.plan.topology().ranks() - 1).size());
  std::string path = absl::StrFormat(
      "%s/%s-%016x-rank%0*d.json", absolutePath(folder),
      fileNameOf(source.plan.root().name()->str()),
      static_cast<uint64_t>(source.session), digits, source.rank);
  try {
    return std::unique_ptr<RunTrace>(new RunTrace(source, std::move(path)));
  } catch (const std::exception &error) {
    source.warn(StrCat("no trace is written: ", error.what()));
    return nullptr;
  }
}

RunTrace::RunTrace(const Source &source, std::string file)
    : plan(source.plan), rank(source.rank), path(std::move(file)),
      warn(source.warn), details(source.operations.size()),
      records(source.programs, plan.root().tensors()->size()) {
  for (uint32_t i = 0; i < details.size(); ++i) {
    const fb::Instruction &op = plan.instruction(i);
    details[i] = {bytesOf(source.memory, op),
                  source.operations[i] ? source.operations[i]->bytesSent : 0,
                  axesOf(plan, op)};
  }
}

void RunTrace::begin(int64_t step) {
  firstStep = step;
  originNs = TraceWriter::nowNs();
}

std::string RunTrace::tensorName(int64_t tensor) const {
  return StrCat(
      "'",
      plan.root().tensors()->Get(static_cast<uint32_t>(tensor))->name()->str(),
      "'");
}

std::string RunTrace::nameOf(const RecordRing::Entry &call) const {
  switch (static_cast<StepRecorder::Call>(call.kind)) {
  case StepRecorder::kStep:
    return StrCat("step ", firstStep + call.step);
  case StepRecorder::kBeginStep:
    return "beginStep";
  case StepRecorder::kGive:
    return StrCat("give ", tensorName(call.subject));
  case StepRecorder::kWait:
    return StrCat("wait ", tensorName(call.subject));
  case StepRecorder::kEndStep:
    return "endStep";
  case StepRecorder::kBarrier:
    return "barrier";
  case StepRecorder::kFinish:
    return "finish";
  }
  return "";
}

TraceWriter::Event RunTrace::eventOf(const RecordRing::Entry &entry, int thread,
                                     std::string name, int64_t now) const {
  TraceWriter::Event event;
  event.name = std::move(name);
  event.process = rank;
  event.thread = thread;
  event.startNs = entry.startNs;
  event.durationNs =
      std::max<int64_t>(0, (entry.endNs ? entry.endNs : now) - entry.startNs);
  event.arguments = {{"step", firstStep + entry.step}};
  if (!entry.endNs)
    event.arguments.push_back({"unfinished", 1});
  return event;
}

void RunTrace::addCalls(TraceWriter &trace, int64_t first, int64_t now) const {
  for (const RecordRing::Entry &call : records.calls()) {
    if (call.step < first)
      continue;
    TraceWriter::Event event = eventOf(call, 0, nameOf(call), now);
    event.isInstant = call.kind == StepRecorder::kGive;
    trace.add(std::move(event));
  }
}

void RunTrace::addInstruction(TraceWriter &trace, uint32_t stream,
                              const RecordRing::Entry &entry,
                              int64_t now) const {
  const auto number = static_cast<uint32_t>(entry.subject);
  const fb::Instruction &op = plan.instruction(number);
  const Details &of = details[number];
  TraceWriter::Event event =
      eventOf(entry, static_cast<int>(stream) + 1, op.name()->str(), now);
  event.arguments.push_back({"instruction", number});
  event.arguments.push_back({"bytes", of.bytes});
  event.arguments.push_back({"bytes_sent", of.bytesSent});
  event.texts = {{"op", fb::EnumNameOpcode(op.opcode())}};
  if (!of.over.empty())
    event.texts.push_back({"over", of.over});
  trace.add(std::move(event));
}

/// Adds what a stream has waited for. The program's thread may run an
/// instruction before the stream's thread has woken; the wait ends there.
void RunTrace::addObstacles(TraceWriter &trace, uint32_t stream,
                            int64_t first) const {
  const std::vector<RecordRing::Entry> instructions =
      records.instructions(stream);
  for (RecordRing::Entry &wait : records.obstacles(stream)) {
    if (wait.step < first)
      continue;
    auto next = std::lower_bound(
        instructions.begin(), instructions.end(), wait.startNs,
        [](auto &entry, int64_t startNs) { return entry.startNs < startNs; });
    if (next != instructions.end())
      wait.endNs = std::min(wait.endNs, next->startNs);
    std::string name =
        wait.kind == StepRecorder::kGift
            ? StrCat("wait for ", tensorName(wait.subject), " to be given")
            : StrCat("wait for stream '",
                     plan.root()
                         .streams()
                         ->Get(static_cast<uint32_t>(wait.subject))
                         ->str(),
                     "'");
    trace.add(eventOf(wait, static_cast<int>(stream) + 1, std::move(name),
                      wait.endNs));
  }
}

/// Empty if there is nothing to write.
std::string RunTrace::text() const {
  const int64_t now = TraceWriter::nowNs();
  int64_t newest = -1;
  for (const RecordRing::Entry &call : records.calls())
    newest = std::max(newest, call.step);
  if (newest < 0)
    return "";
  const int64_t first = newest + 1 - kRecordedSteps;
  TraceWriter trace;
  nameRank(trace, plan, rank);
  addCalls(trace, first, now);
  for (uint32_t i = 0; i < plan.root().streams()->size(); ++i) {
    addObstacles(trace, i, first);
    for (const RecordRing::Entry &entry : records.instructions(i))
      if (entry.step >= first)
        addInstruction(trace, i, entry, now);
  }
  return trace.toJson(originNs);
}

absl::Status RunTrace::writeFile() {
  std::lock_guard<std::mutex> lock(mutex);
  const std::string json = text();
  return json.empty() ? absl::OkStatus() : replaceFile("trace", path, json);
}

void RunTrace::write() noexcept {
  try {
    absl::Status status = writeFile();
    // Called without the lock, since the program may abort in it, which writes
    // again.
    if (!status.ok() && !hasWarned.exchange(true))
      warn(std::string(status.message()));
  } catch (const std::exception &) {
    // Without memory the run continues without a trace.
  }
}

void RunTrace::writeFailure(bool byProgram) noexcept {
  if (!(byProgram ? wroteByProgram : wroteByStream).exchange(true))
    write();
}

} // namespace bagua::runtime
