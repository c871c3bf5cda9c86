//===- StrategyTextTest.cpp - Strategies as users ask for them ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts written by hand, and each option of each row with values of its own.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/StrategyText.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>

using namespace bagua;
using testing::HasSubstr;

namespace {

std::string errorOf(std::string_view text) { return parseStrategy(text).error; }

TEST(StrategyTextTest, NamesAndSpaces) {
  for (const char *text : {"ddp", " ddp ", "ddp{}", "ddp { }"}) {
    ParsedStrategy parsed = parseStrategy(text);
    ASSERT_EQ(parsed.error, "") << text;
    EXPECT_EQ(parsed.row, findStrategy("ddp"));
    EXPECT_EQ(parsed.settings.buckets.capBytes, 26214400);
  }
}

TEST(StrategyTextTest, Options) {
  ParsedStrategy parsed =
      parseStrategy("bagua-allreduce{fusion=none  buffer-bytes=7}");
  EXPECT_THAT(parsed.error, HasSubstr("has no option 'buffer-bytes'"));
  parsed = parseStrategy(
      "bagua-allreduce{fusion=none  cap-bytes=-7 wire=bf16 form=cheapest "
      "overlap=bsp updates=late memory=12}");
  ASSERT_EQ(parsed.error, "");
  const StrategySettings &settings = parsed.settings;
  EXPECT_EQ(settings.buckets.policy, BucketPolicy::None);
  EXPECT_EQ(settings.buckets.capBytes, -7); // for the pass to refuse
  EXPECT_EQ(settings.wire.id, EncodingId::BFloat16);
  EXPECT_EQ(settings.form, FormChoice::Cheapest);
  EXPECT_EQ(settings.schedule.policy, SchedulePolicy::Bsp);
  EXPECT_EQ(settings.updates, UpdatesBy::Late);
  EXPECT_EQ(settings.memoryBytes, 12);
}

// `form` means another thing where an all_reduce is made of two halves.
TEST(StrategyTextTest, FormsOfHalves) {
  EXPECT_EQ(parseStrategy("dear{form=multilevel}").settings.halves,
            HalvesChoice::Multilevel);
  EXPECT_THAT(errorOf("dear{form=leader}"),
              HasSubstr("expected flat, multilevel or cheapest"));
  EXPECT_EQ(parseStrategy("byteps").settings.servers, ServerUse::Spread);
  EXPECT_EQ(print(parseStrategy("byteps").settings, Setting::Form), "rail");
}

TEST(StrategyTextTest, Mistakes) {
  EXPECT_THAT(errorOf("DDP"), HasSubstr("expected a strategy (auto, bagua-"));
  EXPECT_THAT(errorOf("DDP"), HasSubstr(", wfbp-ps), found 'DDP'"));
  EXPECT_THAT(errorOf(""), HasSubstr("found ''"));
  for (const char *text :
       {"ddp{", "ddp{wire=f16", "ddp{wire=f16}}", "ddp{}x", "ddp{{}", "ddp}{"})
    EXPECT_NE(errorOf(text), "") << text;
  EXPECT_EQ(errorOf("ddp{wire}"), "option 'wire' of strategy 'ddp': expected "
                                  "none, f16, bf16 or minmax_uint8, found ''");
  for (const char *number :
       {"", "x", "1x", "0x10", "1e3", " ", "1.5", "9223372036854775808"})
    EXPECT_THAT(errorOf(std::string("ddp{cap-bytes=") + number + "}"),
                HasSubstr("expected a whole number, found '"))
        << number;
  EXPECT_THAT(errorOf("dear{update=shard updates=late}"),
              HasSubstr("expected updates=runtime with update=shard"));
  EXPECT_EQ(errorOf("dear{update=shard updates=runtime}"), "");
  EXPECT_EQ(errorOf("byteps{wire=minmax_uint8}"),
            "strategy 'byteps': expected a wire whose values servers can sum "
            "(none, f16, bf16), found wire=minmax_uint8");
  EXPECT_EQ(errorOf("dear{update=shard wire=minmax_uint8}"),
            "strategy 'dear': expected a wire whose values ranks can sum "
            "(none, f16, bf16) with update=shard, found wire=minmax_uint8");
  EXPECT_EQ(errorOf("dear{wire=minmax_uint8}"), "");
  EXPECT_EQ(errorOf("horovod{wire=minmax_uint8<eps=1e-07>}"), "");
}

/// For each setting a value that no row has.
std::string otherOf(Setting setting) {
  static const std::map<Setting, std::string> kOthers = {
      {Setting::BucketPolicy, "optimal"}, {Setting::Buckets, "3*1,12:rail"},
      {Setting::WireType, "f16"},         {Setting::Servers, "balanced"},
      {Setting::ShardedUpdate, "shard"},  {Setting::Schedule, "bsp"},
      {Setting::UpdatesBy, "late"},       {Setting::AllowedUpdates, "late"},
      {Setting::Form, "cheapest"},
  };
  auto found = kOthers.find(setting);
  return found == kOthers.end() ? "9223372036854775807" : found->second;
}

// An option changes its own setting alone, and its value is printed as it was
// given.
TEST(StrategyTextTest, EachOptionOfEachRow) {
  int options = 0;
  for (const Strategy &row : getStrategies())
    for (const StrategyOption &said : row.options) {
      std::string value = otherOf(said.setting);
      std::string text =
          std::string(row.name) + "{" + std::string(said.name) + "=" + value;
      // No program has shards, so these are the runtime's to update.
      bool needsRuntime =
          said.setting == Setting::ShardedUpdate && !row.isUpdatedByRuntime;
      text += needsRuntime ? " updates=runtime}" : "}";
      ParsedStrategy parsed = parseStrategy(text);
      ASSERT_EQ(parsed.error, "") << text;
      ++options;
      for (const StrategyOption &option : row.options) {
        std::string own = print(settingsOf(row), option.setting);
        bool isSaid = option.setting == said.setting;
        if (needsRuntime && option.setting == Setting::UpdatesBy)
          own = "runtime";
        EXPECT_NE(own, otherOf(option.setting)) << text;
        EXPECT_EQ(print(parsed.settings, option.setting), isSaid ? value : own)
            << text;
      }
    }
  EXPECT_GE(options, 84);
}

// The choices that a user makes for all strategies are read back as they were,
// and the text names nothing else.
TEST(StrategyTextTest, ChoicesAreReadBack) {
  for (const Strategy &row : getStrategies())
    for (AllowedUpdates updates :
         {AllowedUpdates::Any, AllowedUpdates::Program, AllowedUpdates::Late,
          AllowedUpdates::Runtime})
      for (EncodingId wire : {EncodingId::None, EncodingId::BFloat16}) {
        if (row.use != Strategy::Use::Published)
          continue;
        UserChoices choices{{wire}, updates, /*memoryBytes=*/5};
        std::string text = textOf(row, choices);
        ParsedStrategy parsed = parseStrategy(text);
        ASSERT_EQ(parsed.error, "") << text;
        EXPECT_EQ(parsed.settings.wire.id, wire) << text;
        EXPECT_EQ(parsed.settings.memoryBytes, 5) << text;
        EXPECT_EQ(parsed.settings.updates, settingsOf(row, choices).updates);
        EXPECT_EQ(textOf(row, UserChoices{row.wire}), row.name);
      }
}

TEST(StrategyTextTest, PlansAreReadBack) {
  CommunicationPlan plan;
  plan.buckets = {{2, 1}, {3, 4, FormKind::Rail}};
  EXPECT_EQ(textOf(plan, {}), "custom{buckets=2,3/4:rail}");
  // A queue says what it may have in flight, also where that is one message.
  plan.scheduling.policy = SchedulePolicy::Priority;
  EXPECT_EQ(textOf(plan, {}),
            "custom{buckets=2,3/4:rail policy=priority credit-bytes=0}");
  // Elsewhere that means nothing.
  plan.scheduling = {SchedulePolicy::Bsp, 12};
  plan.isUpdatedByRuntime = true;
  EXPECT_EQ(textOf(plan, {}),
            "custom{buckets=2,3/4:rail policy=bsp updates=runtime}");
  for (PlannedBucket &bucket : plan.buckets)
    bucket.wire = {EncodingId::Float16};
  ParsedStrategy parsed = parseStrategy(textOf(plan, {}));
  ASSERT_EQ(parsed.error, "");
  EXPECT_EQ(parseBuckets(parsed.settings.bucketList, parsed.settings.wire),
            plan.buckets);
}

} // namespace
