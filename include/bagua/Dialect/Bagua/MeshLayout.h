//===- MeshLayout.h - A step's mesh on a cluster --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which axes of a cluster stand for which axes of a mesh of as many ranks.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_MESHLAYOUT_H
#define BAGUA_DIALECT_BAGUA_MESHLAYOUT_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include <optional>
#include <vector>

namespace bagua {

/// Of each axis those of the cluster that stand for it, as indices.
using AxisGroups = llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 4>;

/// Outermost first.
std::vector<int64_t> sizesOfAxes(ClusterOp cluster);

/// Cuts the cluster's axes where a mesh of these sizes, outermost first, ends
/// inside them. Nothing, and no cut, where the mesh can't be laid on it.
std::optional<AxisGroups> layMesh(const std::vector<int64_t> &mesh,
                                  ClusterOp cluster);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_MESHLAYOUT_H
