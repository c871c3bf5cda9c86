//===- AliasingTest.cpp - Alias classes against a list of offsets ---------===//
//
// The reference keeps the class and the position of every value and moves whole
// classes.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Aliasing.h"

#include "gtest/gtest.h"

#include <random>

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
