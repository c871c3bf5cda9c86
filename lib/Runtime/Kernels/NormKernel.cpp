//===- NormKernel.cpp - Sums of squares -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight sums, so that additions do not wait for each other.
//
//===----------------------------------------------------------------------===//
#include "Kernels/NormKernel.h"

#include "Kernels/Blocks.h"

namespace bagua::runtime {

double squaredNorm(DataType type, const std::byte *data, int64_t count) {
  constexpr int64_t kSums = 8;
  static_assert(kBlock % kSums == 0);
  double sums[kSums] = {};
  Block<double> x;
  forEachBlock(count, [&](int64_t begin, int64_t size) {
    load(type, data + begin * dataTypeBytes(type), size, x.at);
    int64_t i = 0;
    for (; i + kSums <= size; i += kSums)
      for (int64_t j = 0; j < kSums; ++j)
        sums[j] += x.at[i + j] * x.at[i + j];
    for (; i < size; ++i)
      sums[i % kSums] += x.at[i] * x.at[i];
  });
  double sum = 0;
  for (double part : sums)
    sum += part;
  return sum;
}

} // namespace bagua::runtime
