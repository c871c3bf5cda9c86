//===- UpdateKernels.h - Arithmetic that the runtime runs itself ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// linear, sgd, adam, adam_apply and cast on one rank's elements. float32,
// float16 and bfloat16 are computed in float32, float64 in its own type; every
// operation is rounded, in the order written here and in the dialect's
// reference. An output may be at the address of any input of the same element
// size.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_UPDATEKERNELS_H
#define BAGUA_LIB_RUNTIME_KERNELS_UPDATEKERNELS_H

#include "bagua/Support/DataType.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// ((c0*x0) + c1*x1) + ...
void linearKernel(DataType type, absl::Span<const float> coefficients,
                  absl::Span<const std::byte *const> inputs, std::byte *output,
                  int64_t count);

/// m' = mu*m + g; w' = w - lr*m'. Without momentum, `moment` and `newMoment`
/// null: w' = w - lr*g.
struct SgdArguments {
  const std::byte *weight;
  const std::byte *moment;
  const std::byte *gradient;
  std::byte *newWeight;
  std::byte *newMoment;
  float momentum;
  double learningRate;
};
void sgdKernel(DataType type, const SgdArguments &arguments, int64_t count);

enum class AdamCorrection { None, Moments, StepSize };

/// w = w - (lr*decay)*w if decay is not 0; m' = b1*m + (1-b1)*g;
/// v' = b2*v + (1-b2)*(g*g); then with c1 = 1 - b1^t, c2 = 1 - b2^t:
///   None      w' = w - (lr*m') / (sqrt(v') + eps)
///   Moments   w' = w - (lr*(m'/c1)) / (sqrt(v'/c2) + eps)
///   StepSize  w' = w - (((lr*sqrt(c2))/c1)*m') / (sqrt(v') + eps)
/// c1 and c2 are computed in float64 and rounded. Without a gradient (null) the
/// moments stay as they are: adam_apply.
struct AdamArguments {
  const std::byte *weight;
  const std::byte *moment;
  const std::byte *variance;
  const std::byte *gradient;
  std::byte *newWeight;
  std::byte *newMoment;
  std::byte *newVariance;
  float beta1;
  float beta2;
  float eps;
  float decay;
  double learningRate;
  AdamCorrection correction;
  /// The number of this update, from 1.
  int64_t update;
};
void adamKernel(DataType type, const AdamArguments &arguments, int64_t count);

/// Floating-point conversions round to nearest even, float64 to 16 bits by way
/// of float32; to an integer, to nearest even and to the nearest in range, NaN
/// to 0; integers wrap.
void castKernel(DataType from, const std::byte *input, DataType to,
                std::byte *output, int64_t count);

/// The value of one floating-point element.
double readScalar(DataType type, const std::byte *data);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_UPDATEKERNELS_H
