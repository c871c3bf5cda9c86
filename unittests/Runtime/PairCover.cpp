//===- PairCover.cpp - Few cases that contain every pair of choices -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts each case from an uncovered pair and fills it with the values that
// cover most.
//
//===----------------------------------------------------------------------===//
#include "PairCover.h"

#include <cstddef>
#include <set>
#include <utility>

namespace bagua::runtime {
namespace {

/// (dimension, value)
using Choice = std::pair<size_t, int>;
using Pairs = std::set<std::pair<Choice, Choice>>;

std::pair<Choice, Choice> ordered(Choice a, Choice b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

Pairs allPairs(const std::vector<int> &choices) {
  Pairs pairs;
  for (size_t a = 0; a < choices.size(); ++a)
    for (size_t b = a + 1; b < choices.size(); ++b)
      for (int i = 0; i < choices[a]; ++i)
        for (int j = 0; j < choices[b]; ++j)
          pairs.insert({{a, i}, {b, j}});
  return pairs;
}

/// The value of `dimension` that forms most missing pairs with those fixed.
/// Ties turn with `round`, so that no value is preferred in all cases.
int bestValue(const Pairs &missing, const std::vector<int> &fixed,
              size_t dimension, int values, size_t round) {
  int best = 0, bestGain = -1;
  for (int step = 0; step < values; ++step) {
    int value = static_cast<int>((round + step) % values);
    int gain = 0;
    for (size_t other = 0; other < fixed.size(); ++other)
      if (fixed[other] >= 0)
        gain += missing.count(
                    ordered({dimension, value}, {other, fixed[other]})) > 0;
    if (gain > bestGain) {
      best = value;
      bestGain = gain;
    }
  }
  return best;
}

} // namespace

std::vector<std::vector<int>> coverPairs(const std::vector<int> &choices) {
  std::vector<std::vector<int>> cases;
  Pairs missing = allPairs(choices);
  while (!missing.empty()) {
    std::vector<int> next(choices.size(), -1);
    auto [first, second] = *missing.begin();
    next[first.first] = first.second;
    next[second.first] = second.second;
    for (size_t d = 0; d < choices.size(); ++d)
      if (next[d] < 0)
        next[d] = bestValue(missing, next, d, choices[d], cases.size());
    for (size_t a = 0; a < next.size(); ++a)
      for (size_t b = a + 1; b < next.size(); ++b)
        missing.erase({{a, next[a]}, {b, next[b]}});
    cases.push_back(next);
  }
  return cases;
}

std::vector<std::vector<int>> fullProduct(const std::vector<int> &choices) {
  std::vector<std::vector<int>> cases = {{}};
  for (int values : choices) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int> &prefix : cases)
      for (int value = 0; value < values; ++value) {
        longer.push_back(prefix);
        longer.back().push_back(value);
      }
    cases = std::move(longer);
  }
  return cases;
}

} // namespace bagua::runtime
