//===- Clusters.h - What a cluster argument names -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clusters by the name of a preset, from a file, or from sizes alone.
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
  /// Null where nothing was named.
  ClusterOp op;
};

/// Those under lib/Target/Clusters, in alphabetical order.
llvm::SmallVector<llvm::StringRef> clusterPresets();

/// `argument` is the name of a preset, a file with one bagua.cluster, or sizes
/// such as `node=2,gpu=4`, with default links, or `host=4@500mbit,100us`, with
/// the axis's rate and latency. Emits an error for anything else. Empty names
/// nothing.
llvm::FailureOr<OwnedCluster> readCluster(llvm::StringRef argument,
                                          mlir::MLIRContext *context);

/// A cluster with these axes, and links of 100 Gbit/s Ethernet, which nobody
/// described.
ClusterOp
buildDefaultCluster(mlir::OpBuilder &builder, mlir::Location location,
                    llvm::ArrayRef<std::pair<std::string, int64_t>> axes);

} // namespace bagua

#endif // BAGUA_TARGET_CLUSTERS_H
