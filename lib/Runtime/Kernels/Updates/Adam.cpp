//===- Adam.cpp - Adam, and its step with given moments -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// w = w - (lr*decay)*w if decay is not 0; m' = b1*m + (1-b1)*g;
// v' = b2*v + (1-b2)*(g*g); then with c1 = 1 - b1^t, c2 = 1 - b2^t:
//   None      w' = w - (lr*m') / (sqrt(v') + eps)
//   Moments   w' = w - (lr*(m'/c1)) / (sqrt(v'/c2) + eps)
//   StepSize  w' = w - (((lr*sqrt(c2))/c1)*m') / (sqrt(v') + eps)
// c1 and c2 are computed in float64 and rounded. adam_apply has no gradient,
// and leaves the moments as they are.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Updates/UpdateKernel.h"

#include "Kernels/Blocks.h"

#include <cmath>

namespace bagua::runtime {
namespace {

/// In the order of plans; adam_apply lacks decay and, without a bias
/// correction, the betas.
struct Constants {
  float beta1 = 0, beta2 = 0, eps = 0, decay = 0;
};

/// Numbers of one update, rounded to the type it is computed in.
template <typename C> struct Numbers {
  Numbers(const UpdateArguments &a, const Constants &constants)
      : beta1(constants.beta1), beta2(constants.beta2), rest1(C(1) - beta1),
        rest2(C(1) - beta2), eps(constants.eps),
        rate(static_cast<C>(a.learningRate)), decay(rate * C(constants.decay)) {
    double t = static_cast<double>(a.update);
    correction1 = static_cast<C>(1 - std::pow(double(constants.beta1), t));
    correction2 = static_cast<C>(1 - std::pow(double(constants.beta2), t));
    if (a.correction == BiasCorrection::StepSize)
      rate = rate * std::sqrt(correction2) / correction1;
  }

  C beta1, beta2, rest1, rest2, eps, rate, decay, correction1, correction2;
};

template <typename C>
void updateBlocks(const UpdateArguments &a, const Constants &constants) {
  int64_t bytes = dataTypeBytes(a.type);
  const Numbers<C> c(a, constants);
  bool hasGradient = a.outputs.size() == 3;
  bool correctsMoments = a.correction == BiasCorrection::Moments;
  Block<C> w, m, v, g;
  forEachBlock(a.count, [&](int64_t begin, int64_t size) {
    int64_t at = begin * bytes;
    load(a.type, a.inputs[0] + at, size, w.at);
    load(a.type, a.inputs[1] + at, size, m.at);
    load(a.type, a.inputs[2] + at, size, v.at);
    if (hasGradient) {
      load(a.type, a.inputs[3] + at, size, g.at);
      for (int64_t i = 0; i < size; ++i) {
        m.at[i] = c.beta1 * m.at[i] + c.rest1 * g.at[i];
        v.at[i] = c.beta2 * v.at[i] + c.rest2 * (g.at[i] * g.at[i]);
      }
      store(a.type, m.at, size, a.outputs[1] + at);
      store(a.type, v.at, size, a.outputs[2] + at);
    }
    if (constants.decay != 0)
      for (int64_t i = 0; i < size; ++i)
        w.at[i] = w.at[i] - c.decay * w.at[i];
    if (correctsMoments)
      for (int64_t i = 0; i < size; ++i) {
        m.at[i] = m.at[i] / c.correction1;
        v.at[i] = v.at[i] / c.correction2;
      }
    for (int64_t i = 0; i < size; ++i)
      w.at[i] = w.at[i] - c.rate * m.at[i] / (std::sqrt(v.at[i]) + c.eps);
    store(a.type, w.at, size, a.outputs[0] + at);
  });
}

void run(const UpdateArguments &a, const Constants &constants) {
  inComputeType(a.type,
                [&](auto zero) { updateBlocks<decltype(zero)>(a, constants); });
}

void update(const UpdateArguments &a) {
  run(a, {a.constants[0], a.constants[1], a.constants[2], a.constants[3]});
}

void apply(const UpdateArguments &a) {
  Constants constants;
  constants.eps = a.constants[0];
  if (a.correction != BiasCorrection::None) {
    constants.beta1 = a.constants[1];
    constants.beta2 = a.constants[2];
  }
  run(a, constants);
}

} // namespace

extern const UpdateKernel kAdamKernel;
const UpdateKernel kAdamKernel{UpdateRule::Adam, update};
extern const UpdateKernel kAdamApplyKernel;
const UpdateKernel kAdamApplyKernel{UpdateRule::AdamApply, apply};

} // namespace bagua::runtime
