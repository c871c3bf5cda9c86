//===- MeshAxesGroups.h - Replica groups by names of axes -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JAX 0.11 and later name the axes of a mesh along which a collective runs:
// #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [...]>.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_MESHAXESGROUPS_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_MESHAXESGROUPS_H

#include "mlir/IR/Operation.h"

#include <vector>

namespace bagua::importer {

/// The groups of devices for which a collective's attribute stands, if it names
/// axes of a mesh of `devices`; by their first devices, each in the order of
/// the named axes. An error names what is not understood.
mlir::FailureOr<std::vector<std::vector<int64_t>>>
groupsOfMeshAxes(mlir::Operation *op, mlir::OpaqueAttr attr, int64_t devices);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_MESHAXESGROUPS_H
