//===- Lamb.cpp - LAMB ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// m' = b1*m + (1-b1)*g; v' = b2*v + (1-b2)*(g*g); with c1 = 1 - b1^t and
// c2 = 1 - b2^t, computed in float64 and rounded:
//   None      d = m' / (sqrt(v') + eps) + decay*w
//   Moments   d = (m'/c1) / (sqrt(v'/c2) + eps) + decay*w
//   StepSize  d = ((sqrt(c2)/c1)*m') / (sqrt(v') + eps) + decay*w
// w' = w - lr*(r*d), r = |w|/|d| (TrustRatio.h). The update computes d anew
// from the old states: to keep it would take as much memory as a moment.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Blocks.h"
#include "Kernels/Updates/TrustRatio.h"

namespace bagua::runtime {
namespace {

/// Numbers of one update, rounded to the type it is computed in.
template <typename C> struct Numbers {
  explicit Numbers(const UpdateArguments &a)
      : beta1(a.constants[0]), beta2(a.constants[1]), rest1(C(1) - beta1),
        rest2(C(1) - beta2), eps(a.constants[2]), decay(a.constants[3]) {
    double t = static_cast<double>(a.update);
    C c1 = static_cast<C>(1 - std::pow(double(a.constants[0]), t));
    C c2 = static_cast<C>(1 - std::pow(double(a.constants[1]), t));
    if (a.correction == BiasCorrection::Moments) {
      correction1 = c1;
      correction2 = c2;
    }
    if (a.correction == BiasCorrection::StepSize)
      stepSize = std::sqrt(c2) / c1;
  }

  C beta1, beta2, rest1, rest2, eps, decay;
  C correction1 = 1, correction2 = 1, stepSize = 1;
};

template <typename C> struct Blocks {
  Block<C> w, m, v, d;
};

/// Loads a block of states and gradient, and makes new moments and the
/// direction.
template <typename C>
void makeDirection(const UpdateArguments &a, const Numbers<C> &c, int64_t at,
                   int64_t size, Blocks<C> &b) {
  load(a.type, a.inputs[0] + at, size, b.w.at);
  load(a.type, a.inputs[1] + at, size, b.m.at);
  load(a.type, a.inputs[2] + at, size, b.v.at);
  load(a.type, a.inputs[3] + at, size, b.d.at);
  for (int64_t i = 0; i < size; ++i) {
    C g = b.d.at[i];
    b.m.at[i] = c.beta1 * b.m.at[i] + c.rest1 * g;
    b.v.at[i] = c.beta2 * b.v.at[i] + c.rest2 * (g * g);
    b.d.at[i] = c.stepSize * (b.m.at[i] / c.correction1) /
                    (std::sqrt(b.v.at[i] / c.correction2) + c.eps) +
                c.decay * b.w.at[i];
  }
}

template <typename C> void updateBlocks(const UpdateArguments &a) {
  int64_t bytes = dataTypeBytes(a.type);
  const Numbers<C> c(a);
  C ratio = trustRatio<C>(a, /*coefficient=*/1, /*eps=*/0);
  C rate = static_cast<C>(a.learningRate);
  Blocks<C> b;
  forEachBlock(a.count, [&](int64_t begin, int64_t size) {
    int64_t at = begin * bytes;
    makeDirection(a, c, at, size, b);
    for (int64_t i = 0; i < size; ++i)
      b.w.at[i] = b.w.at[i] - rate * (ratio * b.d.at[i]);
    store(a.type, b.w.at, size, a.outputs[0] + at);
    store(a.type, b.m.at, size, a.outputs[1] + at);
    store(a.type, b.v.at, size, a.outputs[2] + at);
  });
}

template <typename C> void directBlocks(const UpdateArguments &a) {
  int64_t bytes = dataTypeBytes(a.type);
  const Numbers<C> c(a);
  Blocks<C> b;
  forEachBlock(a.count, [&](int64_t begin, int64_t size) {
    makeDirection(a, c, begin * bytes, size, b);
    store(a.type, b.d.at, size, a.outputs[0] + begin * bytes);
  });
}

void update(const UpdateArguments &a) {
  inComputeType(a.type, [&](auto zero) { updateBlocks<decltype(zero)>(a); });
}

void direct(const UpdateArguments &a) {
  inComputeType(a.type, [&](auto zero) { directBlocks<decltype(zero)>(a); });
}

} // namespace

extern const UpdateKernel kLambKernel;
const UpdateKernel kLambKernel{UpdateRule::Lamb, update, direct};

} // namespace bagua::runtime
