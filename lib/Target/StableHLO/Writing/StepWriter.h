//===- StepWriter.h - A plan's communication as StableHLO -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the communication, rearrangements and conversions of a planned step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_WRITING_STEPWRITER_H
#define BAGUA_LIB_TARGET_STABLEHLO_WRITING_STEPWRITER_H

#include "StableHLO/Graph/Graph.h"
#include "StableHLO/Writing/HLOBuilder.h"

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Support/Topology.h"

namespace bagua::importer {

/// A whole value of the step has its shape in the module. For a value in parts,
/// each device has its part, flattened, with zeros up to the size of the
/// largest part. A root's value exists on all devices, and is right on the
/// root.
class StepWriter {
public:
  StepWriter(StepOp step, const Graph &graph, mlir::OpBuilder &builder);

  /// `written` must have as many elements as the type of `value` says.
  void set(mlir::Value value, mlir::Value written) { values[value] = written; }
  /// The written value in the shape that `value` has in the step.
  mlir::Value get(mlir::Value value);

  /// Writes an op of the runtime. An error says why it can't be written.
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
  /// By device: its position in its group.
  std::vector<int32_t> positionsIn(AxesAttr axes);
  /// The elements of a value that a device has.
  int64_t localCount(mlir::Type type);

  ClusterOp cluster;
  Topology topology;
  HLOBuilder hlo;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
};

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_WRITING_STEPWRITER_H
