//===- ReduceKernelsTest.cpp - Bits of sums, means, minima and maxima -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every instruction set that this machine can run against the reference, bit by
// bit: that each equals the reference is that all are equal.
//
//===----------------------------------------------------------------------===//
#include "Kernels/ReduceKernels.h"

#include "Reference.h"

#include "hwy/targets.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace bagua::runtime {
namespace {

/// Name and bit of each target that the kernels may be dispatched to here.
std::vector<std::pair<const char *, int64_t>> targets() {
  std::vector<std::pair<const char *, int64_t>> result;
  hwy::SetSupportedTargetsForTest(0);
  const int64_t supported = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  for (int64_t target : {HWY_SCALAR, HWY_EMU128, HWY_SSSE3, HWY_SSE4, HWY_AVX2,
                         HWY_AVX3, HWY_AVX3_DL, HWY_NEON, HWY_SVE, HWY_SVE2})
    if (supported & target)
      result.emplace_back(hwy::TargetName(target), target);
  return result;
}

void use(int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

class ReduceKernelsTest : public testing::Test {
protected:
  void TearDown() override { use(0); }
};

Bytes reduce(DataType type, ReduceKind kind, const std::vector<Bytes> &inputs) {
  std::vector<const std::byte *> from;
  for (const Bytes &input : inputs)
    from.push_back(input.data());
  Bytes result(inputs[0].size());
  std::byte *to = result.data();
  reduceElements(type, kind, from, absl::MakeConstSpan(&to, 1),
                 result.size() / dataTypeBytes(type));
  return result;
}

template <typename T> Bytes bytesOf(const std::vector<T> &elements) {
  Bytes result(elements.size() * sizeof(T));
  std::memcpy(result.data(), elements.data(), result.size());
  return result;
}

const DataType kAllTypes[] = {
    DataType::Float32, DataType::Float16, DataType::BFloat16, DataType::Float64,
    DataType::Int8,    DataType::Int32,   DataType::Int64};
const ReduceKind kAllKinds[] = {ReduceKind::Sum, ReduceKind::Mean,
                                ReduceKind::Min, ReduceKind::Max};

// Counts round the width of a vector, of four vectors and of the part that is
// prefetched; numbers of inputs that do and do not divide anything.
TEST_F(ReduceKernelsTest, all_targets_equal_the_reference) {
  std::mt19937_64 random(1);
  for (int inputCount : {1, 2, 3, 4, 5, 8, 9, 17}) {
    for (int64_t count : {0, 1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 127, 257, 511,
                          1024, 4099, 200003}) {
      if (count > 10000 && inputCount != 3)
        continue;
      for (DataType type : kAllTypes) {
        std::vector<Bytes> inputs;
        for (int j = 0; j < inputCount; ++j)
          inputs.push_back(randomElements(type, count, random));
        for (ReduceKind kind : kAllKinds) {
          if (!isReducible(type, kind))
            continue;
          Bytes expected = referenceReduce(type, kind, inputs);
          for (auto [name, target] : targets()) {
            use(target);
            EXPECT_TRUE(reduce(type, kind, inputs) == expected)
                << name << ": " << reduceKindName(kind) << " of "
                << dataTypeName(type) << ", " << inputCount << " inputs of "
                << count;
          }
        }
      }
    }
  }
}

// All outputs get the result, also when they are inputs.
TEST_F(ReduceKernelsTest, outputs_may_be_inputs) {
  std::mt19937_64 random(2);
  const int64_t count = 1000;
  std::vector<Bytes> buffers;
  for (int j = 0; j < 3; ++j)
    buffers.push_back(randomElements(DataType::Float32, count, random));
  Bytes expected = referenceReduce(DataType::Float32, ReduceKind::Sum, buffers);
  Bytes other(expected.size());
  const std::byte *from[] = {buffers[0].data(), buffers[1].data(),
                             buffers[2].data()};
  std::byte *to[] = {buffers[2].data(), other.data(), buffers[0].data()};
  reduceElements(DataType::Float32, ReduceKind::Sum, from, to, count);
  EXPECT_TRUE(buffers[0] == expected);
  EXPECT_TRUE(buffers[2] == expected);
  EXPECT_TRUE(other == expected);
}

/// a + b for all 65536 values of a and some b, which together meet every way of
/// rounding: exact, below, at and above the middle, from even and from odd,
/// into the subnormals, to infinity.
void addToAllFloats16(DataType type, Float16Layout layout) {
  std::vector<uint16_t> all(65536);
  for (int i = 0; i < 65536; ++i)
    all[i] = static_cast<uint16_t>(i);
  const int one = decodeFloat16(0x3c00, layout) == 1 ? 0x3c00 : 0x3f80;
  for (int b : {0,       1,          2,           3,      0x7f,   0x80,
                0x81,    0x3ff,      0x400,       0x401,  one,    one + 1,
                one - 1, one + 0x80, one + 0x123, 0x4bff, 0x7b00, 0x7bff,
                0x7f7f,  0x7c00,     0x7f80,      0x7fff}) {
    for (int sign : {0, 0x8000}) {
      Bytes lhs = bytesOf(all);
      Bytes rhs = bytesOf(
          std::vector<uint16_t>(65536, static_cast<uint16_t>(b | sign)));
      for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Mean}) {
        Bytes expected = referenceReduce(type, kind, {lhs, rhs});
        for (auto [name, target] : targets()) {
          use(target);
          EXPECT_TRUE(reduce(type, kind, {lhs, rhs}) == expected)
              << name << ": " << reduceKindName(kind) << " with " << (b | sign);
        }
      }
    }
  }
}

TEST_F(ReduceKernelsTest, float16_rounds_to_nearest_even) {
  addToAllFloats16(DataType::Float16, kFloat16Layout);
}

TEST_F(ReduceKernelsTest, bfloat16_rounds_to_nearest_even) {
  addToAllFloats16(DataType::BFloat16, kBFloat16Layout);
}

// Rounding after every addition would lose all of the small ones.
TEST_F(ReduceKernelsTest, sixteen_bit_floats_are_rounded_once) {
  std::vector<Bytes> inputs = {
      bytesOf<uint16_t>({encodeFloat16(2048, kFloat16Layout)})};
  for (int j = 0; j < 4; ++j)
    inputs.push_back(bytesOf<uint16_t>({encodeFloat16(1, kFloat16Layout)}));
  EXPECT_TRUE(reduce(DataType::Float16, ReduceKind::Sum, inputs) ==
              bytesOf<uint16_t>({encodeFloat16(2052, kFloat16Layout)}));
}

template <typename T> std::vector<T> specialFloats() {
  using Limits = std::numeric_limits<T>;
  return {T(0),
          -T(0),
          T(1),
          -T(1),
          Limits::denorm_min(),
          -Limits::denorm_min(),
          Limits::max(),
          -Limits::max(),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::quiet_NaN(),
          -Limits::quiet_NaN(),
          Limits::signaling_NaN()};
}

/// Every pair of special values, in both orders.
template <typename T> void combineSpecials(DataType type) {
  std::vector<T> lhs, rhs;
  for (T a : specialFloats<T>())
    for (T b : specialFloats<T>()) {
      lhs.push_back(a);
      rhs.push_back(b);
    }
  std::vector<Bytes> inputs = {bytesOf(lhs), bytesOf(rhs)};
  for (ReduceKind kind : kAllKinds)
    for (auto [name, target] : targets()) {
      SCOPED_TRACE(name);
      use(target);
      EXPECT_TRUE(reduce(type, kind, inputs) ==
                  referenceReduce(type, kind, inputs))
          << reduceKindName(kind);
    }
}

TEST_F(ReduceKernelsTest, special_values) {
  combineSpecials<float>(DataType::Float32);
  combineSpecials<double>(DataType::Float64);
}

template <typename T> T extremum(ReduceKind kind, DataType type, T a, T b) {
  Bytes result = reduce(type, kind, {bytesOf<T>({a}), bytesOf<T>({b})});
  T value;
  std::memcpy(&value, result.data(), sizeof(T));
  return value;
}

// Spelled out once without the reference.
TEST_F(ReduceKernelsTest, minimum_and_maximum_order_zeros_and_keep_nan) {
  const DataType type = DataType::Float32;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (auto [name, target] : targets()) {
    SCOPED_TRACE(name);
    use(target);
    EXPECT_TRUE(std::signbit(extremum(ReduceKind::Min, type, 0.0f, -0.0f)));
    EXPECT_TRUE(std::signbit(extremum(ReduceKind::Min, type, -0.0f, 0.0f)));
    EXPECT_FALSE(std::signbit(extremum(ReduceKind::Max, type, 0.0f, -0.0f)));
    EXPECT_FALSE(std::signbit(extremum(ReduceKind::Max, type, -0.0f, 0.0f)));
    EXPECT_TRUE(std::isnan(extremum(ReduceKind::Min, type, nan, 1.0f)));
    EXPECT_TRUE(std::isnan(extremum(ReduceKind::Max, type, 1.0f, nan)));
  }
}

// Whatever NaNs went in, and whichever came first, the same bits come out.
TEST_F(ReduceKernelsTest, nan_results_have_one_form) {
  const uint32_t nans[] = {0x7f800001, 0xffc12345, 0x7fc00000, 0xff800001};
  for (uint32_t a : nans)
    for (uint32_t b : nans)
      for (ReduceKind kind : kAllKinds)
        EXPECT_EQ(extremum(kind, DataType::Float32, a, b), 0x7fc00000u);
}

TEST_F(ReduceKernelsTest, integers_wrap) {
  EXPECT_EQ(extremum<int8_t>(ReduceKind::Sum, DataType::Int8, 127, 1), -128);
  EXPECT_EQ(extremum<int32_t>(ReduceKind::Sum, DataType::Int32, INT32_MIN, -1),
            INT32_MAX);
  EXPECT_EQ(extremum<int64_t>(ReduceKind::Sum, DataType::Int64, INT64_MAX, 1),
            INT64_MIN);
}

TEST_F(ReduceKernelsTest, mean_of_integers_is_not_defined) {
  for (DataType type : kAllTypes)
    for (ReduceKind kind : kAllKinds)
      EXPECT_EQ(isReducible(type, kind),
                !isInteger(type) || kind != ReduceKind::Mean);
}

} // namespace
} // namespace bagua::runtime
