//===- CheckpointTest.cpp - Files of state that a crash can't harm --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that writes is killed at any time; what is in the file then.
//
//===----------------------------------------------------------------------===//
#include "CommunicatorBackends.h"
#include "Files/Descriptor.h"
#include "Session/SessionState.h"

#include "bagua/Runtime/Checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bagua::runtime::test {
namespace {

using testing::HasSubstr;

class CheckpointTest : public testing::Test {
protected:
  CheckpointTest()
      : folder(testing::TempDir() + "/bagua-checkpoints-" +
               std::to_string(getpid())),
        path(folder + "/state") {
    std::filesystem::create_directory(folder);
  }
  ~CheckpointTest() override { std::filesystem::remove_all(folder); }

  std::string contents() const {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return std::move(bytes).str();
  }

  const std::string folder;
  const std::string path;
};

TEST_F(CheckpointTest, ReplacesWhatAFileHeld) {
  for (const char *bytes : {"a longer text than the next", "short", ""}) {
    ASSERT_TRUE(writeCheckpoint(path, bytes).ok());
    EXPECT_EQ(contents(), bytes);
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST_F(CheckpointTest, SaysWhyAFileCantBeWritten) {
  absl::Status missing = writeCheckpoint(folder + "/none/state", "x");
  EXPECT_TRUE(absl::IsUnavailable(missing));
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("none/state': open: No such file"));
  // What was there is there.
  std::filesystem::create_directory(path);
  absl::Status folderThere = writeCheckpoint(path, "x");
  EXPECT_THAT(std::string(folderThere.message()),
              HasSubstr("state': rename: Is a directory"));
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  absl::Status full = writeCheckpoint("/dev/full/none", "x");
  EXPECT_THAT(std::string(full.message()), HasSubstr("/dev/full/none': open"));
}

// With a reader or without, and whatever else is there.
TEST_F(CheckpointTest, DoesNotWaitForAFifo) {
  const std::string partial = path + ".partial";
  ASSERT_EQ(mkfifo(partial.c_str(), 0600), 0);
  EXPECT_THAT(std::string(writeCheckpoint(path, "x").message()),
              HasSubstr("can't write checkpoint '" + path +
                        "': open: No such "
                        "device"));
  Descriptor reader(open(partial.c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_THAT(std::string(writeCheckpoint(path, "x").message()),
              HasSubstr("'" + partial + "' is there and no file"));
  std::filesystem::remove(partial);
  std::filesystem::create_symlink("/dev/null", partial);
  EXPECT_THAT(std::string(writeCheckpoint(path, "x").message()),
              HasSubstr("'" + partial + "' is there and no file"));
}

/// The child writes states of its own letter and length, one after the other.
TEST_F(CheckpointTest, HoldsAWholeStateWheneverItsWriterIsKilled) {
  auto stateOf = [](int number) {
    return std::string(100000 + number % 7 * 50000,
                       static_cast<char>('a' + number % 26));
  };
  ASSERT_TRUE(writeCheckpoint(path, stateOf(0)).ok());
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      for (int number = 0;; ++number)
        if (!writeCheckpoint(path, stateOf(number)).ok())
          _exit(1);
    usleep(random() % 20000);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed";
    std::string found = contents();
    ASSERT_FALSE(found.empty());
    size_t whole = 100000 + (found.size() - 100000) / 50000 * 50000;
    ASSERT_EQ(found.size(), whole);
    ASSERT_EQ(found, std::string(found.size(), found[0]));
  }
}

TEST_F(CheckpointTest, HasOneWriterAtATime) {
  std::ofstream(path) << "before";
  Descriptor other(open((path + ".partial").c_str(), O_WRONLY | O_CREAT, 0666));
  ASSERT_EQ(flock(other.number(), LOCK_EX), 0);
  absl::Status second = writeCheckpoint(path, "x");
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("state': another process is writing it"));
  EXPECT_EQ(contents(), "before");
  other.reset();
  EXPECT_TRUE(writeCheckpoint(path, "x").ok());
  EXPECT_EQ(contents(), "x");
}

//===----------------------------------------------------------------------===//
// Which one to go on from
//===----------------------------------------------------------------------===//

struct StateName {
  int64_t session, steps;
  bool isOfAnother = false;
};
constexpr StateName kMissing = {0, -1};
constexpr StateName kDamaged = {0, -2};

class NewestCheckpointTest : public CheckpointTest,
                             public testing::WithParamInterface<TestBackend> {
protected:
  /// A file of rank's; its path.
  std::string write(int rank, size_t number, StateName name) {
    std::string file = path + std::to_string(rank) + std::to_string(number);
    std::filesystem::remove(file);
    if (name.steps == kMissing.steps)
      return file;
    SavedState state;
    state.session = name.session;
    state.rank = (rank + (name.isOfAnother ? 1 : 0)) % 3;
    state.ranks = 3;
    state.steps = std::max<int64_t>(name.steps, 0);
    std::string bytes = writeState(state);
    std::ofstream(file, std::ios::binary)
        << bytes.substr(0, name.steps < 0 ? bytes.size() - 1 : bytes.size());
    return file;
  }
};

/// By rank: the files it has, and which one it is told of.
TEST_P(NewestCheckpointTest, IsTheLatestThatAllHave) {
  using Names = std::vector<StateName>;
  using Places = std::vector<std::optional<size_t>>;
  struct Case {
    std::vector<Names> names;
    Places newest;
  };
  const Places none(3);
  const Case cases[] = {
      {{{{1, 10}, {1, 20}}, {{1, 20}, {1, 30}}, {{1, 20}, {1, 10}, {1, 30}}},
       {1, 0, 0}},
      {{{{1, 30}, {1, 40}}, {{1, 30}}, {{1, 40}, {1, 30}, {1, 20}}}, {0, 0, 1}},
      {{{{1, 10}, {1, 20}}, {{1, 30}, {1, 40}}, {{1, 10}, {1, 30}}}, none},
      {{{{1, 10}}, {}, {{1, 10}}}, none},
      {{{}, {}, {}}, none},
      {{{{1, 0}}, {{1, 0}}, {{1, 0}}}, {0, 0, 0}},
      // All have one of 30 steps, but not of one run: the second went on from
      // 20, where the first was stopped with a rank ahead.
      {{{{1, 20}, {1, 30}}, {{1, 20}, {2, 30}}, {{1, 20}, {2, 30}}}, {0, 0, 0}},
      {{{{1, 30}}, {{2, 30}}, {{2, 30}}}, none},
      {{{{1, 20}, {2, 30}}, {{2, 30}, {1, 30}}, {{2, 30}, {1, 20}}}, {1, 0, 0}},
      // What can't be read is not there.
      {{{kMissing, {1, 10}}, {{1, 10}, kMissing}, {{1, 10}}}, {1, 0, 0}},
      {{{{1, 10}, kDamaged}, {{1, 10}, {1, 20}}, {{1, 10}, {1, 20}}},
       {0, 0, 0}},
      {{{kDamaged, kMissing}, {kDamaged}, {kDamaged}}, none},
      // A copy of another rank's is no state of this one.
      {{{{1, 10}, {1, 20}}, {{1, 10}, {1, 20, true}}, {{1, 10}, {1, 20}}},
       {0, 0, 0}},
  };
  auto worlds = GetParam().createWorlds(3, kLongTime);
  for (const Case &of : cases) {
    SCOPED_TRACE(&of - cases);
    onEachRank(3, [&](int rank) {
      std::vector<std::string> paths;
      for (const StateName &name : of.names[rank])
        paths.push_back(write(rank, paths.size(), name));
      auto newest = findNewestCheckpoint(*worlds[rank], paths);
      ASSERT_TRUE(newest.ok()) << newest.status();
      EXPECT_EQ(*newest, of.newest[rank]) << "rank " << rank;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, NewestCheckpointTest,
                         testing::ValuesIn(testBackends()),
                         testing::PrintToStringParamName());

} // namespace
} // namespace bagua::runtime::test
