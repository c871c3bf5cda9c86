//===- Axes.cpp - The exported mesh on a cluster --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lays the mesh's axes on the cluster's.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Writing/Axes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

/// Whether the step treats the mesh as one group and nothing distinguishes its
/// axes.
static bool usesMeshAsWhole(const Graph &graph, const ImportedStep &model) {
  AxisMask all = graph.mesh.allAxes();
  auto isWhole = [&](AxisMask mask) { return mask == 0 || mask == all; };
  for (const StepArgument &argument : model.arguments)
    if (!isWhole(argument.varies))
      return false;
  for (const Gradient &gradient : model.gradients)
    if (!isWhole(gradient.reduced))
      return false;
  for (const FlatOp &op : graph.ops)
    if (!op.isDead && op.communicates)
      return false;
  for (const FlatOp &op : graph.ops)
    if (!op.isDead && isCommunication(op.kind) &&
        (op.kind != OpKind::AllReduce || op.collective.axes != all))
      return false;
  return model.dataAxes == all;
}

static std::string textOf(ClusterOp cluster) {
  Mesh mesh;
  for (unsigned i = 0; i < cluster.getAxisCount(); ++i)
    mesh.axes.push_back(
        {cluster.getAxis(i).getName().str(), cluster.getAxis(i).getSize()});
  return mesh.str();
}

FailureOr<AxisMap> AxisMap::get(const Graph &graph, const ImportedStep &model,
                                ClusterOp cluster) {
  AxisMap map;
  map.cluster = cluster;
  map.groups.resize(graph.mesh.axes.size());
  if (usesMeshAsWhole(graph, model)) {
    for (unsigned i = 0; i < cluster.getAxisCount(); ++i)
      map.groups[0].push_back(i);
    int64_t exported = graph.mesh.sizeOf(graph.mesh.allAxes());
    if (model.dependsOnMesh && map.sizeOf(1) != exported)
      return emitError(graph.loc)
             << "expected a cluster of " << exported
             << " ranks, as the exported mesh " << graph.mesh.str()
             << " has, since a state depends on a sum over the ranks, found "
             << textOf(cluster);
    return map;
  }
  std::vector<int64_t> sizes;
  for (const MeshAxis &axis : graph.mesh.axes)
    sizes.push_back(axis.size);
  std::optional<AxisGroups> groups = layMesh(sizes, cluster);
  if (!groups)
    return emitError(graph.loc)
           << "expected a cluster on whose axes the exported mesh "
           << graph.mesh.str()
           << " can be laid, since the step uses its axes separately, found "
           << textOf(cluster);
  map.groups = std::move(*groups);
  return map;
}

AxesAttr AxisMap::axesOf(AxisMask mask) const {
  SmallVector<StringAttr> names;
  for (auto [index, group] : llvm::enumerate(groups))
    if (mask >> index & 1)
      for (unsigned axis : group)
        names.push_back(
            StringAttr::get(ClusterOp(cluster)->getContext(),
                            ClusterOp(cluster).getAxis(axis).getName()));
  return AxesAttr::get(ClusterOp(cluster)->getContext(), names);
}

int64_t AxisMap::sizeOf(AxisMask mask) const {
  int64_t size = 1;
  for (auto [index, group] : llvm::enumerate(groups))
    if (mask >> index & 1)
      for (unsigned axis : group)
        size *= ClusterOp(cluster).getAxis(axis).getSize();
  return size;
}
