//===- ClusterReader.h - Clusters in numbers ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plain model of a cluster, as lib/Scheduling has it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_CLUSTERREADER_H
#define BAGUA_TRANSFORMS_UTILS_CLUSTERREADER_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/ClusterModel.h"

namespace bagua {

/// Emits an error where the description doesn't hold together.
llvm::FailureOr<ClusterModel> readClusterModel(ClusterOp cluster);

/// The axes as a set; they exist in the cluster.
AxisSet readAxes(ClusterOp cluster, AxesAttr axes);
/// The set by name, in cluster order.
AxesAttr writeAxes(ClusterOp cluster, AxisSet set);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_CLUSTERREADER_H
