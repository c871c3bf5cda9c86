//===- Arithmetic.h - The kernel of an instruction ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of the host's kernels an opcode calls, its arguments bound once.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_ARITHMETIC_H
#define BAGUA_LIB_RUNTIME_KERNELS_ARITHMETIC_H

#include "Kernels/LocalValue.h"

#include "bagua/Runtime/PlanGenerated.h"

#include <functional>
#include <vector>

namespace bagua::runtime {

/// Runs an instruction in a step. Allocates nothing.
using BoundKernel = std::function<void(int64_t step)>;

/// As Device::bind.
BoundKernel bindKernel(const fb::Instruction &instruction,
                       const std::vector<LocalValue> &inputs,
                       const std::vector<LocalValue> &outputs);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_ARITHMETIC_H
