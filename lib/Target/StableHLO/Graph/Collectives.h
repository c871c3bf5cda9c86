//===- Collectives.h - Reading communication ops --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kinds, dimensions, axes and pairs of communication between devices.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_COLLECTIVES_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_COLLECTIVES_H

#include "StableHLO/Graph/Graph.h"

namespace bagua::importer {

/// The combination of two scalars that an all_reduce's region computes,
/// possibly in a wider type; nothing if the IR has no such kind.
std::optional<ReduceKind> kindOfRegion(mlir::Region &region);

/// Reads all but the axes. An error names what is not supported.
mlir::LogicalResult readCollective(mlir::Operation *op, OpKind kind,
                                   Collective &collective);

/// The ways in which the groups of collectives cut the device list;
/// `withPairs`: also those of devices that permutations connect.
mlir::FailureOr<std::vector<Sharding>> shardingsOfGroups(const Graph &graph,
                                                         bool withPairs);

/// Matches the replica_groups of every collective against the graph's mesh.
mlir::LogicalResult resolveGroups(Graph &graph);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_COLLECTIVES_H
