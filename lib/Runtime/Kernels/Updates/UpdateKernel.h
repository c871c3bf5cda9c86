//===- UpdateKernel.h - The arithmetic of one optimizer ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments and the duties of a kernel. float32, float16 and bfloat16 are
// computed in float32, float64 in its own type; every operation is rounded, in
// the order of docs/Semantics.md, "Arithmetic". An output may be at the address
// of any input of the same element size.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_UPDATES_UPDATEKERNEL_H
#define BAGUA_LIB_RUNTIME_KERNELS_UPDATES_UPDATEKERNEL_H

#include "bagua/Support/DataType.h"
#include "bagua/Support/UpdateRules.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// An update of `count` elements. States, inputs and constants are those of the
/// optimizer's row.
struct UpdateArguments {
  DataType type = DataType::Float32;
  int64_t count = 0;
  /// The old states, then the row's inputs: the gradient.
  absl::Span<const std::byte *const> inputs;
  /// The new states.
  absl::Span<std::byte *const> outputs;
  absl::Span<const float> constants;
  BiasCorrection correction = BiasCorrection::None;
  double learningRate = 0;
  /// The squared norms of the whole param and of the whole direction, if the
  /// row needs them.
  double squaredParam = 0;
  double squaredDirection = 0;
  /// The number of this update, from 1.
  int64_t update = 1;
};

struct UpdateKernel {
  UpdateRule rule;
  /// Allocates nothing.
  void (*update)(const UpdateArguments &arguments);
  /// Writes the direction that `update` scales by norms, to the one output;
  /// null for rows that need no norms. Allocates nothing.
  void (*direct)(const UpdateArguments &arguments) = nullptr;
};

/// The kernel of a rule; every rule has one.
const UpdateKernel &updateKernelOf(UpdateRule rule);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_UPDATES_UPDATEKERNEL_H
