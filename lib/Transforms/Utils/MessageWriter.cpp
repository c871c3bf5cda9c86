//===- MessageWriter.cpp - Writing what an all_reduce is made of ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One op for each step of a message.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/MessageWriter.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/Utils/ClusterReader.h"

using namespace mlir;
using namespace bagua;

Message bagua::messageOf(AllReduceOp reduce) {
  ClusterOp cluster = cast<StepOp>(reduce->getParentOp()).lookupCluster();
  auto type = cast<RankedTensorType>(reduce.getInput().getType());
  int64_t elementBytes = getElementBytes(type.getElementType());
  return {readAxes(cluster, reduce.getOver()),
          maxLocalBytes(type, cluster) / elementBytes, elementBytes, Encoding()};
}

LogicalResult bagua::expectServed(AllReduceOp reduce,
                                  const ClusterModel &model) {
  ClusterOp cluster = cast<StepOp>(reduce->getParentOp()).lookupCluster();
  if (model.servers() == 0)
    return reduce.emitOpError()
           << "expected a cluster with servers, found none in '"
           << cluster.getSymName() << "'";
  AxisSet over = readAxes(cluster, reduce.getOver());
  auto type = cast<RankedTensorType>(reduce.getInput().getType());
  if (LayoutAttr layout = getLayout(type))
    for (const LayoutEntry &entry : layout.getEntries())
      if (AxesAttr axes = entry.getAxes())
        over |= readAxes(cluster, axes);
  if (canServe(model, over))
    return success();
  AxisSet all = readAxes(cluster, cluster.getAllAxes());
  return reduce.emitOpError()
         << "can't be left to servers, which sum what all ranks push: expected "
            "a reduction over all axes of '"
         << cluster.getSymName() << "', found none over "
         << writeAxes(cluster, all & ~over).str();
}

FailureOr<Encoding> bagua::readWire(AllReduceOp reduce,
                                    const Encoding &otherwise) {
  Attribute chosen = reduce->getAttr(kWireAttr);
  if (!chosen)
    return otherwise;
  auto word = dyn_cast<StringAttr>(chosen);
  ParsedEncoding parsed =
      word ? parseWire(std::string_view(word.getValue())) : ParsedEncoding();
  if (word && parsed.error.empty())
    return parsed.encoding;
  return reduce.emitOpError()
         << "expected a wire in '" << kWireAttr << "', found " << chosen;
}

/// The elements of what a cast makes.
static Type castElement(MLIRContext *context, const Encoding &wire) {
  return *rowOf(wire).castTo == DataType::Float16
             ? Type(Float16Type::get(context))
             : Type(BFloat16Type::get(context));
}

namespace {
/// Writes one step after the other.
class MessageWriter {
public:
  MessageWriter(OpBuilder &builder, AllReduceOp reduce)
      : builder(builder), reduce(reduce),
        cluster(cast<StepOp>(reduce->getParentOp()).lookupCluster()),
        value(reduce.getInput()) {}

  void convert(Type element);
  void write(const CollectiveCall &call, ArrayAttr names);
  Value result() const { return value; }

private:
  OpBuilder &builder;
  AllReduceOp reduce;
  ClusterOp cluster;
  Value value;
};
} // namespace

void MessageWriter::convert(Type element) {
  value = builder.create<CastOp>(reduce.getLoc(), value, element);
}

void MessageWriter::write(const CollectiveCall &call, ArrayAttr names) {
  Location location = reduce.getLoc();
  AxesAttr over = writeAxes(cluster, call.over);
  auto type = cast<RankedTensorType>(value.getType());
  switch (call.collective) {
  case Collective::ReduceScatter:
    value = builder.create<ReduceScatterOp>(
        location, pushEntry(type, LayoutEntry::shard(over)),
        reduce.getKindAttr(), value, over, names);
    return;
  case Collective::Reduce:
    value = builder.create<ReduceOp>(location,
                                     pushEntry(type, LayoutEntry::root(over)),
                                     reduce.getKindAttr(), value, over, names);
    return;
  case Collective::AllReduce:
    value = builder.create<AllReduceOp>(location, reduce.getKindAttr(), value,
                                        over, names);
    return;
  case Collective::AllGather:
    value = builder.create<AllGatherOp>(
        location, popEntry(type, LayoutEntry::shard(over)), value, over, names);
    return;
  case Collective::Broadcast:
    value = builder.create<BroadcastOp>(
        location, popEntry(type, LayoutEntry::root(over)), value, over, names);
    return;
  case Collective::Push:
    value = builder.create<PushOp>(
        location, pushEntry(type, LayoutEntry::onServer(call.server)),
        reduce.getKindAttr(), value, over, names);
    return;
  case Collective::Pull:
    value = builder.create<PullOp>(
        location, popEntry(type, LayoutEntry::onServer(call.server)), value,
        over, names);
    return;
  case Collective::AllToAll:
  case Collective::ExchangeRing:
  case Collective::ExchangeShiftOne:
  case Collective::Permute:
    break;
  }
  llvm_unreachable("not a step of any message");
}

Value bagua::writeMessage(OpBuilder &builder, AllReduceOp reduce,
                          ArrayRef<MessageStep> steps) {
  MessageWriter writer(builder, reduce);
  Type own =
      cast<RankedTensorType>(reduce.getInput().getType()).getElementType();
  for (auto [index, step] : llvm::enumerate(steps)) {
    switch (step.kind) {
    case MessageStep::Kind::Encode:
      writer.convert(castElement(reduce.getContext(), step.wire));
      break;
    case MessageStep::Kind::Collective:
      writer.write(step.call, index + 1 == steps.size() ? reduce.getNamesAttr()
                                                        : ArrayAttr());
      break;
    case MessageStep::Kind::Decode:
      writer.convert(own);
      break;
    }
  }
  return writer.result();
}
