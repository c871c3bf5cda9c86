//===- ClusterReader.h - Clusters in numbers ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates a cluster into the plain model of lib/Scheduling.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_BRIDGE_CLUSTERREADER_H
#define BAGUA_TRANSFORMS_BRIDGE_CLUSTERREADER_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/Prices/ClusterModel.h"

namespace bagua {

/// Emits an error if the description isn't sound.
llvm::FailureOr<ClusterModel> readClusterModel(ClusterOp cluster);

/// The axes as a set; all of them must exist in the cluster.
AxisSet readAxes(ClusterOp cluster, AxesAttr axes);
/// The names of the axes in a set, in cluster order.
AxesAttr writeAxes(ClusterOp cluster, AxisSet set);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_BRIDGE_CLUSTERREADER_H
