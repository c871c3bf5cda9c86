//===- Reference.h - Reductions one element at a time ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle of the communicators' tests, written from docs/Semantics.md and
// sharing nothing with the kernels: 16-bit floats are decoded by their
// definition and rounded by searching for the nearest one.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_REFERENCE_H
#define BAGUA_UNITTESTS_RUNTIME_REFERENCE_H

#include "bagua/Support/DataType.h"
#include "bagua/Support/ReduceKind.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace bagua::runtime {

using Bytes = std::vector<std::byte>;

/// Sign, exponent and fraction of a 16-bit float, IEEE 754 style.
struct Float16Layout {
  int exponentBits;
  int fractionBits;
};
inline constexpr Float16Layout kFloat16Layout = {5, 10};
inline constexpr Float16Layout kBFloat16Layout = {8, 7};

double decodeFloat16(uint16_t bits, Float16Layout layout);
/// The nearest, ties to the even one; NaN is positive, quiet, without payload.
uint16_t encodeFloat16(double value, Float16Layout layout);

/// Combination of all inputs in order, as ReduceKernels.h promises it.
Bytes referenceReduce(DataType type, ReduceKind kind,
                      const std::vector<Bytes> &inputs);

/// Elements of which most are moderate numbers and some are random bits:
/// infinities, NaNs, subnormals and both zeros among them.
Bytes randomElements(DataType type, int64_t count, std::mt19937_64 &random);

inline bool isInteger(DataType type) {
  return type == DataType::Int8 || type == DataType::Int32 ||
         type == DataType::Int64;
}

} // namespace bagua::runtime

#endif // BAGUA_UNITTESTS_RUNTIME_REFERENCE_H
