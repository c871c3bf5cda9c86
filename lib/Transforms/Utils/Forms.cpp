//===- Forms.cpp - Writing what an all_reduce is made of ------------------===//
//
// One op for each collective of a form.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/Forms.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/Utils/ClusterReader.h"

using namespace mlir;
using namespace bagua;

CollectiveCall bagua::callOf(AllReduceOp reduce) {
  ClusterOp cluster = cast<StepOp>(reduce->getParentOp()).lookupCluster();
  auto type = cast<RankedTensorType>(reduce.getInput().getType());
  return {Collective::AllReduce, readAxes(cluster, reduce.getOver()),
          maxLocalBytes(type, cluster)};
}

Value bagua::writeForm(OpBuilder &builder, AllReduceOp reduce,
                       ArrayRef<CollectiveCall> calls) {
  auto step = cast<StepOp>(reduce->getParentOp());
  ClusterOp cluster = step.lookupCluster();
  Location location = reduce.getLoc();
  Value value = reduce.getInput();
  for (auto [index, call] : llvm::enumerate(calls)) {
    AxesAttr over = writeAxes(cluster, call.over);
    auto type = cast<RankedTensorType>(value.getType());
    ArrayAttr names =
        index + 1 == calls.size() ? reduce.getNamesAttr() : ArrayAttr();
    switch (call.collective) {
    case Collective::ReduceScatter:
      value = builder.create<ReduceScatterOp>(
          location, pushEntry(type, LayoutEntry::shard(over)),
          reduce.getKindAttr(), value, over, names, StringAttr(), ArrayAttr());
      break;
    case Collective::Reduce:
      value = builder.create<ReduceOp>(
          location, pushEntry(type, LayoutEntry::root(over)),
          reduce.getKindAttr(), value, over, names, StringAttr(), ArrayAttr());
      break;
    case Collective::AllReduce:
      value = builder.create<AllReduceOp>(
          location, type, reduce.getKindAttr(), value, CodecAttrInterface(),
          UnitAttr(), over, names, StringAttr(), ArrayAttr());
      break;
    case Collective::AllGather:
      value = builder.create<AllGatherOp>(
          location, popEntry(type, LayoutEntry::shard(over)), value, over,
          names, StringAttr(), ArrayAttr());
      break;
    case Collective::Broadcast:
      value = builder.create<BroadcastOp>(
          location, popEntry(type, LayoutEntry::root(over)), value, over, names,
          StringAttr(), ArrayAttr());
      break;
    case Collective::Push:
      value = builder.create<PushOp>(
          location, pushEntry(type, LayoutEntry::onServer(call.server)),
          reduce.getKindAttr(), value, over, names, StringAttr(), ArrayAttr());
      break;
    case Collective::Pull:
      value = builder.create<PullOp>(
          location, popEntry(type, LayoutEntry::onServer(call.server)), value,
          over, names, StringAttr(), ArrayAttr());
      break;
    default:
      llvm_unreachable("not a part of any form");
    }
  }
  return value;
}
