//===- Gradients.h - Which values are gradients on their way --------------===//
//
// What passes that change how gradients travel agree on.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_GRADIENTS_H
#define BAGUA_TRANSFORMS_GRADIENTS_H

#include "bagua/Dialect/Bagua/Bagua.h"

namespace bagua {

/// Whether a value is a gradient, or a bucket, part, cast or reduce_scatter of
/// gradients alone.
bool isOfGradients(mlir::Value value);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_GRADIENTS_H
