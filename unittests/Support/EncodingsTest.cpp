//===- EncodingsTest.cpp - The table of encodings -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers and words are the plan format's and the users'; sizes are those of
// docs/PlanFormat.md.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/Encodings.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <set>

using namespace bagua;

namespace {

TEST(EncodingsTest, NumbersAndWordsStay) {
  std::vector<std::pair<int, std::string_view>> expected = {
      {1, "f16"},  {2, "bf16"},   {3, "minmax_uint8"}, {4, "fp8_e4m3"},
      {5, "qsgd"}, {6, "onebit"}, {7, "signsgd"},      {8, "efsignsgd"},
      {9, "topk"}, {10, "gtopk"}, {11, "dgc"},         {12, "randomk"}};
  for (auto [number, word] : expected) {
    const EncodingRow *row = findEncoding(static_cast<EncodingId>(number));
    ASSERT_NE(row, nullptr) << number;
    EXPECT_EQ(row->word, word);
  }
}

TEST(EncodingsTest, RowsAreSound) {
  std::set<int> numbers;
  std::set<std::string_view> words = {"none"};
  for (const EncodingRow &row : getEncodings()) {
    EXPECT_TRUE(numbers.insert(static_cast<int>(row.id)).second) << row.word;
    EXPECT_TRUE(words.insert(row.word).second) << row.word;
    EXPECT_EQ(findEncoding(row.id), &row);
    EXPECT_EQ(findEncoding(row.word), &row);
    EXPECT_LE(row.parameters.size(), kMaxEncodingParameters) << row.word;
    EXPECT_FALSE(row.elementTypes.empty()) << row.word;
    EXPECT_FALSE(row.summary.empty()) << row.word;
    // What is offered without feedback can be checked.
    EXPECT_EQ(row.isOffered && !row.needsFeedback, row.relativeError > 0)
        << row.word;
    Encoding encoding{row.id};
    for (size_t i = 0; i < row.parameters.size(); ++i)
      encoding.parameters[i] = row.parameters[i].least;
    EXPECT_EQ(checkParameters(encoding), "") << row.word;
    EXPECT_EQ(row.bytes(0, encoding), 0) << row.word;
    int64_t before = 0;
    for (int64_t count = 1; count < 300; ++count) {
      int64_t bytes = row.bytes(count, encoding);
      EXPECT_GE(bytes, before) << row.word << " of " << count;
      EXPECT_EQ(bytes % row.alignment, 0) << row.word << " of " << count;
      before = bytes;
    }
  }
  EXPECT_EQ(findEncoding(EncodingId::None), nullptr);
  EXPECT_EQ(findEncoding("none"), nullptr);
}

TEST(EncodingsTest, Sizes) {
  struct Case {
    Encoding encoding;
    int64_t count;
    int64_t bytes;
  };
  for (const Case &test : std::vector<Case>{
           {{EncodingId::Float16}, 5, 10},
           {{EncodingId::BFloat16}, 5, 10},
           // Header and payload, to a multiple of 32.
           {{EncodingId::MinmaxUint8}, 1, 64},
           {{EncodingId::MinmaxUint8}, 32, 64},
           {{EncodingId::MinmaxUint8}, 33, 96},
           {{EncodingId::Fp8E4M3, {32}}, 33, 96},
           {{EncodingId::Qsgd, {7, 32}}, 40, 64},
           {{EncodingId::Qsgd, {8, 32}}, 40, 96},
           {{EncodingId::Onebit}, 257, 96},
           {{EncodingId::Topk, {5}}, 100, 96},
           {{EncodingId::Topk, {5}}, 4, 64},
           {{EncodingId::Randomk, {9}}, 100, 96},
       })
    EXPECT_EQ(encodedBytes(test.encoding, test.count, 4), test.bytes)
        << encodingText(test.encoding) << " of " << test.count;
  EXPECT_EQ(encodedBytes({}, 5, 4), 20);
  EXPECT_EQ(encodedSlotBytes({}, 5, 4), 20);
}

TEST(EncodingsTest, TextThereAndBack) {
  for (std::string_view word : wireWords()) {
    ParsedEncoding parsed = parseWire(word);
    EXPECT_EQ(parsed.error, "") << word;
    EXPECT_EQ(encodingText(parsed.encoding), word);
  }
  EXPECT_EQ(encodingText({EncodingId::Qsgd, {7, 256}}),
            "qsgd<levels=7;block=256>");
  EXPECT_EQ(encodingText({EncodingId::MinmaxUint8, {1e-7}}),
            "minmax_uint8<eps=1e-07>");
}

TEST(EncodingsTest, RefusesByName) {
  // Neither what the runtime doesn't offer nor what needs feedback.
  for (std::string_view text : {"f8", "", "onebit", "f16<", "none<>"}) {
    ParsedEncoding parsed = parseWire(text);
    EXPECT_EQ(parsed.error.substr(0, 18), "expected none, f16") << text;
    EXPECT_THAT(parsed.error,
                testing::EndsWith("found '" + std::string(text) + "'"));
  }
  EXPECT_EQ(parseWire("f16<eps=1>").error,
            "expected each parameter of f16 once, as NAME=NUMBER, found "
            "'eps=1'");
  EXPECT_EQ(checkParameters({EncodingId::Qsgd, {128, 2}}),
            "expected levels from 1 to 127, found 128");
  EXPECT_EQ(checkParameters({EncodingId::Qsgd, {7, 0.5}}),
            "expected block of at least 1, found 0.5");
  EXPECT_EQ(checkParameters({EncodingId::Topk, {0}}),
            "expected count of at least 1, found 0");
  EXPECT_EQ(checkParameters({EncodingId::Onebit, {1}}),
            "expected 0 parameters of onebit, found more");
  EXPECT_NE(checkParameters({EncodingId::MinmaxUint8, {std::nan("")}}), "");
}

} // namespace
