//===- Layouts.h - Sizes that follow from layouts and clusters ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes how many elements of a tensor a rank stores in a layout.
// Support/Parts.h has the rule by which a tensor is cut.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_LAYOUTS_H
#define BAGUA_DIALECT_BAGUA_LAYOUTS_H

#include "bagua/Dialect/Bagua/Bagua.h"

namespace bagua {

/// The number of parts into which a layout cuts a tensor: the product over its
/// entries.
int64_t partCount(LayoutAttr layout, ClusterOp cluster);

/// The elements of the largest part of `count` elements; a null layout keeps
/// them whole.
int64_t maxLocalCount(int64_t count, LayoutAttr layout, ClusterOp cluster);

/// The bytes that the rank with the largest part stores of a tensor or of an
/// encoded value. If a server entry follows shards, a server stores a part of
/// each shard. Encoded parts lie in slots of the largest part's size.
int64_t maxLocalBytes(mlir::Type type, ClusterOp cluster);

/// The elements that a tensor takes in a bucket laid out by `striped`: every
/// part is padded to the size of the largest.
int64_t stripedCount(mlir::RankedTensorType type, LayoutAttr striped,
                     ClusterOp cluster);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_LAYOUTS_H
