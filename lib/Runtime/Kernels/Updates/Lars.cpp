//===- Lars.cpp - LARS ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d = g + decay*w, r = coefficient*|w| / (|d| + eps) (TrustRatio.h):
//   lars        m' = mu*m + r*d; w' = w - lr*m'
//   lars_trace  m' = mu*m - lr*(r*d); w' = w + m'
//
//===----------------------------------------------------------------------===//
#include "Kernels/Blocks.h"
#include "Kernels/Updates/TrustRatio.h"

namespace bagua::runtime {
namespace {

template <typename C> struct Blocks {
  Block<C> w, m, d;
};

/// Loads a block of the param and of the gradient, and makes the direction.
template <typename C>
void makeDirection(const UpdateArguments &a, int64_t at, int64_t size,
                   Blocks<C> &b) {
  C decay = a.constants[1];
  load(a.type, a.inputs[0] + at, size, b.w.at);
  load(a.type, a.inputs[2] + at, size, b.d.at);
  for (int64_t i = 0; i < size; ++i)
    b.d.at[i] = b.d.at[i] + decay * b.w.at[i];
}

template <typename C, bool kIsTrace>
void updateBlocks(const UpdateArguments &a) {
  int64_t bytes = dataTypeBytes(a.type);
  C momentum = a.constants[0];
  C ratio = trustRatio<C>(a, a.constants[2], a.constants[3]);
  C rate = static_cast<C>(a.learningRate);
  Blocks<C> b;
  forEachBlock(a.count, [&](int64_t begin, int64_t size) {
    int64_t at = begin * bytes;
    makeDirection(a, at, size, b);
    load(a.type, a.inputs[1] + at, size, b.m.at);
    for (int64_t i = 0; i < size; ++i) {
      C step = ratio * b.d.at[i];
      if constexpr (kIsTrace) {
        b.m.at[i] = momentum * b.m.at[i] - rate * step;
        b.w.at[i] = b.w.at[i] + b.m.at[i];
      } else {
        b.m.at[i] = momentum * b.m.at[i] + step;
        b.w.at[i] = b.w.at[i] - rate * b.m.at[i];
      }
    }
    store(a.type, b.w.at, size, a.outputs[0] + at);
    store(a.type, b.m.at, size, a.outputs[1] + at);
  });
}

template <bool kIsTrace> void update(const UpdateArguments &a) {
  inComputeType(a.type,
                [&](auto zero) { updateBlocks<decltype(zero), kIsTrace>(a); });
}

template <typename C> void directBlocks(const UpdateArguments &a) {
  int64_t bytes = dataTypeBytes(a.type);
  Blocks<C> b;
  forEachBlock(a.count, [&](int64_t begin, int64_t size) {
    makeDirection(a, begin * bytes, size, b);
    store(a.type, b.d.at, size, a.outputs[0] + begin * bytes);
  });
}

void direct(const UpdateArguments &a) {
  inComputeType(a.type, [&](auto zero) { directBlocks<decltype(zero)>(a); });
}

} // namespace

extern const UpdateKernel kLarsKernel;
const UpdateKernel kLarsKernel{UpdateRule::Lars, update<false>, direct};
extern const UpdateKernel kLarsTraceKernel;
const UpdateKernel kLarsTraceKernel{UpdateRule::LarsTrace, update<true>,
                                    direct};

} // namespace bagua::runtime
