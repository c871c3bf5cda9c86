//===- RooflineTest.cpp - The roofline by exact fractions -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result is the smallest integer that is large enough.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/Roofline.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace bagua;

TEST(RooflineTest, IsTheLeastTimeThatIsEnough) {
  __extension__ using Wide = __int128;
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 10000; ++trial) {
    auto below = [&](int64_t bound) {
      return static_cast<int64_t>(random() % bound);
    };
    DeviceRates device{1 + below(int64_t(1) << (1 + below(50))),
                       1 + below(int64_t(1) << (1 + below(45))), below(10000)};
    int64_t flops = below(int64_t(1) << (1 + below(44)));
    int64_t bytes = below(int64_t(1) << (1 + below(40)));
    int64_t ns = kernelNs(flops, bytes, device);
    EXPECT_EQ(rooflineNs(flops, bytes, device),
              ns == 0 ? 0 : ns + device.launchNs);
    if (ns == INT64_MAX / 4)
      continue; // hundreds of years
    auto isEnough = [&](int64_t time) {
      return Wide(time) * device.flopPerS >= Wide(flops) * 1000000000 &&
             Wide(time) * device.bytesPerS >= Wide(bytes) * 1000000000;
    };
    EXPECT_TRUE(isEnough(ns)) << "trial " << trial;
    EXPECT_FALSE(ns > 0 && isEnough(ns - 1)) << "trial " << trial;
  }
}

// 120 Tflop/s and 900 GB/s: 1 Gflop takes 8.33 us, 9 MB take 10 us.
TEST(RooflineTest, TakesTheSlowerOfComputeAndMemory) {
  DeviceRates device{120000000000000, 900000000000, 5000};
  EXPECT_EQ(rooflineNs(1000000000, 0, device), 8334 + 5000);
  EXPECT_EQ(rooflineNs(1000000000, 9000000, device), 10000 + 5000);
  EXPECT_EQ(rooflineNs(0, 0, device), 0);
}

TEST(RooflineTest, DoesNotOverflow) {
  EXPECT_EQ(rooflineNs(INT64_MAX, INT64_MAX, {1, 1, 7}), INT64_MAX / 4 + 7);
}
