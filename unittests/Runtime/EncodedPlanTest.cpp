//===- EncodedPlanTest.cpp - Plans with encoded values --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the loader refuses of them, how they print, and what they come to on
// ranks.
//
//===----------------------------------------------------------------------===//
#include "PlanBytes.h"
#include "SessionHarness.h"

#include "bagua/Replay/Replay.h"
#include "bagua/Support/Encodings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using ::testing::HasSubstr;

void encode(fb::ValueT &value, std::vector<uint32_t> parts,
            std::vector<uint32_t> terms, double eps = 0) {
  value.encoding = std::make_unique<fb::ValueEncodingT>();
  value.encoding->id = static_cast<uint8_t>(EncodingId::MinmaxUint8);
  value.encoding->parameters = {eps};
  value.encoding->parts = std::move(parts);
  value.encoding->terms = std::move(terms);
}

/// Scatter-gather of one gradient over the axis 'gpu'. Instructions 0 encode, 1
/// all_to_all, 2 decode, 3 encode, 4 all_gather, 5 decode; values 0 the tensor,
/// 1 its parts, 2 terms, 3 the part, 4 its form, 5 all parts.
PlanBuilder makeEncodedPlan(int64_t ranks, int64_t count,
                            fb::DataType type = fb::DataType::Float32,
                            fb::ReduceKind kind = fb::ReduceKind::Mean) {
  PlanBuilder plan({{"node", 1}, {"gpu", ranks}});
  constexpr int64_t kRoom = 1 << 16;
  plan.addArena("pool", 5 * kRoom);
  uint32_t g = plan.addTensor("g", {count}, fb::Role::Gradient, type);
  uint32_t whole = plan.whole(g);
  uint32_t parts = plan.inArena(0, 0, count, type);
  uint32_t terms = plan.inArena(0, kRoom, count, type, {shard({1})});
  uint32_t part = plan.inArena(0, 2 * kRoom, count, type, {shard({1})});
  uint32_t own = plan.inArena(0, 3 * kRoom, count, type, {shard({1})});
  uint32_t all = plan.inArena(0, 4 * kRoom, count, type);
  encode(plan.value(parts), {1}, {});
  encode(plan.value(terms), {}, {1});
  encode(plan.value(own), {}, {});
  encode(plan.value(all), {1}, {});
  plan.addOp(Opcode::Encode, {whole}, {parts});
  plan.addOp(Opcode::AllToAll, {parts}, {terms}, {1});
  plan.op(plan.addOp(Opcode::Decode, {terms}, {part})).kind = kind;
  plan.addOp(Opcode::Encode, {part}, {own});
  plan.addOp(Opcode::AllGather, {own}, {all}, {1});
  plan.addOp(Opcode::Decode, {all}, {whole});
  plan.promise(g, {1}, kind);
  return plan;
}

std::string refusal(const std::function<void(PlanBuilder &)> &change) {
  PlanBuilder plan = makeEncodedPlan(4, 100);
  change(plan);
  return loadError(plan.bytes());
}

TEST(EncodedPlanTest, RefusesValues) {
  using P = PlanBuilder;
  EXPECT_NE(makeEncodedPlan(4, 100).load(), nullptr);
  auto encoding = [](P &p) -> fb::ValueEncodingT & {
    return *p.value(1).encoding;
  };
  EXPECT_THAT(refusal([&](P &p) { encoding(p).id = 200; }),
              HasSubstr("encoding 200 is unknown"));
  // A row that no runtime has a kernel for is as unknown.
  EXPECT_THAT(refusal([&](P &p) {
                encoding(p).id = static_cast<uint8_t>(EncodingId::Onebit);
                encoding(p).parameters.clear();
              }),
              HasSubstr("needs 'encoding.onebit', which this runtime"));
  EXPECT_THAT(refusal([&](P &p) { encoding(p).id = 0; }),
              HasSubstr("encoding 0 is unknown"));
  EXPECT_THAT(refusal([&](P &p) {
                encoding(p).id = static_cast<uint8_t>(EncodingId::BFloat16);
                encoding(p).parameters.clear();
              }),
              HasSubstr("'encoding.bf16'"));
  EXPECT_THAT(refusal([&](P &p) { encoding(p).parameters.clear(); }),
              HasSubstr("expected 1 parameters of encoding 'minmax_uint8', "
                        "found 0"));
  EXPECT_THAT(refusal([&](P &p) { encoding(p).parameters = {0, 0, 0}; }),
              HasSubstr("found 3"));
  EXPECT_THAT(refusal([&](P &p) { encoding(p).parameters = {-1}; }),
              HasSubstr("expected eps from 0 to 0.001, found -1"));
  EXPECT_THAT(refusal([&](P &p) { encoding(p).parameters = {std::nan("")}; }),
              HasSubstr("expected eps from 0 to 0.001, found"));
  EXPECT_THAT(refusal([&](P &p) { encoding(p).parts = {7}; }),
              HasSubstr("expected axes below 2, found 7"));
  EXPECT_THAT(refusal([&](P &p) { p.value(1).offset = 8; }),
              HasSubstr("offset 8 is not a multiple of the encoding's "
                        "alignment 32"));
  EXPECT_THAT(refusal([&](P &p) { p.value(5).offset = 5 * (1 << 16) - 32; }),
              HasSubstr("expected bytes inside arena 'pool'"));
  EXPECT_THAT(refusal([&](P &p) {
                p.value(1).arena = -1;
                p.value(1).tensor = 0;
              }),
              HasSubstr("expected an encoded value in an arena"));
  EXPECT_THAT(refusal([&](P &p) {
                for (uint32_t value = 0; value < 6; ++value)
                  p.value(value).type = fb::DataType::Int32;
                p.tensor(0).type = fb::DataType::Int32;
              }),
              HasSubstr("encoding 'minmax_uint8' doesn't support the element "
                        "type"));
}

// FlatBuffers aligns a vector's length alone, which a double is not.
TEST(EncodedPlanTest, RefusesParametersThatAreNotAligned) {
  PlanBuilder plan = makeEncodedPlan(4, 100);
  // Its lower half, read as a length, is 1.
  const uint64_t bits = 0x3dd0000000000001;
  double parameter;
  std::memcpy(&parameter, &bits, sizeof parameter);
  plan.value(1).encoding->parameters = {parameter};
  std::string bytes = plan.bytes();
  auto *root = flatbuffers::GetMutableRoot<fb::Plan>(bytes.data());
  auto *encoding = reinterpret_cast<flatbuffers::Table *>(
      const_cast<fb::ValueEncoding *>(root->values()->Get(1)->encoding()));
  uint8_t *field = encoding->GetAddressOf(fb::ValueEncoding::VT_PARAMETERS);
  uint32_t offset;
  std::memcpy(&offset, field, sizeof offset);
  offset += 4;
  std::memcpy(field, &offset, sizeof offset);
  repairFingerprint(bytes);
  EXPECT_THAT(loadError(bytes),
              HasSubstr("the encoding's parameters are not aligned"));
}

TEST(EncodedPlanTest, RefusesInstructions) {
  using P = PlanBuilder;
  EXPECT_THAT(refusal([](P &p) { p.op(0).outputs = {3}; }),
              HasSubstr("expected a value and its encoded form"));
  EXPECT_THAT(
      refusal([](P &p) { p.op(5).inputs = {0}; }),
      HasSubstr("expected an encoded input, and an output of the same"));
  EXPECT_THAT(refusal([](P &p) { p.op(2).kind = fb::ReduceKind::Max; }),
              HasSubstr("expected kind sum or mean for encoded terms"));
  // A shape would cut encoded bytes as elements.
  EXPECT_THAT(refusal([](P &p) { p.op(4).shape = {100}; }),
              HasSubstr("expected no shape for encoded values"));
  EXPECT_THAT(refusal([](P &p) { p.op(1).shape = {100}; }),
              HasSubstr("expected no shape for encoded values"));
  EXPECT_THAT(refusal([](P &p) { p.op(1).outputs = {4}; }),
              HasSubstr("expected an input encoded in parts over the axes"));
  EXPECT_THAT(
      refusal([](P &p) { p.op(4).inputs = {1}; }),
      HasSubstr("expected as output, in the input's encoding, the whole"));
  EXPECT_THAT(refusal([](P &p) { p.value(5).encoding->parameters = {1e-7}; }),
              HasSubstr("in the input's encoding"));
  EXPECT_THAT(refusal([](P &p) {
                p.op(1).opcode = Opcode::AllReduce;
                p.op(1).outputs = {1};
              }),
              HasSubstr("expected values that are not encoded"));
  EXPECT_THAT(refusal([](P &p) { p.op(2).opcode = Opcode::Cast; }),
              HasSubstr("expected values that are not encoded"));
  EXPECT_THAT(refusal([](P &p) { p.value(3).offset = 1 << 16; }),
              HasSubstr("an output overlaps an input"));
}

TEST(EncodedPlanTest, FeaturesNameWhatItNeeds) {
  PlanBuilder plan = makeEncodedPlan(4, 100);
  std::shared_ptr<const Plan> loaded = plan.load();
  std::vector<std::string> features;
  for (const flatbuffers::String *feature : *loaded->root().features())
    features.push_back(feature->str());
  EXPECT_THAT(features,
              testing::ElementsAre("all_gather", "all_to_all", "decode",
                                   "encode", "encoding.minmax_uint8"));
}

TEST(EncodedPlanTest, TextSaysParameters) {
  PlanBuilder plan = makeEncodedPlan(4, 100);
  for (uint32_t value : {1, 2, 4, 5})
    plan.value(value).encoding->parameters = {1e-7};
  std::string text = planToText(*plan.load());
  EXPECT_THAT(text, HasSubstr("'g' -> pool:0 minmax_uint8<eps=1e-07> parts "
                              "[gpu]"));
  EXPECT_THAT(text, HasSubstr("pool:65536 <shard [gpu]> minmax_uint8<eps=1e-07>"
                              " terms [gpu]"));
  // 4 parts of 25 elements: a header and 25 codes each, to a multiple of 32.
  EXPECT_THAT(text, HasSubstr("2 collectives of 320 bytes"));
  EXPECT_THAT(planToText(*makeEncodedPlan(4, 100).load()),
              HasSubstr("minmax_uint8<eps=0> parts [gpu]"));
}

/// Of the reference, in double precision: what one encode makes of a part.
void requantize(std::vector<double> &x, int64_t begin, int64_t end) {
  double low = INFINITY, high = -INFINITY;
  for (int64_t i = begin; i < end; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  for (int64_t i = begin; i < end && low < high; ++i) {
    double scale = 255 / (high - low);
    double lower = std::nearbyint(high * scale) - 255;
    double code = std::nearbyint(x[i] * scale) - lower;
    x[i] = (std::min(std::max(code, 0.0), 255.0) + lower) / scale;
  }
}

/// What becomes of a gradient whose element i is `given(rank, i)`.
std::vector<double>
expected(int64_t ranks, int64_t count, fb::ReduceKind kind,
         const std::function<float(int64_t, int64_t)> &given) {
  std::vector<double> sum(count, 0);
  int64_t largest = (count + ranks - 1) / ranks;
  auto inParts = [&](std::vector<double> &x) {
    for (int64_t begin = 0; begin < count; begin += largest)
      requantize(x, begin, std::min(count, begin + largest));
  };
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> x(count);
    for (int64_t i = 0; i < count; ++i)
      x[i] = given(rank, i);
    inParts(x);
    for (int64_t i = 0; i < count; ++i)
      sum[i] += x[i];
  }
  if (kind == fb::ReduceKind::Mean)
    for (double &value : sum)
      value /= static_cast<double>(ranks);
  inParts(sum);
  return sum;
}

using Given = std::function<float(int64_t rank, int64_t element)>;

/// What each rank takes back.
std::vector<std::vector<float>>
reduceOnRanks(const std::shared_ptr<const Plan> &plan, int64_t ranks,
              int64_t count, const Given &given) {
  std::vector<std::vector<float>> found(ranks);
  RankBody body = [&](RankContext &context) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(context.session->beginStep());
    for (int64_t i = 0; i < count; ++i)
      context.data<float>(0)[i] = given(context.rank(), i);
    BAGUA_RETURN_IF_ERROR(context.give(0));
    BAGUA_RETURN_IF_ERROR(context.wait(0));
    float *data = context.data<float>(0);
    found[context.rank()].assign(data, data + count);
    BAGUA_RETURN_IF_ERROR(context.session->endStep());
    return context.session->finish();
  };
  HarnessOptions options;
  runAll(plan, body, std::move(options));
  return found;
}

// Also of fewer elements than ranks, and parts that are empty or short.
TEST(EncodedPlanTest, RanksEndWithTheSameMean) {
  for (int64_t ranks : {1, 2, 3, 4})
    for (int64_t count : {1, 2, 3, 5, 37, 1000, 5000})
      for (fb::ReduceKind kind : {fb::ReduceKind::Sum, fb::ReduceKind::Mean}) {
        auto given = [&](int64_t rank, int64_t i) {
          return std::sin(static_cast<float>(rank * 7919 + i * 31)) * 3;
        };
        std::vector<std::vector<float>> found = reduceOnRanks(
            makeEncodedPlan(ranks, count, fb::DataType::Float32, kind).load(),
            ranks, count, given);
        std::vector<double> wanted = expected(ranks, count, kind, given);
        for (int64_t i = 0; i < count; ++i)
          // Where float32 and float64 round to different codes, a step apart.
          ASSERT_NEAR(found[0][i], wanted[i],
                      kind == fb::ReduceKind::Sum ? 0.05 * ranks : 0.05)
              << ranks << " ranks, element " << i << " of " << count;
        for (const std::vector<float> &other : found)
          EXPECT_EQ(other, found[0]);
      }
}

replay::CheckResult checkOf(const std::shared_ptr<const Plan> &plan) {
  replay::ReplayOptions options;
  options.steps = 3;
  options.timeScale = 0;
  options.check = true;
  auto result = replay::replayPlan(plan, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result->check : replay::CheckResult();
}

TEST(EncodedPlanTest, ACheckKnowsTheBound) {
  for (fb::DataType type :
       {fb::DataType::Float32, fb::DataType::Float16, fb::DataType::BFloat16})
    for (int64_t count : {3, 1000}) {
      replay::CheckResult check =
          checkOf(makeEncodedPlan(4, count, type).load());
      EXPECT_TRUE(check.passed) << fb::EnumNameDataType(type) << " " << count;
      // A part of one element is exact.
      EXPECT_EQ(check.maxError > 0, count > 4);
      // Two encodings of values up to 4, and rounding.
      EXPECT_LT(check.maxError, 4 * 2.2 / 254 + 0.2);
    }
  // The part of one rank is lost: more than any encoding loses.
  PlanBuilder lost = makeEncodedPlan(4, 1000);
  lost.op(2).kind = fb::ReduceKind::Sum;
  EXPECT_FALSE(checkOf(lost.load()).passed);
}

} // namespace
} // namespace bagua::runtime::test
