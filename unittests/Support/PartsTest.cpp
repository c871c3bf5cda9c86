//===- PartsTest.cpp - The cut of N elements over n ranks -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts are compared with dealing out elements one by one.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/Parts.h"

#include "gtest/gtest.h"

#include <vector>

namespace bagua {
namespace {

// Elements are dealt in order, ceil(N/n) to each rank until none is left.
TEST(PartsTest, parts_are_elements_dealt_in_order) {
  for (int64_t parts = 1; parts <= 9; ++parts) {
    for (int64_t count = 0; count <= 40; ++count) {
      int64_t perPart = 0;
      while (perPart * parts < count)
        ++perPart;
      EXPECT_EQ(partSize(count, parts), perPart);

      int64_t next = 0;
      for (int64_t index = 0; index < parts; ++index) {
        ElementRange expected{next, next};
        while (expected.size() < perPart && next < count)
          expected.end = ++next;
        EXPECT_EQ(partRange(count, parts, index), expected)
            << "part " << index << " of " << count << " over " << parts;
      }
      EXPECT_EQ(next, count);
    }
  }
}

// With fewer elements than ranks the last ranks hold nothing.
TEST(PartsTest, last_parts_may_be_empty) {
  EXPECT_EQ(partRange(5, 4, 2), (ElementRange{4, 5}));
  EXPECT_EQ(partRange(5, 4, 3), (ElementRange{5, 5}));
  EXPECT_EQ(partRange(1, 8, 7).size(), 0);
}

// The size must not overflow where count + parts - 1 would.
TEST(PartsTest, largest_count_does_not_overflow) {
  EXPECT_EQ(partSize(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

} // namespace
} // namespace bagua
