//===- FingerprintTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a fingerprint promises: any flipped bit and any other length shows.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/Fingerprint.h"

#include <gtest/gtest.h>

#include <string>

using namespace bagua;

namespace {

uint64_t of(const std::string &text) {
  return fingerprintBytes(text.data(), text.size());
}

TEST(FingerprintTest, IsAFunctionOfTheBytes) {
  EXPECT_EQ(of("abc"), of("abc"));
  EXPECT_NE(of(""), of(std::string(1, '\0')));
  EXPECT_NE(of(std::string(8, '\0')), of(std::string(16, '\0')));
  // Part of the plan format: never changes.
  EXPECT_EQ(of(""), 0xc1e2805d607a11c4);
  EXPECT_EQ(of("bagua plan"), 0xd2ba378d1a418f1a);
}

TEST(FingerprintTest, EveryFlippedBitShows) {
  for (size_t size : {1, 7, 8, 9, 100}) {
    std::string text(size, 'x');
    uint64_t before = of(text);
    for (size_t bit = 0; bit < size * 8; ++bit) {
      text[bit / 8] ^= static_cast<char>(1 << bit % 8);
      EXPECT_NE(of(text), before);
      text[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
  }
}

} // namespace
