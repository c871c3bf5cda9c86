//===- TrustRatio.h - The factor of updates by norms ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LAMB's and LARS's: how large a param is beside its direction.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_UPDATES_TRUSTRATIO_H
#define BAGUA_LIB_RUNTIME_KERNELS_UPDATES_TRUSTRATIO_H

#include "Kernels/Updates/UpdateKernel.h"

#include <cmath>

namespace bagua::runtime {

/// coefficient*|w| / (|d| + eps); 1 if a norm is 0.
template <typename C>
C trustRatio(const UpdateArguments &a, C coefficient, C eps) {
  C param = std::sqrt(static_cast<C>(a.squaredParam));
  C direction = std::sqrt(static_cast<C>(a.squaredDirection));
  return param == 0 || direction == 0 ? C(1)
                                      : coefficient * param / (direction + eps);
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_UPDATES_TRUSTRATIO_H
