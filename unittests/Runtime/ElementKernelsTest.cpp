//===- ElementKernelsTest.cpp - Conversions and kernels by themselves -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every 16-bit float against its definition, casts at the ends of ranges, and
// what ExecutorTest's plans do not reach.
//
//===----------------------------------------------------------------------===//
#include "Kernels/ElementKernels.h"

#include "Kernels/HalfTypes.h"
#include "Kernels/Updates/UpdateKernel.h"
#include "Reference.h"

#include "bagua/Support/Peers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace bagua::runtime {
namespace {

TEST(PeersTest, ShiftOneIsSymmetric) {
  for (int64_t size : {2, 4, 6, 8, 64})
    for (int64_t step : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{1} << 40})
      for (int64_t member = 0; member < size; ++member)
        EXPECT_EQ(shiftOnePeer(shiftOnePeer(member, size, step), size, step),
                  member);
}

/// float64 is computed in its own type.
TEST(UpdateKernelsTest, Float64) {
  double w = 1.0 + 0x1p-40, g = 0x1p-45;
  const std::byte *inputs[] = {reinterpret_cast<std::byte *>(&w),
                               reinterpret_cast<std::byte *>(&g)};
  std::byte *outputs[] = {reinterpret_cast<std::byte *>(&w)};
  UpdateArguments a;
  a.type = DataType::Float64;
  a.count = 1;
  a.inputs = inputs;
  a.outputs = outputs;
  a.learningRate = 1.0;
  updateKernelOf(UpdateRule::Sgd).update(a);
  EXPECT_EQ(w, 1.0 + 0x1p-40 - 0x1p-45);
}

/// Every row has a kernel of its own.
TEST(UpdateKernelsTest, EveryRuleHasAKernel) {
  for (const UpdateRow &row : getUpdateRules())
    EXPECT_EQ(updateKernelOf(row.rule).rule, row.rule) << row.word;
}

TEST(HalfTypesTest, AgreeWithTheirDefinition) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    double f16 = decodeFloat16(half, kFloat16Layout);
    double bf16 = decodeFloat16(half, kBFloat16Layout);
    if (f16 == f16) {
      ASSERT_EQ(floatFromFloat16(half), f16);
      ASSERT_EQ(float16FromFloat(floatFromFloat16(half)), half);
    }
    if (bf16 == bf16) {
      ASSERT_EQ(floatFromBFloat16(half), bf16);
      ASSERT_EQ(bfloat16FromFloat(floatFromBFloat16(half)), half);
    }
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    float value = floatFromBits(static_cast<uint32_t>(random()));
    if (i % 2)
      value = std::ldexp(1.0f + float(random() % 4096) / 4096,
                         int(random() % 45) - 27);
    if (value != value)
      continue;
    ASSERT_EQ(float16FromFloat(value), encodeFloat16(value, kFloat16Layout));
    ASSERT_EQ(bfloat16FromFloat(value), encodeFloat16(value, kBFloat16Layout));
  }
  EXPECT_NE(floatFromFloat16(float16FromFloat(NAN)),
            floatFromFloat16(float16FromFloat(NAN)));
}

TEST(CastTest, FloatsAndIntegers) {
  auto cast = [](auto from, DataType fromType, auto to, DataType toType) {
    castKernel(fromType, reinterpret_cast<const std::byte *>(&from), toType,
               reinterpret_cast<std::byte *>(&to), 1);
    return to;
  };
  EXPECT_EQ(cast(2.5f, DataType::Float32, int32_t(), DataType::Int32), 2);
  EXPECT_EQ(cast(3.5f, DataType::Float32, int8_t(), DataType::Int8), 4);
  EXPECT_EQ(cast(1e9f, DataType::Float32, int8_t(), DataType::Int8), 127);
  EXPECT_EQ(cast(-1e30, DataType::Float64, int64_t(), DataType::Int64),
            INT64_MIN);
  EXPECT_EQ(cast(1e30, DataType::Float64, int64_t(), DataType::Int64),
            INT64_MAX);
  EXPECT_EQ(cast(std::nan(""), DataType::Float64, int32_t(), DataType::Int32),
            0);
  EXPECT_EQ(cast(int32_t{300}, DataType::Int32, int8_t(), DataType::Int8), 44);
  EXPECT_EQ(cast(int64_t{-7}, DataType::Int64, 0.0f, DataType::Float32), -7.0f);
  EXPECT_EQ(cast(1.0f, DataType::Float32, uint16_t(), DataType::Float16),
            0x3c00);
  EXPECT_EQ(cast(uint16_t{0x3fc0}, DataType::BFloat16, 0.0, DataType::Float64),
            1.5);
}

} // namespace
} // namespace bagua::runtime
