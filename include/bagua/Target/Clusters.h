//===- Clusters.h - The cluster that an argument names --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads clusters by the name of a preset, from a file, or from sizes alone.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_CLUSTERS_H
#define BAGUA_TARGET_CLUSTERS_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace bagua {

/// A cluster in a module of its own.
struct OwnedCluster {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Null for an empty argument.
  ClusterOp op;
};

/// The presets under lib/Target/Clusters, in alphabetical order.
llvm::SmallVector<llvm::StringRef> clusterPresets();

/// Reads a cluster argument: the name of a preset, a file with one
/// bagua.cluster, or sizes such as `node=2,gpu=4`, with default links, or
/// `host=4@500mbit,100us`, with the axis's rate and latency. Emits an error for
/// any other text. An empty text names no cluster.
llvm::FailureOr<OwnedCluster> readCluster(llvm::StringRef argument,
                                          mlir::MLIRContext *context);

/// A cluster with these axes, and with links of 100 Gbit/s Ethernet because
/// none are described.
ClusterOp
buildDefaultCluster(mlir::OpBuilder &builder, mlir::Location location,
                    llvm::ArrayRef<std::pair<std::string, int64_t>> axes);

} // namespace bagua

#endif // BAGUA_TARGET_CLUSTERS_H
