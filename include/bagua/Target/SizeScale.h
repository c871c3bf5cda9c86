//===- SizeScale.h - Steps with tensors of other sizes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--size-scale` of importers: a large model's communication in little memory,
// or that of a larger model.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_SIZESCALE_H
#define BAGUA_TARGET_SIZESCALE_H

#include "bagua/Dialect/Bagua/Bagua.h"

namespace bagua {

/// On a step whose sizes are not the program's: by how much they are scaled.
inline constexpr llvm::StringLiteral kSizeScaleAttr = "bagua.size_scale";

/// Emits an error at `loc` unless the scale is above 0.
mlir::LogicalResult checkSizeScale(double scale, mlir::Location loc);

/// One dimension of `scale` times the elements, rounded, then rounded up to a
/// multiple of `multiple` above 0. A scalar, and all with scale 1, stays.
mlir::RankedTensorType scaleType(mlir::RankedTensorType type, double scale,
                                 int64_t multiple = 1);

/// The plan carries it on, so that nobody takes a scaled run for the whole.
void recordSizeScale(StepOp step, double scale);

} // namespace bagua

#endif // BAGUA_TARGET_SIZESCALE_H
