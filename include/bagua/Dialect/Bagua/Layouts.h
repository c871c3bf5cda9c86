//===- Layouts.h - Sizes that follow from layouts and clusters ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many elements a rank stores of a tensor in a layout. The cuts themselves
// are Support/Parts.h's.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_LAYOUTS_H
#define BAGUA_DIALECT_BAGUA_LAYOUTS_H

#include "bagua/Dialect/Bagua/Bagua.h"

namespace bagua {

/// Parts into which a layout cuts a tensor: the product over its entries.
int64_t partCount(LayoutAttr layout, ClusterOp cluster);

/// Elements of the largest part of `count` elements in a layout (null: whole).
int64_t maxLocalCount(int64_t count, LayoutAttr layout, ClusterOp cluster);

/// Bytes that the rank with the largest part stores of a tensor or an encoded
/// value. A server behind shards stores a part of each of them. Encoded parts
/// lie in slots of the largest part's size.
int64_t maxLocalBytes(mlir::Type type, ClusterOp cluster);

/// Elements that a tensor takes in a bucket laid out by `striped`: every part
/// is padded to the largest.
int64_t stripedCount(mlir::RankedTensorType type, LayoutAttr striped,
                     ClusterOp cluster);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_LAYOUTS_H
