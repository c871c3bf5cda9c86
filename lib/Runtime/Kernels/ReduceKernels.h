//===- ReduceKernels.h - Elementwise combination of several buffers -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of every collective on host memory. The instruction set is
// chosen at run time, and the bits of a result do not depend on it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_REDUCEKERNELS_H
#define BAGUA_LIB_RUNTIME_KERNELS_REDUCEKERNELS_H

#include "bagua/Support/DataType.h"
#include "bagua/Support/ReduceKind.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// Writes ((inputs[0][i] op inputs[1][i]) op inputs[2][i]) op ... to
/// outputs[k][i], for every k and every i in [0, count).
///
/// - float16 and bfloat16 are accumulated in float32 and rounded once, to
///   nearest even; other types in their own type, integers modulo 2^bits.
/// - Mean divides the sum by the number of inputs (a true division, for float16
///   and bfloat16 before the rounding). Mean of integers is not allowed.
/// - Min and Max give NaN when any input is NaN, and order -0 before +0.
/// - A NaN result is always the positive quiet NaN without payload: hardware
///   differs in which operand's NaN it keeps.
/// - A single input is copied bit for bit.
///
/// An output may be any of the inputs (the same address); buffers overlap in no
/// other way. They are aligned to their elements at least. Reads every input
/// and writes every output once; allocates nothing.
///
/// The calling thread rounds to nearest. If threads differ in whether they
/// flush subnormals, so do the results of those threads.
void reduceElements(DataType type, ReduceKind kind,
                    absl::Span<const std::byte *const> inputs,
                    absl::Span<std::byte *const> outputs, int64_t count);

/// Whether `kind` is defined on `type`: all but the mean of integers.
bool isReducible(DataType type, ReduceKind kind);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_REDUCEKERNELS_H
