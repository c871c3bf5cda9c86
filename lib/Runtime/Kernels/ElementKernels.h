//===- ElementKernels.h - Linear combinations and casts -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// linear and cast on one rank's elements. float32, float16 and bfloat16 are
// computed in float32, float64 in its own type; every operation is rounded, in
// the order written here and in the dialect's reference. An output may be at
// the address of any input of the same element size.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_ELEMENTKERNELS_H
#define BAGUA_LIB_RUNTIME_KERNELS_ELEMENTKERNELS_H

#include "bagua/Support/DataType.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// ((c0*x0) + c1*x1) + ...
void linearKernel(DataType type, absl::Span<const float> coefficients,
                  absl::Span<const std::byte *const> inputs, std::byte *output,
                  int64_t count);

/// Floating-point conversions round to nearest even, float64 to 16 bits by way
/// of float32; to an integer, to nearest even and to the nearest in range, NaN
/// to 0; integers wrap.
void castKernel(DataType from, const std::byte *input, DataType to,
                std::byte *output, int64_t count);

/// The value of one floating-point element.
double readScalar(DataType type, const std::byte *data);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_ELEMENTKERNELS_H
