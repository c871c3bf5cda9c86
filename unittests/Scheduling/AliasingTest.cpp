//===- AliasingTest.cpp - Alias classes against a list of offsets ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference keeps the class and the position of every value and moves whole
// classes. Ranges of bytes are held against a list of them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Proof/Aliasing.h"
#include "bagua/Scheduling/Proof/ByteRanges.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <set>

using namespace bagua;

namespace {
class Reference {
public:
  void add() {
    classes.push_back(static_cast<int32_t>(classes.size()));
    positions.push_back(0);
  }
  bool tie(int32_t value, int32_t base, int64_t delta) {
    int64_t shift = positions[base] + delta - positions[value];
    if (classes[value] == classes[base])
      return shift == 0;
    int32_t from = classes[value];
    for (size_t i = 0; i < classes.size(); ++i)
      if (classes[i] == from) {
        classes[i] = classes[base];
        positions[i] += shift;
      }
    return true;
  }

  std::vector<int32_t> classes;
  std::vector<int64_t> positions;
};
} // namespace

TEST(AliasingTest, AgreesWithTheReference) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    AliasClasses aliases;
    Reference reference;
    auto count = static_cast<int32_t>(2 + random() % 10);
    for (int32_t i = 0; i < count; ++i) {
      EXPECT_EQ(aliases.add(), i);
      reference.add();
    }
    for (size_t ties = random() % 15; ties > 0; --ties) {
      auto value = static_cast<int32_t>(random() % count);
      auto base = static_cast<int32_t>(random() % count);
      int64_t delta = static_cast<int64_t>(random() % 9) - 4;
      ASSERT_EQ(aliases.tie(value, base, delta),
                reference.tie(value, base, delta))
          << "trial " << trial;
    }
    for (int32_t a = 0; a < count; ++a)
      for (int32_t b = 0; b < count; ++b) {
        bool share = aliases.classOf(a) == aliases.classOf(b);
        ASSERT_EQ(share, reference.classes[a] == reference.classes[b]);
        if (share) {
          ASSERT_EQ(aliases.offsetOf(a) - aliases.offsetOf(b),
                    reference.positions[a] - reference.positions[b])
              << "trial " << trial;
        }
      }
  }
}

// A value can't lie at two places in one class; the attempt changes nothing.
TEST(AliasingTest, RefusesAContradiction) {
  AliasClasses aliases;
  int32_t bucket = aliases.add(), first = aliases.add(), second = aliases.add();
  EXPECT_TRUE(aliases.tie(first, bucket, 0));
  EXPECT_TRUE(aliases.tie(second, bucket, 16));
  EXPECT_FALSE(aliases.tie(second, first, 8));
  EXPECT_TRUE(aliases.tie(second, first, 16));
  EXPECT_EQ(aliases.offsetOf(second) - aliases.offsetOf(bucket), 16);
}

TEST(ByteRangesTest, FindsWhatAWalkOverAllFinds) {
  struct Listed {
    int64_t begin, bytes;
  };
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    ByteRanges ranges;
    std::vector<Listed> list;
    for (int32_t number = 0; number < 30; ++number) {
      Listed added{static_cast<int64_t>(random() % 60) - 30,
                   static_cast<int64_t>(random() % (random() % 2 ? 4 : 40))};
      ByteRanges one(number, added.bytes);
      one.shift(added.begin);
      if (number == 0)
        ranges = std::move(one);
      else
        ranges.take(std::move(one));
      list.push_back(added);
      auto delta = static_cast<int64_t>(random() % 7) - 3;
      ranges.shift(delta);
      int64_t first = INT64_MAX, last = INT64_MIN;
      for (Listed &other : list) {
        other.begin += delta;
        first = std::min(first, other.begin);
        last = std::max(last, other.begin + other.bytes);
      }
      ASSERT_EQ(ranges.begin(), first);
      ASSERT_EQ(ranges.end(), last);
      auto begin = static_cast<int64_t>(random() % 80) - 40;
      int64_t end = begin + 1 + static_cast<int64_t>(random() % 10);
      std::set<int32_t> expected, found;
      for (size_t i = 0; i < list.size(); ++i)
        if (std::max(list[i].begin, begin) <
            std::min(list[i].begin + list[i].bytes, end))
          expected.insert(static_cast<int32_t>(i));
      EXPECT_FALSE(ranges.any(begin, end, [&](int32_t number) {
        found.insert(number);
        return false;
      }));
      ASSERT_EQ(found, expected);
      EXPECT_EQ(ranges.any(begin, end, [](int32_t) { return true; }),
                !expected.empty());
    }
  }
}

// Of a bucket in a hundred thousand parts, each is asked about once: a walk
// over the others would take ten thousand million looks.
TEST(ByteRangesTest, LooksAtWhatOverlapsAlone) {
  constexpr int32_t kParts = 100000;
  ByteRanges bucket(kParts, int64_t{kParts} * 100);
  for (int32_t part = 0; part < kParts; ++part) {
    ByteRanges one(part, 100);
    one.shift(int64_t{part} * 100);
    bucket.take(std::move(one));
  }
  int64_t looks = 0;
  for (int64_t part = 0; part < kParts; ++part)
    bucket.any(part * 100, part * 100 + 100, [&](int32_t number) {
      ++looks;
      EXPECT_TRUE(number == part || number == kParts);
      return false;
    });
  EXPECT_EQ(looks, 2 * kParts);
}
