//===- SizeScale.cpp - Steps with tensors of other sizes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bagua/Target/SizeScale.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace bagua;

LogicalResult bagua::checkSizeScale(double scale, Location loc) {
  if (scale > 0)
    return success();
  return emitError(loc) << "expected a size scale above 0, found " << scale;
}

RankedTensorType bagua::scaleType(RankedTensorType type, double scale,
                                  int64_t multiple) {
  if (scale == 1 || type.getRank() == 0)
    return type;
  auto scaled = static_cast<int64_t>(
      std::llround(static_cast<double>(type.getNumElements()) * scale));
  int64_t count = std::max<int64_t>(1, scaled);
  count = (count + multiple - 1) / multiple * multiple;
  return RankedTensorType::get({count}, type.getElementType());
}

void bagua::recordSizeScale(StepOp step, double scale) {
  if (scale != 1)
    step->setAttr(kSizeScaleAttr,
                  Builder(step.getContext()).getF64FloatAttr(scale));
}
