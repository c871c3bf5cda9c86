//===- StepWriter.h - A plan's communication as StableHLO -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes what a planned step sends, rearranges and converts.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_STEPWRITER_H
#define BAGUA_LIB_TARGET_STABLEHLO_STEPWRITER_H

#include "Graph.h"
#include "HLOBuilder.h"

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Support/Topology.h"

namespace bagua::importer {

/// A whole value of the step has its shape in the module; of a value in parts a
/// device has its part, flattened, with zeros up to the size of the largest; a
/// root's value is there on all devices, and right on the root.
class StepWriter {
public:
  StepWriter(StepOp step, const Graph &graph, mlir::OpBuilder &builder);

  /// `written` has as many elements as the type of `value` says.
  void set(mlir::Value value, mlir::Value written) { values[value] = written; }
  /// In the shape that `value` has in the step.
  mlir::Value get(mlir::Value value);

  /// Writes an op of the runtime's. An error says why it can't be written.
  mlir::LogicalResult write(mlir::Operation *op);

  HLOBuilder &getBuilder() { return hlo; }

private:
  mlir::Value writeConcat(ConcatOp op);
  void writeSplit(SplitOp op);
  mlir::Value writeSlice(SliceOp op);
  mlir::Value writeLinear(LinearOp op);
  mlir::Value writeReduceScatter(ReduceScatterOp op);
  mlir::Value writeAllGather(AllGatherOp op);
  mlir::Value writeBroadcast(BroadcastOp op);

  std::vector<int64_t> indicesOf(AxesAttr axes);
  DeviceGroups groupsOf(AxesAttr axes);
  /// For each device its position in its group.
  std::vector<int32_t> positionsIn(AxesAttr axes);
  /// Elements that a device has of a value.
  int64_t localCount(mlir::Type type);

  ClusterOp cluster;
  Topology topology;
  HLOBuilder hlo;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
};

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_STEPWRITER_H
