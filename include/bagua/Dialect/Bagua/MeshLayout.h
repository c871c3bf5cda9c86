//===- MeshLayout.h - A step's mesh on a cluster --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the axes of a cluster that stand for the axes of a mesh of as many
// ranks.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_MESHLAYOUT_H
#define BAGUA_DIALECT_BAGUA_MESHLAYOUT_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include <optional>
#include <vector>

namespace bagua {

/// For each axis of the mesh, the cluster's axes that stand for it, as indices.
using AxisGroups = llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 4>;

/// The sizes of the cluster's axes, outermost first.
std::vector<int64_t> sizesOfAxes(ClusterOp cluster);

/// Cuts the cluster's axes where the axes of a mesh of these sizes (outermost
/// first) end inside them. Returns nothing, and cuts nothing, if the mesh can't
/// be laid on the cluster.
std::optional<AxisGroups> layMesh(const std::vector<int64_t> &mesh,
                                  ClusterOp cluster);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_MESHLAYOUT_H
