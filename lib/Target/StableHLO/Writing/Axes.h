//===- Axes.h - The exported mesh on a cluster ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axes of the cluster that stand for the axes of the exported mesh.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_WRITING_AXES_H
#define BAGUA_LIB_TARGET_STABLEHLO_WRITING_AXES_H

#include "StableHLO/Recognition/ImportedStep.h"

#include "bagua/Dialect/Bagua/MeshLayout.h"

namespace bagua::importer {

/// Lays a mesh on a cluster.
class AxisMap {
public:
  /// A step over data axes alone runs on all ranks of any cluster. For another
  /// step, each axis of the mesh is one axis of the cluster, several
  /// neighbouring ones, or parts of these, into which the cluster's axes are
  /// cut.
  static mlir::FailureOr<AxisMap>
  get(const Graph &graph, const ImportedStep &model, ClusterOp cluster);

  AxesAttr axesOf(AxisMask mask) const;
  /// The number of ranks that differ in these axes alone.
  int64_t sizeOf(AxisMask mask) const;

private:
  ClusterOp cluster;
  /// For each axis of the mesh, the axes of the cluster, as indices.
  AxisGroups groups;
};

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_WRITING_AXES_H
