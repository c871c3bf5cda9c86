//===- CheckpointTest.cpp - Files of state that a crash can't harm --------===//
//
// A process that writes is killed at any time; what is in the file then.
//
//===----------------------------------------------------------------------===//
#include "CommunicatorBackends.h"

#include "bagua/Runtime/Checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
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

class NewestCommonTest : public testing::TestWithParam<Backend> {};

TEST_P(NewestCommonTest, IsTheGreatestThatAllHave) {
  struct Case {
    std::vector<std::vector<int64_t>> steps;
    std::optional<int64_t> newest;
  };
  const Case cases[] = {
      {{{10, 20}, {20, 30}, {20, 10, 30}}, 20},
      {{{30, 40}, {30}, {40, 30, 20}}, 30},
      {{{10, 20}, {30, 40}, {10, 30}}, std::nullopt},
      {{{10}, {}, {10}}, std::nullopt},
      {{{}, {}, {}}, std::nullopt},
      {{{0}, {0, -5}, {-5, 0}}, 0},
  };
  auto worlds = GetParam().createWorlds(3, kLongTime);
  onEachRank(3, [&](int rank) {
    for (const Case &of : cases) {
      auto newest = findNewestCommon(*worlds[rank], of.steps[rank]);
      ASSERT_TRUE(newest.ok()) << newest.status();
      EXPECT_EQ(*newest, of.newest);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, NewestCommonTest, testing::ValuesIn(kBackends),
                         testing::PrintToStringParamName());

} // namespace
} // namespace bagua::runtime::test
