//===- NormUpdatesTest.cpp - Norms, LAMB and LARS -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels against the published formulas in float64, and norms of parts against
// those of the whole.
//
//===----------------------------------------------------------------------===//
#include "Kernels/NormKernel.h"
#include "Kernels/Updates/UpdateKernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace bagua::runtime {
namespace {

using Floats = std::vector<float>;

Floats draw(size_t count, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(count);
  for (float &value : values)
    value = normal(random);
  return values;
}

const std::byte *bytesOf(const Floats &values) {
  return reinterpret_cast<const std::byte *>(values.data());
}

double normOf(const Floats &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

double squaredNorm(const Floats &values) {
  return runtime::squaredNorm(DataType::Float32, bytesOf(values),
                              static_cast<int64_t>(values.size()));
}

TEST(SquaredNormTest, IsTheSumOfSquares) {
  EXPECT_EQ(squaredNorm({}), 0);
  EXPECT_EQ(squaredNorm({-3}), 9);
  for (size_t count : {7, 8, 511, 512, 513, 4099}) {
    Floats values = draw(count, static_cast<int>(count));
    double norm = normOf(values);
    EXPECT_NEAR(squaredNorm(values), norm * norm, 1e-12 * norm * norm);
  }
  // Squares that float32 cannot hold.
  EXPECT_EQ(squaredNorm({0x1p100f}), 0x1p200);
}

/// Element i goes to sum i mod 8, so squares of powers of two end in one order.
TEST(SquaredNormTest, AddsInItsOrder) {
  Floats values(17, 0);
  values[0] = 0x1p27f;
  values[8] = 1;
  values[16] = 1;
  values[3] = 1;
  double first = ((0x1p54 + 1) + 1);
  EXPECT_EQ(squaredNorm(values), first + 1);
}

TEST(SquaredNormTest, OtherTypes) {
  const double doubles[] = {3, 4};
  EXPECT_EQ(runtime::squaredNorm(DataType::Float64,
                                 reinterpret_cast<const std::byte *>(doubles),
                                 2),
            25);
  const uint16_t halves[] = {0x3c00, 0x4000}; // 1 and 2
  EXPECT_EQ(runtime::squaredNorm(DataType::Float16,
                                 reinterpret_cast<const std::byte *>(halves),
                                 2),
            5);
}

/// Runs the kernels of a rule on states that lie in place.
struct KernelRun {
  UpdateRule rule;
  Floats constants;
  BiasCorrection correction = BiasCorrection::None;
  double rate = 0.1;
  int64_t update = 1;

  UpdateArguments arguments(const std::vector<const std::byte *> &inputs,
                            const std::vector<std::byte *> &outputs,
                            size_t count) const {
    UpdateArguments a;
    a.count = static_cast<int64_t>(count);
    a.inputs = inputs;
    a.outputs = outputs;
    a.constants = constants;
    a.correction = correction;
    a.learningRate = rate;
    a.update = update;
    return a;
  }
  Floats direction(const std::vector<Floats> &states,
                   const Floats &gradient) const {
    Floats result(gradient.size());
    std::vector<const std::byte *> inputs;
    for (const Floats &state : states)
      inputs.push_back(bytesOf(state));
    inputs.push_back(bytesOf(gradient));
    std::vector<std::byte *> outputs{
        reinterpret_cast<std::byte *>(result.data())};
    updateKernelOf(rule).direct(arguments(inputs, outputs, gradient.size()));
    return result;
  }
  void apply(std::vector<Floats> &states, const Floats &gradient) const {
    Floats scaled = direction(states, gradient);
    std::vector<const std::byte *> inputs;
    std::vector<std::byte *> outputs;
    for (Floats &state : states) {
      inputs.push_back(bytesOf(state));
      outputs.push_back(reinterpret_cast<std::byte *>(state.data()));
    }
    inputs.push_back(bytesOf(gradient));
    UpdateArguments a = arguments(inputs, outputs, gradient.size());
    a.squaredParam = squaredNorm(states[0]);
    a.squaredDirection = squaredNorm(scaled);
    updateKernelOf(rule).update(a);
  }
};

void expectNear(const Floats &found, const std::vector<double> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 4e-6 * (1 + std::fabs(expected[i])))
        << i;
}

std::vector<double> doublesOf(const Floats &values) {
  return {values.begin(), values.end()};
}

double norm(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

constexpr size_t kCount = 1237;

TEST(LambTest, IsThePublishedUpdate) {
  for (BiasCorrection correction :
       {BiasCorrection::None, BiasCorrection::Moments,
        BiasCorrection::StepSize}) {
    KernelRun run{UpdateRule::Lamb, {0.9f, 0.99f, 1e-6f, 0.02f}, correction};
    std::vector<Floats> states{draw(kCount, 1), Floats(kCount), Floats(kCount)};
    std::vector<double> w = doublesOf(states[0]), m(kCount), v(kCount);
    for (run.update = 1; run.update <= 3; ++run.update) {
      Floats gradient = draw(kCount, 10 + static_cast<int>(run.update));
      run.apply(states, gradient);
      double rest1 = 1 - std::pow(double(0.9f), run.update);
      double rest2 = 1 - std::pow(double(0.99f), run.update);
      std::vector<double> u(kCount);
      for (size_t i = 0; i < kCount; ++i) {
        double g = gradient[i];
        m[i] = double(0.9f) * m[i] + (1 - double(0.9f)) * g;
        v[i] = double(0.99f) * v[i] + (1 - double(0.99f)) * g * g;
        if (correction == BiasCorrection::None)
          u[i] = m[i] / (std::sqrt(v[i]) + 1e-6);
        else if (correction == BiasCorrection::Moments)
          u[i] = m[i] / rest1 / (std::sqrt(v[i] / rest2) + 1e-6);
        else
          u[i] = std::sqrt(rest2) / rest1 * m[i] / (std::sqrt(v[i]) + 1e-6);
        u[i] += double(0.02f) * w[i];
      }
      double ratio = norm(w) / norm(u);
      for (size_t i = 0; i < kCount; ++i)
        w[i] -= 0.1 * ratio * u[i];
      expectNear(states[0], w);
      expectNear(states[1], m);
      expectNear(states[2], v);
    }
  }
}

TEST(LarsTest, IsThePublishedUpdate) {
  for (UpdateRule rule : {UpdateRule::Lars, UpdateRule::LarsTrace}) {
    KernelRun run{rule, {0.9f, 0.01f, 0.02f, 1e-3f}};
    std::vector<Floats> states{draw(kCount, 1), Floats(kCount)};
    std::vector<double> w = doublesOf(states[0]), m(kCount);
    for (int step = 0; step < 3; ++step) {
      Floats gradient = draw(kCount, 20 + step);
      run.apply(states, gradient);
      std::vector<double> d(kCount);
      for (size_t i = 0; i < kCount; ++i)
        d[i] = gradient[i] + double(0.01f) * w[i];
      double ratio = double(0.02f) * norm(w) / (norm(d) + 1e-3);
      for (size_t i = 0; i < kCount; ++i) {
        if (rule == UpdateRule::Lars) {
          m[i] = double(0.9f) * m[i] + ratio * d[i];
          w[i] -= 0.1 * m[i];
        } else {
          m[i] = double(0.9f) * m[i] - 0.1 * ratio * d[i];
          w[i] += m[i];
        }
      }
      expectNear(states[0], w);
      expectNear(states[1], m);
    }
  }
}

/// A param of zeros, or a direction of zeros, is not scaled.
TEST(TrustRatioTest, IsOneWithoutANorm) {
  KernelRun run{UpdateRule::Lars, {0.9f, 0, 0.001f, 0}};
  std::vector<Floats> states{Floats(3), Floats(3)};
  run.apply(states, {1, 2, 3});
  EXPECT_EQ(states[1], (Floats{1, 2, 3}));
  states = {{1, 2, 3}, Floats(3)};
  run.apply(states, Floats(3));
  EXPECT_EQ(states[0], (Floats{1, 2, 3}));
  EXPECT_EQ(states[1], Floats(3));
}

} // namespace
} // namespace bagua::runtime
