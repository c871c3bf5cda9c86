//===- ExecutorWaits.cpp - A report of a session's waits ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state is read while everything runs: each line was true at some time.
//
//===----------------------------------------------------------------------===//
#include "Session/Executor.h"
#include "Session/StepConditions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include <algorithm>

namespace bagua::runtime {

/// Names the first condition that does not hold, though a queue could wait for
/// it.
std::string Executor::describeObstacle(const Stream &stream,
                                       uint64_t sequence) const {
  const Position at = sequences.positionOf(stream.number, sequence);
  std::string found = "is about to begin";
  const Slot *slot = slotAt(stream, at);
  if (!slot)
    return found;
  findCondition(
      sequences, stream.number, at, slot->scheduled->waits,
      [&](uint32_t tensor, int64_t step) {
        if (isPromised(tensor, countOf(step)))
          return false;
        found = messages.waits(tensor, -1);
        return true;
      },
      [&](uint32_t other, uint64_t target) {
        if (streams[other]->completed.reached(target))
          return false;
        found = messages.waits(-1, other);
        return true;
      });
  return found;
}

std::string Executor::describeStream(const Stream &stream) const {
  const uint64_t sequence = stream.next();
  std::string what;
  if (!sequences.isOpen(stream.number, sequence))
    what = "has nothing to do";
  else
    what = absl::StrCat(describeCall(stream, sequence), " ",
                        stream.isTaken() ? "is in progress"
                                         : describeObstacle(stream, sequence));
  const int64_t since = stream.since.load(std::memory_order_relaxed);
  return absl::StrCat(what, ", for ",
                      absl::FormatDuration(absl::Milliseconds(
                          std::max<int64_t>(0, nowMilliseconds() - since))));
}

/// The tensors that the program must still give in the open step.
std::string Executor::describeGifts() const {
  constexpr size_t kShown = 8;
  std::vector<std::string> missing;
  const uint64_t count = opened.value();
  if (count == 0)
    return "has given no tensor";
  const auto &waiters =
      sequences.programOf(static_cast<int64_t>(count) - 1).firstWaiter;
  for (uint32_t i = 0; i < given.size(); ++i)
    if (waiters[i] >= 0 && !isPromised(i, count))
      missing.push_back(messages.tensor(i));
  if (missing.empty())
    return "has given all tensors";
  const size_t more = missing.size() - std::min(missing.size(), kShown);
  missing.resize(missing.size() - more);
  return absl::StrCat("has not given ", absl::StrJoin(missing, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

void Executor::appendWaits(std::string &text) const {
  absl::StrAppend(&text, "  session of plan '",
                  plan.root().name() ? plan.root().name()->str() : "",
                  "', rank ", rank);
  std::unique_lock<std::mutex> lock = tryFor(streamsMutex);
  if (!lock || streams.empty()) {
    absl::StrAppend(&text, lock ? ": no streams run\n"
                                : ": a thread that hangs keeps its streams\n");
    return;
  }
  const auto count = static_cast<int64_t>(opened.value());
  absl::StrAppend(&text, hasFailed() ? ", which has failed" : "",
                  count > 0 ? absl::StrCat(", step ", firstStep + count - 1)
                            : std::string(", before its first step"),
                  ": the program ", describeGifts());
  if (const int64_t tensor = awaited.load(std::memory_order_relaxed);
      tensor != kNothing)
    absl::StrAppend(&text, "; it waits for ", messages.awaited(tensor));
  if (const int64_t step = meetingBefore.load(std::memory_order_relaxed);
      step >= 0)
    absl::StrAppend(&text, "; it waits in the ",
                    messages.barrier(firstStep + step));
  text += "\n";
  for (auto &stream : streams)
    if (stream)
      absl::StrAppend(&text, "    ", messages.stream(stream->number), ": ",
                      describeStream(*stream), "\n");
}

int64_t Executor::nowMilliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace bagua::runtime
