//===- Collectives.h - Reading communication ops --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kinds, dimensions, axes and pairs of communication between devices.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_COLLECTIVES_H
#define BAGUA_TARGET_STABLEHLO_COLLECTIVES_H

#include "ImportedStep.h"

namespace bagua::importer {

/// Reads all but the axes. An error names what is not supported.
mlir::LogicalResult readCollective(mlir::Operation *op, OpKind kind,
                                   Collective &collective);

/// The ways in which the groups of collectives cut the device list.
mlir::FailureOr<std::vector<Sharding>> shardingsOfGroups(const Graph &graph);

/// Matches the replica_groups of every collective against the graph's mesh.
mlir::LogicalResult resolveGroups(Graph &graph);

/// Turns each remaining sum that is divided by its group's size into a mean
/// (the loss, metrics, statistics; gradients are gone by then). The division
/// disappears.
void foldMeans(Graph &graph);

/// Turns a sum of which each rank takes only the part at its own place into a
/// reduce_scatter; XLA's partitioner leaves that to later passes. A sum that
/// does not depend on the batch stays, because ranks may agree on its operand.
void foldReduceScatters(Graph &graph, const ImportedStep &model);

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_COLLECTIVES_H
