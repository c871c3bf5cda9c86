//===- Axes.h - The exported mesh on a cluster ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which axes of the cluster stand for which axes of the exported mesh.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_AXES_H
#define BAGUA_TARGET_STABLEHLO_AXES_H

#include "ImportedStep.h"

#include "bagua/Dialect/Bagua/MeshLayout.h"

namespace bagua::importer {

/// Lays a mesh on a cluster.
class AxisMap {
public:
  /// A step over data axes alone runs on all ranks of any cluster; of another
  /// each axis is one of the cluster, neighbouring ones, or parts of these,
  /// into which the cluster's are cut.
  static mlir::FailureOr<AxisMap>
  get(const Graph &graph, const ImportedStep &model, ClusterOp cluster);

  AxesAttr axesOf(AxisMask mask) const;
  /// Ranks that differ in these axes alone.
  int64_t sizeOf(AxisMask mask) const;

private:
  ClusterOp cluster;
  /// For each axis of the mesh those of the cluster, as indices.
  AxisGroups groups;
};

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_AXES_H
