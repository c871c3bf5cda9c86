//===- Arithmetic.h - The kernel of an instruction ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU's kernels: a row for each opcode that has one.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_ARITHMETIC_H
#define BAGUA_LIB_RUNTIME_KERNELS_ARITHMETIC_H

#include "bagua/Runtime/LocalValue.h"

#include "bagua/Runtime/PlanGenerated.h"

#include "absl/types/span.h"

#include <functional>
#include <vector>

namespace bagua::runtime {

/// Runs an instruction in a step. Allocates nothing.
using BoundKernel = std::function<void(int64_t step)>;

struct CpuKernelRow {
  fb::Opcode opcode;
  /// As KernelTable::Bind.
  BoundKernel (*bind)(const fb::Instruction &instruction,
                      const std::vector<LocalValue> &inputs,
                      const std::vector<LocalValue> &outputs);
};

absl::Span<const CpuKernelRow> cpuKernels();

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_ARITHMETIC_H
