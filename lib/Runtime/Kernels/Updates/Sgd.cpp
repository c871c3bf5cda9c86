//===- Sgd.cpp - Stochastic gradient descent ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// m' = mu*m + g; w' = w - lr*m'. Without momentum: w' = w - lr*g.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Updates/UpdateKernel.h"

#include "Kernels/Blocks.h"

namespace bagua::runtime {
namespace {

template <typename C> void updateBlocks(const UpdateArguments &a) {
  int64_t bytes = dataTypeBytes(a.type);
  bool hasMomentum = a.outputs.size() == 2;
  C momentum = hasMomentum ? a.constants[0] : 0.0f;
  C rate = static_cast<C>(a.learningRate);
  Block<C> w, m, g;
  forEachBlock(a.count, [&](int64_t begin, int64_t size) {
    int64_t at = begin * bytes;
    load(a.type, a.inputs[0] + at, size, w.at);
    load(a.type, a.inputs[a.outputs.size()] + at, size, g.at);
    if (hasMomentum) {
      load(a.type, a.inputs[1] + at, size, m.at);
      for (int64_t i = 0; i < size; ++i)
        g.at[i] = momentum * m.at[i] + g.at[i];
      store(a.type, g.at, size, a.outputs[1] + at);
    }
    for (int64_t i = 0; i < size; ++i)
      w.at[i] = w.at[i] - rate * g.at[i];
    store(a.type, w.at, size, a.outputs[0] + at);
  });
}

void update(const UpdateArguments &a) {
  inComputeType(a.type, [&](auto zero) { updateBlocks<decltype(zero)>(a); });
}

} // namespace

extern const UpdateKernel kSgdKernel;
const UpdateKernel kSgdKernel{UpdateRule::Sgd, update};

} // namespace bagua::runtime
