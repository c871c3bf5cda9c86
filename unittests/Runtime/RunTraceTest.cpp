//===- RunTraceTest.cpp - The trace that BAGUA_TRACE asks for -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What files there are, and what stands in them beside what the plan says.
//
//===----------------------------------------------------------------------===//
#include "AllocationCount.h"
#include "PlanBuilder.h"
#include "SessionHarness.h"

#include "bagua/Runtime/Waits.h"

#include "Plan/Opcodes.h"
#include "Session/StepRecorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace bagua::runtime::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A folder of its own, which BAGUA_TRACE names.
class RunTraceTest : public testing::Test {
protected:
  RunTraceTest() {
    std::string path = testing::TempDir() + "traceXXXXXX";
    folder = mkdtemp(path.data());
    setenv("BAGUA_TRACE", folder.c_str(), 1);
  }
  ~RunTraceTest() override {
    unsetenv("BAGUA_TRACE");
    fs::remove_all(folder);
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto &entry : fs::directory_iterator(folder))
      found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  /// The events of the one file of `rank`.
  json eventsOf(int rank) const {
    json events;
    int count = 0;
    const std::string ending = "-rank" + std::to_string(rank) + ".json";
    for (const fs::path &file : files())
      if (absl::EndsWith(file.string(), ending)) {
        events = json::parse(std::ifstream(file))["traceEvents"];
        ++count;
      }
    EXPECT_EQ(count, 1);
    return events;
  }

  fs::path folder;
};

int64_t stepOf(const json &event) { return event["args"]["step"]; }

/// In whole nanoseconds, which the text of a trace has.
int64_t ns(const json &microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

/// Of the intervals of each thread, any two are apart or one is in the other.
void expectNested(const json &events) {
  std::map<int, std::vector<std::pair<int64_t, int64_t>>> open;
  for (const json &event : events) {
    if (event["ph"] == "M")
      continue;
    const int64_t start = ns(event["ts"]);
    const int64_t end = start + (event["ph"] == "X" ? ns(event["dur"]) : 0);
    auto &stack = open[event["tid"]];
    while (!stack.empty() && stack.back().second <= start)
      stack.pop_back();
    if (!stack.empty()) {
      EXPECT_LE(end, stack.back().second) << event;
    }
    stack.push_back({start, end});
  }
}

/// By step: how often each name is there.
using Names = std::map<int64_t, std::multiset<std::string>>;
Names namesOf(const json &events, const char *kind, bool isOfProgram) {
  Names names;
  for (const json &event : events)
    if (event["ph"] == kind && (event["tid"] == 0) == isOfProgram)
      names[stepOf(event)].insert(event["name"]);
  return names;
}

TEST_F(RunTraceTest, NobodyAsksForATrace) {
  unsetenv("BAGUA_TRACE");
  runAll(makeDdpPlan(2).load(), [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
    return rank.session->finish();
  });
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(RunTraceTest, TheLastStepsAsThePlanHasThem) {
  auto plan = makeDdpPlan(2).load();
  runAll(plan, [](RankContext &rank) -> absl::Status {
    for (int step = 0; step < 11; ++step)
      BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
    return rank.session->finish();
  });
  EXPECT_THAT(files(), SizeIs(2));
  for (int rank : {0, 1}) {
    const json events = eventsOf(rank);
    expectNested(events);
    Names gifts = namesOf(events, "i", true),
          calls = namesOf(events, "X", true);
    Names streams = namesOf(events, "X", false);
    ASSERT_THAT(gifts, SizeIs(8));
    ASSERT_THAT(calls, SizeIs(8));
    ASSERT_THAT(streams, SizeIs(8));
    for (int64_t step = 3; step < 11; ++step) {
      EXPECT_EQ(gifts[step],
                (std::multiset<std::string>{"give 'l1.weight.grad'",
                                            "give 'l2.weight.grad'",
                                            "give 'l3.weight.grad'"}));
      std::multiset<std::string> expected = {"beginStep",
                                             "endStep",
                                             "wait 'l1.weight.grad'",
                                             "wait 'l2.weight.grad'",
                                             "wait 'l3.weight.grad'",
                                             "step " + std::to_string(step)};
      if (step == 10)
        expected.insert("finish");
      EXPECT_EQ(calls[step], expected);
      // Bucket and tensors share their places, so nothing is copied.
      EXPECT_EQ(streams[step].count("AllReduce0"), 1u);
      EXPECT_EQ(streams[step].count("AllReduce2"), 1u);
      for (const std::string &name : streams[step])
        EXPECT_TRUE(name == "AllReduce0" || name == "AllReduce2" ||
                    name.rfind("wait for 'l", 0) == 0)
            << name;
    }
  }
}

TEST_F(RunTraceTest, WhatASpanSaysOfItsInstruction) {
  runAll(makeDdpPlan(2).load(), [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
    return rank.session->finish();
  });
  int found = 0;
  for (const json &event : eventsOf(1)) {
    EXPECT_EQ(event["pid"], 1);
    if (event["name"] != "AllReduce2")
      continue;
    ++found;
    EXPECT_EQ(event["tid"], 1);
    EXPECT_EQ(event["args"], (json{{"step", 0},
                                   {"instruction", 2},
                                   {"bytes", (517 + 259) * 4},
                                   {"bytes_sent", (517 + 259) * 4},
                                   {"op", "AllReduce"},
                                   {"over", "gpu"}}));
  }
  EXPECT_EQ(found, 1);
}

/// Of all opcodes, on several streams.
TEST_F(RunTraceTest, EachInstructionOnceAStep) {
  auto plan = makeEveryOpcodePlan().load();
  const auto &instructions = *plan->root().steps()->Get(0)->instructions();
  std::vector<uint32_t> given;
  for (uint32_t i = 0; i < plan->root().tensors()->size(); ++i)
    if (plan->root().tensors()->Get(i)->given_by_program())
      given.push_back(i);
  runAll(plan, [&](RankContext &rank) -> absl::Status {
    for (int step = 0; step < 3; ++step) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      for (uint32_t tensor : given)
        BAGUA_RETURN_IF_ERROR(rank.give(tensor));
      for (uint32_t i = 0; i < plan->root().tensors()->size(); ++i)
        BAGUA_RETURN_IF_ERROR(rank.wait(i));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    }
    return rank.session->finish();
  });
  const auto collectives = static_cast<size_t>(
      std::count_if(instructions.begin(), instructions.end(), [](auto *op) {
        return kindOf(op->opcode()) == InstructionKind::Collective;
      }));
  for (int rank = 0; rank < 4; ++rank) {
    const json events = eventsOf(rank);
    expectNested(events);
    std::map<int64_t, std::vector<int64_t>> seen;
    std::map<int64_t, size_t> seenCollectives;
    for (const json &event : events) {
      if (event["ph"] == "M" || !event["args"].contains("instruction"))
        continue;
      const uint32_t number = event["args"]["instruction"];
      const fb::Instruction &op = *instructions.Get(number);
      EXPECT_EQ(event["name"], op.name()->str());
      EXPECT_EQ(event["tid"], op.stream() + 1);
      EXPECT_EQ(event["args"]["op"], fb::EnumNameOpcode(op.opcode()));
      seen[stepOf(event)].push_back(number);
      seenCollectives[stepOf(event)] +=
          kindOf(op.opcode()) == InstructionKind::Collective;
    }
    ASSERT_THAT(seen, SizeIs(3));
    for (auto &[step, numbers] : seen) {
      EXPECT_EQ(numbers.size(),
                std::set<int64_t>(numbers.begin(), numbers.end()).size());
      EXPECT_EQ(seenCollectives[step], collectives);
    }
  }
}

bool isAwaited(const std::string &tensor) {
  return describeWaits().find("it waits for tensor '" + tensor + "'") !=
         std::string::npos;
}

/// The file is there when the program hears of the failure, for it may end
/// right then.
TEST_F(RunTraceTest, ARunThatFails) {
  std::mutex mutex;
  std::map<int, json> found;
  std::atomic<bool> hasGiven{false};
  runRanks(makeOneGradient(2).load(), [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    if (rank.rank() == 1) {
      // In its second step, rank 0 is on its way to wait, or at it. On a far
      // device its queue waits, and not its thread.
      while (!hasGiven || (!isFar() && !isAwaited("g")))
        std::this_thread::yield();
      rank.session->abort(absl::AbortedError("no more data"));
    } else {
      BAGUA_RETURN_IF_ERROR(rank.give(0));
      hasGiven = true;
    }
    absl::Status status = rank.wait(0);
    EXPECT_FALSE(status.ok());
    std::lock_guard<std::mutex> lock(mutex);
    found[rank.rank()] = eventsOf(rank.rank());
    return status;
  });
  ASSERT_THAT(found, SizeIs(2));
  for (auto &[rank, events] : found) {
    std::set<std::string> unfinished, finished;
    std::vector<int64_t> waits;
    for (const json &event : events) {
      if (event["ph"] != "M")
        (event["args"].contains("unfinished") ? unfinished : finished)
            .insert(event["name"]);
      if (event["name"] == "wait 'g'")
        waits.push_back(stepOf(event));
    }
    EXPECT_EQ(unfinished.count("step 1"), 1u);
    EXPECT_EQ(finished.count("step 0"), 1u);
    EXPECT_EQ(finished.count("AllReduce0"), 1u);
    if (rank == 0 && !isFar()) {
      EXPECT_EQ(unfinished.count("AllReduce0"), 1u);
      EXPECT_EQ(waits, (std::vector<int64_t>{0, 1}));
    }
  }
}

TEST_F(RunTraceTest, AFolderThatIsNotThere) {
  for (const std::string &path :
       {(folder / "missing").string(), std::string("/dev/null")}) {
    setenv("BAGUA_TRACE", path.c_str(), 1);
    std::mutex mutex;
    std::vector<std::string> warnings;
    HarnessOptions options;
    options.session.onWarning = [&](const std::string &text) {
      std::lock_guard<std::mutex> lock(mutex);
      warnings.push_back(text);
    };
    runAll(
        makeOneGradient(2).load(),
        [](RankContext &rank) -> absl::Status {
          BAGUA_RETURN_IF_ERROR(rank.step({0}));
          return rank.session->finish();
        },
        options);
    EXPECT_THAT(warnings, SizeIs(2));
    EXPECT_THAT(warnings,
                Each(AllOf(HasSubstr(": no trace is written: BAGUA_TRACE='" +
                                     path + "': expected a folder, found "))));
  }
}

/// It goes while the program trains, which is told once and ends well.
TEST_F(RunTraceTest, AFolderThatGoes) {
  std::mutex mutex;
  std::vector<std::string> warnings;
  HarnessOptions options;
  options.session.onWarning = [&](const std::string &text) {
    std::lock_guard<std::mutex> lock(mutex);
    warnings.push_back(text);
  };
  std::atomic<int> started{0};
  runAll(
      makeOneGradient(2).load(),
      [&](RankContext &rank) -> absl::Status {
        ++started;
        while (started < 2)
          std::this_thread::yield();
        fs::remove_all(folder);
        for (int round = 0; round < 3; ++round) {
          BAGUA_RETURN_IF_ERROR(rank.step({0}));
          BAGUA_RETURN_IF_ERROR(rank.session->finish());
        }
        return absl::OkStatus();
      },
      options);
  EXPECT_THAT(warnings, SizeIs(2));
  EXPECT_THAT(warnings,
              Each(AllOf(HasSubstr(": can't write trace '"),
                         HasSubstr("open: No such file or directory"))));
}

TEST_F(RunTraceTest, SessionsHaveFilesOfTheirOwn) {
  for (int session = 0; session < 2; ++session)
    runAll(makeOneGradient(2).load(), [](RankContext &rank) -> absl::Status {
      BAGUA_RETURN_IF_ERROR(rank.step({0}));
      return rank.session->finish();
    });
  EXPECT_THAT(files(), SizeIs(4));
}

/// A worker that loads data has its parent's session, and not its trace.
TEST_F(RunTraceTest, AForkedProcessWritesNothing) {
  std::mutex mutex;
  std::atomic<int> forked{0};
  runAll(makeOneGradient(2).load(), [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    {
      std::lock_guard<std::mutex> lock(mutex);
      const pid_t child = fork();
      if (child == 0) {
        bool isRefused = !rank.session->beginStep().ok();
        rank.session->abort(absl::AbortedError("in a child"));
        rank.session.reset();
        _exit(isRefused ? 0 : 1);
      }
      int ended = -1;
      EXPECT_EQ(waitpid(child, &ended, 0), child);
      EXPECT_EQ(ended, 0);
      EXPECT_THAT(files(), IsEmpty());
    }
    ++forked;
    while (forked < 2)
      std::this_thread::yield();
    return rank.session->finish();
  });
  EXPECT_THAT(files(), SizeIs(2));
}

/// In the best of several rounds, as SessionTest has it.
TEST_F(RunTraceTest, RecordingAllocatesNothing) {
  constexpr int kRanks = 2;
  std::atomic<int> arrivals{0};
  int64_t before = 0, fewest = INT64_MAX;
  auto meet = [&](int &goal) {
    goal += kRanks;
    ++arrivals;
    while (arrivals.load() < goal)
      std::this_thread::yield();
  };
  const std::vector<uint32_t> tensors = {0, 1, 2};
  runAll(makeDdpPlan(kRanks).load(), [&](RankContext &rank) -> absl::Status {
    for (int step = 0; step < 2; ++step)
      BAGUA_RETURN_IF_ERROR(rank.step(tensors));
    int goal = 0;
    for (int round = 0; round < 5; ++round) {
      meet(goal);
      if (rank.rank() == 0)
        before = allocationCountOfAllThreads();
      meet(goal);
      for (int step = 0; step < 10; ++step)
        BAGUA_RETURN_IF_ERROR(rank.step(tensors));
      meet(goal);
      if (rank.rank() == 0)
        fewest = std::min(fewest, allocationCountOfAllThreads() - before);
      meet(goal);
    }
    return rank.session->finish();
  });
  if (!backend().allocates && !movesTensors() && !isFar()) {
    EXPECT_EQ(fewest, 0);
  }
  EXPECT_THAT(files(), SizeIs(2));
}

/// What is read beside a writer is an entry as it was written, and in the end
/// the newest ones are there.
TEST(RecordRingTest, IsReadBesideItsWriter) {
  RecordRing ring(7);
  std::atomic<bool> isOver{false};
  int64_t count = 0;
  std::thread writer([&] {
    for (; !isOver || count < 100; ++count) {
      ring.write({uint64_t(count), 2 * count, 3 * count, uint32_t(count % 5),
                  10 * count, 0});
      ring.end(uint64_t(count), 10 * count + 1);
    }
  });
  auto expectWhole = [](const RecordRing::Entry &entry) {
    const auto i = static_cast<int64_t>(entry.number);
    EXPECT_EQ(entry.step, 2 * i);
    EXPECT_EQ(entry.subject, 3 * i);
    EXPECT_EQ(entry.kind, i % 5);
    EXPECT_EQ(entry.startNs, 10 * i);
    EXPECT_TRUE(entry.endNs == 0 || entry.endNs == 10 * i + 1) << entry.endNs;
  };
  // Until the writer has come further between two looks often enough to have
  // been met, or left by the scheduler, in the middle of an entry.
  uint64_t newest = 0;
  for (int changes = 0; changes < 300;) {
    std::vector<RecordRing::Entry> entries = ring.read();
    for (const RecordRing::Entry &entry : entries)
      expectWhole(entry);
    if (!entries.empty() && entries.back().number != newest) {
      newest = entries.back().number;
      ++changes;
    }
    std::this_thread::yield();
  }
  isOver = true;
  writer.join();
  std::vector<RecordRing::Entry> last = ring.read();
  ASSERT_EQ(last.size(), 7u);
  for (size_t i = 0; i < last.size(); ++i) {
    EXPECT_EQ(last[i].number, count - 7 + static_cast<int64_t>(i));
    expectWhole(last[i]);
  }
  // One that is gone is not ended.
  ring.end(uint64_t(count) - 8, 5);
  EXPECT_EQ(ring.read()[6].endNs, 10 * (count - 1) + 1);
}

} // namespace
} // namespace bagua::runtime::test
