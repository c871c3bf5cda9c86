//===- PlanTest.cpp - Loading and printing plans --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A good plan loads and prints, and no other file is accepted.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"
#include "PlanBytes.h"

#include "Files/Descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using ::testing::HasSubstr;

//===----------------------------------------------------------------------===//
// Good plans
//===----------------------------------------------------------------------===//

TEST(PlanTest, LoadsWhatWasBuilt) {
  auto plan = makeDdpPlan(4).load();
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->topology().ranks(), 4);
  EXPECT_EQ(plan->root().steps()->Get(0)->instructions()->size(), 4u);
  EXPECT_NE(plan->fingerprint(), 0u);
}

TEST(PlanTest, KnowsWhenUpdatesAre) {
  PlanBuilder plan = makeDdpPlan(2);
  EXPECT_FALSE(plan.load()->hasLateUpdates());
  auto &program = plan.step().program;
  ASSERT_EQ(program.back()->phase, fb::ComputePhase::Update);
  program.back()->late = true;
  std::rotate(program.begin(), program.end() - 1, program.end());
  EXPECT_TRUE(plan.load()->hasLateUpdates());
  program.clear();
  EXPECT_FALSE(plan.load()->hasLateUpdates());
}

TEST(PlanTest, SamePlanSameBytes) {
  EXPECT_EQ(makeDdpPlan(4).bytes(), makeDdpPlan(4).bytes());
  EXPECT_NE(makeDdpPlan(4).bytes(), makeDdpPlan(2).bytes());
}

TEST(PlanTest, PrintsAsText) {
  std::string text = planToText(*makeDdpPlan(4).load());
  EXPECT_THAT(text, HasSubstr("cluster  gpu=4: 4 ranks"));
  EXPECT_THAT(text, HasSubstr("all_reduce mean"));
  EXPECT_THAT(text, HasSubstr("ready l2.weight.grad, l1.weight.grad"));
  EXPECT_THAT(text, HasSubstr("'l1.weight.grad' = mean of 'l1.weight.grad' "
                              "over [gpu]"));
  EXPECT_THAT(text, HasSubstr("2 collectives of 7188 bytes"));
}

TEST(PlanTest, PrintsAsJson) {
  std::string json = planToJson(*makeDdpPlan(4).load());
  EXPECT_THAT(json, HasSubstr("\"strategy\": \"ddp\""));
  EXPECT_THAT(json, HasSubstr("\"opcode\": \"AllReduce\""));
  EXPECT_THAT(json, HasSubstr("\"name\": \"l3.weight.grad\""));
  EXPECT_EQ(json, planToJson(*makeDdpPlan(4).load()));
}

/// One wide cell doesn't make all rows as long as its own.
TEST(PlanTest, PrintsRowsOfTheirOwnLength) {
  PlanBuilder plan = makeDdpPlan(2);
  plan.tensor(0).name = std::string(4000, 'x');
  std::string text = planToText(*plan.load());
  EXPECT_NE(text.find(plan.tensor(0).name + "' gradient"), text.npos);
  const size_t other = text.find("1 'l2.weight.grad'");
  ASSERT_NE(other, text.npos);
  EXPECT_LT(text.find('\n', other) - other, 1500u);
}

TEST(PlanTest, PrintsNamesThatAreNoUtf8) {
  PlanBuilder plan = makeDdpPlan(2);
  plan.tensor(0).name = "\xff\x01\"";
  EXPECT_THAT(planToJson(*plan.load()), HasSubstr("\\u0001\\\""));
}

//===----------------------------------------------------------------------===//
// Files that are no plans
//===----------------------------------------------------------------------===//

TEST(PlanTest, RefusesOtherFiles) {
  EXPECT_THAT(loadError(""), HasSubstr("identifier 'BGUA' is missing"));
  EXPECT_THAT(loadError(std::string(1000, 'x')), HasSubstr("not a plan"));
}

TEST(PlanTest, RefusesAnotherVersion) {
  for (uint32_t version : {0u, 1u, 7u}) {
    PlanBuilder plan = makeDdpPlan(2);
    plan.plan.version = version;
    plan.plan.minor_version = 3;
    EXPECT_THAT(loadError(plan.bytes()),
                HasSubstr("plan of version " + std::to_string(version) +
                          ".3, this runtime reads version 2"));
  }
  PlanBuilder old = makeDdpPlan(2);
  old.plan.version = 1;
  EXPECT_THAT(loadError(old.bytes()),
              HasSubstr("bagua-translate --export-plan writes the plan anew"));
}

/// A plan of another version has other fields: its version is read all the
/// same, and what this one's schema makes of the rest doesn't matter.
TEST(PlanTest, RefusesAnotherVersionsFields) {
  flatbuffers::FlatBufferBuilder file;
  flatbuffers::Offset<flatbuffers::String> text = file.CreateString("text");
  auto table = file.StartTable();
  file.AddElement<uint32_t>(fb::Plan::VT_VERSION, 3, 0);
  file.AddElement<uint32_t>(fb::Plan::VT_MINOR_VERSION, 5, 0);
  file.AddOffset(fb::Plan::VT_FINGERPRINT, text);
  file.AddElement<uint8_t>(fb::Plan::VT_CLUSTER, 7, 0);
  flatbuffers::Offset<fb::Plan> root(file.EndTable(table));
  file.Finish(root, fb::PlanIdentifier());
  std::string bytes(reinterpret_cast<char *>(file.GetBufferPointer()),
                    file.GetSize());
  EXPECT_THAT(loadError(bytes),
              HasSubstr("plan of version 3.5, this runtime reads version 2"));
}

/// A program that writes plans of its own has left one out.
TEST(PlanTest, RefusesAPlanWithoutAFieldThatIsRequired) {
  flatbuffers::FlatBufferBuilder file;
  file.ForceDefaults(true);
  auto table = file.StartTable();
  file.AddElement<uint32_t>(fb::Plan::VT_VERSION, 2, 1);
  file.AddElement<uint64_t>(fb::Plan::VT_FINGERPRINT, 0, 0);
  flatbuffers::Offset<fb::Plan> root(file.EndTable(table));
  file.Finish(root, fb::PlanIdentifier());
  std::string bytes(reinterpret_cast<char *>(file.GetBufferPointer()),
                    file.GetSize());
  repairFingerprint(bytes);
  EXPECT_THAT(loadError(bytes),
              HasSubstr("invalid plan: a field that version 2 requires is "
                        "missing, or does not lie in its"));
}

/// The bytes of a plan with features as they are, whatever it has.
std::string bytesWithFeatures(PlanBuilder &builder,
                              std::vector<std::string> features) {
  builder.plan.features = std::move(features);
  flatbuffers::FlatBufferBuilder file;
  file.ForceDefaults(true);
  fb::FinishPlanBuffer(file, fb::Plan::Pack(file, &builder.plan));
  std::string bytes(reinterpret_cast<char *>(file.GetBufferPointer()),
                    file.GetSize());
  repairFingerprint(bytes);
  return bytes;
}

TEST(PlanTest, ListsWhatItNeeds) {
  std::vector<std::string> features;
  auto plan = makeDdpPlan(2).load();
  for (const flatbuffers::String *feature : *plan->root().features())
    features.push_back(feature->str());
  EXPECT_THAT(features,
              ::testing::ElementsAre("all_reduce", "concat", "split"));
}

TEST(PlanTest, LoadsANewerMinorVersionThatNeedsNothingNew) {
  PlanBuilder plan = makeDdpPlan(2);
  plan.plan.minor_version = 9;
  EXPECT_NE(plan.load(), nullptr);
}

TEST(PlanTest, RefusesAnUnknownFeatureByItsName) {
  PlanBuilder plan = makeDdpPlan(2);
  plan.plan.minor_version = 9;
  EXPECT_THAT(
      loadError(bytesWithFeatures(
          plan, {"all_reduce", "concat", "encode.onebit", "split"})),
      HasSubstr("the plan needs 'encode.onebit', which this runtime (plan 2.0) "
                "doesn't know; the plan is of version 2.9"));
  // So its opcode's number, which says nothing to anybody, does not matter.
  plan.op(0).opcode = static_cast<Opcode>(99);
  EXPECT_THAT(loadError(bytesWithFeatures(
                  plan, {"all_reduce", "concat", "encode.onebit", "split"})),
              HasSubstr("needs 'encode.onebit'"));
}

TEST(PlanTest, RefusesWhatItsFeaturesDontName) {
  PlanBuilder plan = makeDdpPlan(2);
  EXPECT_THAT(
      loadError(bytesWithFeatures(plan, {"concat", "split"})),
      HasSubstr("it uses 'all_reduce', which is not among its features"));
  plan.op(0).opcode = static_cast<Opcode>(99);
  EXPECT_THAT(
      loadError(plan.bytes()),
      HasSubstr("opcode 99 is unknown, and its features don't name it"));
}

TEST(PlanTest, RefusesAWrongFingerprint) {
  std::string bytes = makeDdpPlan(2).bytes();
  size_t at = bytes.find("l3.weight.grad");
  bytes[at] ^= 1;
  EXPECT_THAT(loadError(bytes), HasSubstr("expected fingerprint"));
}

TEST(PlanTest, RefusesAMissingFile) {
  auto plan = Plan::fromFile("/nonexistent/p.bagua");
  EXPECT_TRUE(absl::IsNotFound(plan.status()));
  EXPECT_THAT(std::string(plan.status().message()),
              HasSubstr("p.bagua': No such file or directory"));
}

/// What has no end, no writer or no bytes is no plan.
TEST(PlanTest, RefusesWhatIsNoFile) {
  const std::string path =
      testing::TempDir() + "/bagua-fifo-" + std::to_string(getpid());
  auto errorOf = [](const std::string &of) {
    return std::string(Plan::fromFile(of).status().message());
  };
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(errorOf(path), HasSubstr("identifier 'BGUA' is missing"));
  unlink(path.c_str());
  EXPECT_THAT(errorOf("/dev/null"), HasSubstr("identifier 'BGUA' is missing"));
  EXPECT_THAT(errorOf("/tmp"),
              HasSubstr("can't read plan '/tmp': read: Is a "));
}

/// How often this process has a file open.
int64_t countOpenings(const std::string &path) {
  const std::filesystem::path file = std::filesystem::canonical(path);
  int64_t count = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error; // it may be closed by now
    count += std::filesystem::read_symlink(entry.path(), error) == file;
  }
  return count;
}

/// A plan comes through a pipe as a shell makes it, in pieces.
TEST(PlanTest, ReadsAPipe) {
  const std::string path =
      testing::TempDir() + "/bagua-pipe-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string bytes = makeDdpPlan(2).bytes();
  Descriptor writer(open(path.c_str(), O_RDWR | O_CLOEXEC));
  std::thread shell([&] {
    while (countOpenings(path) < 2)
      std::this_thread::yield();
    for (size_t at = 0; at < bytes.size(); at += 1000) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      absl::string_view piece = absl::string_view(bytes).substr(at, 1000);
      EXPECT_EQ(write(writer.number(), piece.data(), piece.size()),
                static_cast<ssize_t>(piece.size()));
    }
    writer.reset();
  });
  auto plan = Plan::fromFile(path);
  shell.join();
  unlink(path.c_str());
  EXPECT_TRUE(plan.ok()) << plan.status();
}

} // namespace
} // namespace bagua::runtime::test
