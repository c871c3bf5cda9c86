//===- MeshLayout.cpp - A step's mesh on a cluster ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts both sides into the axes that they have in common.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/MeshLayout.h"

#include "bagua/Support/CommonAxes.h"

using namespace mlir;
using namespace bagua;

std::vector<int64_t> bagua::sizesOfAxes(ClusterOp cluster) {
  std::vector<int64_t> sizes;
  for (auto axis : cluster.getAxes().getAsRange<AxisAttr>())
    sizes.push_back(axis.getSize());
  return sizes;
}

std::optional<AxisGroups> bagua::layMesh(const std::vector<int64_t> &mesh,
                                         ClusterOp cluster) {
  auto common = commonAxes(mesh, sizesOfAxes(cluster));
  if (!common)
    return std::nullopt;
  AxisGroups groups(mesh.size());
  SmallVector<SmallVector<int64_t>> parts(cluster.getAxisCount());
  for (auto [index, axis] : llvm::enumerate(*common)) {
    groups[axis.ofFirst].push_back(index);
    parts[axis.ofSecond].push_back(axis.size);
  }
  cluster.cutAxes(parts);
  return groups;
}
