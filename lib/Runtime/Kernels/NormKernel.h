//===- NormKernel.h - Sums of squares -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One order of additions, whatever the number of threads and the width of
// vectors.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_NORMKERNEL_H
#define BAGUA_LIB_RUNTIME_KERNELS_NORMKERNEL_H

#include "bagua/Support/DataType.h"

#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// The sum of the squares of floating-point elements, in float64: the square of
/// element `i` is added to sum `i mod 8` in order, then the eight sums are
/// added in order. 0 for no elements.
double squaredNorm(DataType type, const std::byte *data, int64_t count);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_NORMKERNEL_H
