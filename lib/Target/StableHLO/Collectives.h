//===- Collectives.h - Reading communication ops --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kinds, dimensions, axes and pairs of what devices do together.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_COLLECTIVES_H
#define BAGUA_TARGET_STABLEHLO_COLLECTIVES_H

#include "ImportedStep.h"

namespace bagua::importer {

/// Everything but the axes. An error says what is not supported.
mlir::LogicalResult readCollective(mlir::Operation *op, OpKind kind,
                                   Collective &collective);

/// How the groups of collectives cut the device list.
mlir::FailureOr<std::vector<Sharding>> shardingsOfGroups(const Graph &graph);

/// Matches the replica_groups of every collective against the graph's mesh.
mlir::LogicalResult resolveGroups(Graph &graph);

/// Turns a sum that is divided by its group's size into a mean, where that is
/// not a gradient's: the loss, metrics, statistics. The division disappears.
void foldMeans(Graph &graph);

/// Turns a sum of which each rank takes its own part alone, by its place, into
/// a reduce_scatter, which XLA's partitioner leaves to later passes. Of what
/// does not depend on the batch ranks may have one value: its sum stays.
void foldReduceScatters(Graph &graph, const ImportedStep &model);

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_COLLECTIVES_H
