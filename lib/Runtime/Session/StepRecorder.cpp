//===- StepRecorder.cpp - A record of a session's last steps --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of rings, and how rings are read while they are written.
//
//===----------------------------------------------------------------------===//
#include "Session/StepRecorder.h"

#include "bagua/Support/TraceWriter.h"

#include <algorithm>

namespace bagua::runtime {

std::vector<RecordRing::Entry> RecordRing::read() const {
  std::vector<Entry> entries;
  for (const Slot &slot : slots) {
    const uint64_t stamp = slot.stamp.load(std::memory_order_acquire);
    if (stamp == 0 || stamp % 2 == 1)
      continue; // empty, or being written
    Entry entry;
    entry.number = stamp / 2 - 1;
    entry.step = slot.step.load(std::memory_order_acquire);
    entry.subject = slot.subject.load(std::memory_order_acquire);
    entry.kind = slot.kind.load(std::memory_order_acquire);
    entry.startNs = slot.startNs.load(std::memory_order_acquire);
    entry.endNs = slot.endNs.load(std::memory_order_acquire);
    if (slot.stamp.load(std::memory_order_relaxed) == stamp)
      entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.number < b.number; });
  return entries;
}

StepRecorder::StepRecorder(const std::vector<StreamPrograms> &programs,
                           size_t tensors)
    // A program gives a tensor once in a step, and usually waits for it once.
    : program(kRecordedSteps * (2 * tensors + 4)) {
  const size_t count = programs.front().streams.size();
  streams.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    size_t longest = 0;
    for (const StreamPrograms &program : programs)
      longest = std::max(longest, program.streams[i].size());
    streams.push_back({RecordRing(kRecordedSteps * longest),
                       RecordRing(2 * kRecordedSteps * longest), 0});
  }
}

void StepRecorder::beginInstruction(uint32_t stream, uint64_t sequence,
                                    uint32_t number, int64_t step) {
  streams[stream].instructions.write(
      {sequence, step, number, 0, TraceWriter::nowNs(), 0});
}

void StepRecorder::endInstruction(uint32_t stream, uint64_t sequence) {
  streams[stream].instructions.end(sequence, TraceWriter::nowNs());
}

void StepRecorder::recordObstacle(uint32_t stream, int64_t step, Obstacle kind,
                                  int64_t subject, int64_t startNs) {
  StreamRings &rings = streams[stream];
  rings.obstacles.write({rings.nextObstacle++, step, subject, kind, startNs,
                         TraceWriter::nowNs()});
}

uint64_t StepRecorder::begin(Call call, int64_t step, int64_t subject) {
  program.write({nextCall, step, subject, call, TraceWriter::nowNs(), 0});
  return nextCall++;
}

void StepRecorder::end(uint64_t number) {
  program.end(number, TraceWriter::nowNs());
}

void StepRecorder::record(Call call, int64_t step, int64_t subject) {
  const int64_t now = TraceWriter::nowNs();
  program.write({nextCall++, step, subject, call, now, now});
}

} // namespace bagua::runtime
