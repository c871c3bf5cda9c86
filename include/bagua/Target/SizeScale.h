//===- SizeScale.h - Steps with tensors of other sizes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--size-scale` of importers scales a step's tensors: down, to run a large
// model's communication in little memory, or up, to a larger model's.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_SIZESCALE_H
#define BAGUA_TARGET_SIZESCALE_H

#include "bagua/Dialect/Bagua/Bagua.h"

namespace bagua {

/// The attribute of a step whose sizes are not the program's: the factor by
/// which they are scaled.
inline constexpr llvm::StringLiteral kSizeScaleAttr = "bagua.size_scale";

/// Emits an error at `loc` unless the scale is above 0.
mlir::LogicalResult checkSizeScale(double scale, mlir::Location loc);

/// A type of one dimension with `scale` times the elements, rounded, then
/// rounded up to a positive multiple of `multiple`. Scalars, and all types if
/// the scale is 1, stay unchanged.
mlir::RankedTensorType scaleType(mlir::RankedTensorType type, double scale,
                                 int64_t multiple = 1);

/// Records the scale in the step. The plan carries it on, so that a scaled run
/// is not taken for the real one.
void recordSizeScale(StepOp step, double scale);

} // namespace bagua

#endif // BAGUA_TARGET_SIZESCALE_H
