//===- UpdateKernels.cpp - The table of optimizers' kernels ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line for each kernel.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Updates/UpdateKernel.h"

#include <cassert>

namespace bagua::runtime {

extern const UpdateKernel kAdamKernel;
extern const UpdateKernel kAdamApplyKernel;
extern const UpdateKernel kSgdKernel;

static const UpdateKernel *const kKernels[] = {
    &kAdamApplyKernel,
    &kAdamKernel,
    &kSgdKernel,
};

const UpdateKernel &updateKernelOf(UpdateRule rule) {
  for (const UpdateKernel *kernel : kKernels)
    if (kernel->rule == rule)
      return *kernel;
  assert(false && "expected a kernel for every rule");
  return *kKernels[0];
}

} // namespace bagua::runtime
