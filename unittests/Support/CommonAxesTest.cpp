//===- CommonAxesTest.cpp - Two meshes over the same ranks ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Held to what the common axes are for: every rank has the same coordinates by
// them as by the meshes' own. Whether there are any is told by where the meshes
// cut the row of ranks: each cut has to divide the next larger one.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/CommonAxes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>
#include <numeric>
#include <random>

namespace bagua {
namespace {

using Sizes = std::vector<int64_t>;

TEST(CommonAxesTest, halves_of_an_axis) {
  auto common = commonAxes({4, 2}, {2, 4});
  ASSERT_TRUE(common);
  ASSERT_EQ(common->size(), 3u);
  Sizes sizes, first, second;
  for (const CommonAxis &axis : *common) {
    sizes.push_back(axis.size);
    first.push_back(static_cast<int64_t>(axis.ofFirst));
    second.push_back(static_cast<int64_t>(axis.ofSecond));
  }
  EXPECT_EQ(sizes, (Sizes{2, 2, 2}));
  EXPECT_EQ(first, (Sizes{0, 0, 1}));
  EXPECT_EQ(second, (Sizes{0, 1, 1}));
  EXPECT_FALSE(commonAxes({3, 2}, {2, 3}));
  EXPECT_FALSE(commonAxes({4}, {8}));
  EXPECT_FALSE(commonAxes({4, 2}, {4}));
}

int64_t productOf(const Sizes &sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         std::multiplies<>());
}

/// Row-major, outermost first.
Sizes coordinatesOf(int64_t rank, const Sizes &sizes) {
  Sizes coordinates(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0; rank /= sizes[axis])
    coordinates[axis] = rank % sizes[axis];
  return coordinates;
}

/// So many ranks in each block within which only axes from one on differ.
std::vector<int64_t> cutsOf(const Sizes &sizes) {
  std::vector<int64_t> cuts;
  int64_t ranks = 1;
  for (size_t axis = sizes.size(); axis-- > 0;)
    cuts.push_back(ranks *= sizes[axis]);
  return cuts;
}

bool isChain(const Sizes &first, const Sizes &second) {
  std::vector<int64_t> cuts = cutsOf(first), others = cutsOf(second);
  cuts.insert(cuts.end(), others.begin(), others.end());
  std::sort(cuts.begin(), cuts.end());
  for (size_t i = 1; i < cuts.size(); ++i)
    if (cuts[i] % cuts[i - 1] != 0)
      return false;
  return cuts.back() == productOf(first) && cuts.back() == productOf(second);
}

/// Coordinates by the common axes, put together to those of a mesh.
Sizes composed(const std::vector<CommonAxis> &common, const Sizes &coordinates,
               size_t axes, size_t CommonAxis::*of) {
  Sizes result(axes, 0);
  for (size_t i = 0; i < common.size(); ++i) {
    int64_t &whole = result[common[i].*of];
    whole = whole * common[i].size + coordinates[i];
  }
  return result;
}

TEST(CommonAxesTest, ranks_have_the_same_coordinates) {
  std::mt19937 random(1);
  auto draw = [&] {
    Sizes sizes(1 + random() % 4);
    for (int64_t &size : sizes)
      size = 1 + static_cast<int64_t>(random() % 6);
    return sizes;
  };
  int found = 0, refused = 0;
  while (found < 300 || refused < 300) {
    Sizes first = draw(), second = draw();
    if (productOf(first) != productOf(second) && refused >= 150 && found < 300)
      continue;
    auto common = commonAxes(first, second);
    ASSERT_EQ(common.has_value(), isChain(first, second))
        << testing::PrintToString(first) << testing::PrintToString(second);
    ++(common ? found : refused);
    if (!common)
      continue;
    Sizes sizes;
    for (const CommonAxis &axis : *common)
      sizes.push_back(axis.size);
    ASSERT_EQ(productOf(sizes), productOf(first));
    for (int64_t rank = 0; rank < productOf(first); ++rank) {
      Sizes by = coordinatesOf(rank, sizes);
      ASSERT_EQ(composed(*common, by, first.size(), &CommonAxis::ofFirst),
                coordinatesOf(rank, first));
      ASSERT_EQ(composed(*common, by, second.size(), &CommonAxis::ofSecond),
                coordinatesOf(rank, second));
    }
  }
}

} // namespace
} // namespace bagua
