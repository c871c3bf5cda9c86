//===- Spirals.cpp - Data to classify -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Points on three arms, class by class, then shuffled.
//
//===----------------------------------------------------------------------===//
#include "Spirals.h"

#include <cmath>
#include <random>

namespace {
/// std::mt19937 is the same everywhere; the library's distributions are not.
float uniform(std::mt19937 &random) {
  return static_cast<float>(random() >> 8) * (1.0f / (1 << 24));
}
} // namespace

Samples makeSpirals(int count, unsigned seed) {
  std::mt19937 random(seed);
  Samples samples{Matrix(count, 2), Labels(count)};
  for (int i = 0; i < count; ++i) {
    int arm = i % 3;
    float radius = 0.1f + 0.9f * uniform(random);
    float noise = 0.2f * (uniform(random) - 0.5f);
    float angle = 4.0f * radius + 2.0944f * static_cast<float>(arm) + noise;
    samples.points(i, 0) = radius * std::sin(angle);
    samples.points(i, 1) = radius * std::cos(angle);
    samples.labels(i) = arm;
  }
  for (int i = count - 1; i > 0; --i) {
    int j = static_cast<int>(random() % static_cast<unsigned>(i + 1));
    samples.points.row(i).swap(samples.points.row(j));
    std::swap(samples.labels(i), samples.labels(j));
  }
  return samples;
}

Samples sliceOf(const Samples &samples, int begin, int count) {
  return {samples.points.middleRows(begin, count),
          samples.labels.segment(begin, count)};
}
