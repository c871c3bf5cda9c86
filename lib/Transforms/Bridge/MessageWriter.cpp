//===- MessageWriter.cpp - Writing what an all_reduce is made of ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One op for each stage of a message.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/MessageWriter.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"

using namespace mlir;
using namespace bagua;

Message bagua::messageOf(AllReduceOp reduce) {
  ClusterOp cluster = cast<StepOp>(reduce->getParentOp()).lookupCluster();
  auto type = cast<RankedTensorType>(reduce.getInput().getType());
  int64_t elementBytes = getElementBytes(type.getElementType());
  std::optional<EncodingAttr> codec = reduce.getCodec();
  return {readAxes(cluster, reduce.getOver()),
          maxLocalBytes(type, cluster) / elementBytes, elementBytes,
          codec ? codec->getEncoding() : Encoding()};
}

/// The axes over which ranks reduce, or store other parts.
static AxisSet axesOf(AllReduceOp reduce, ClusterOp cluster) {
  AxisSet over = readAxes(cluster, reduce.getOver());
  if (LayoutAttr layout = getLayout(logicalTensor(reduce.getInput().getType())))
    for (const LayoutEntry &entry : layout.getEntries())
      if (AxesAttr axes = entry.getAxes())
        over |= readAxes(cluster, axes);
  return over;
}

bool bagua::canBeServed(AllReduceOp reduce, const ClusterModel &model) {
  ClusterOp cluster = cast<StepOp>(reduce->getParentOp()).lookupCluster();
  return reduce.whyNot(Rewriting::Servers).empty() &&
         canServe(model, axesOf(reduce, cluster));
}

LogicalResult bagua::expectServed(AllReduceOp reduce,
                                  const ClusterModel &model) {
  if (std::string reason = reduce.whyNot(Rewriting::Servers); !reason.empty())
    return reduce.emitOpError() << "can't be left to servers: " << reason;
  ClusterOp cluster = cast<StepOp>(reduce->getParentOp()).lookupCluster();
  if (model.servers() == 0)
    return reduce.emitOpError()
           << "expected a cluster with servers, found none in '"
           << cluster.getSymName() << "'";
  AxisSet over = axesOf(reduce, cluster);
  if (canServe(model, over))
    return success();
  AxisSet all = readAxes(cluster, cluster.getAllAxes());
  return reduce.emitOpError()
         << "can't be left to servers, which sum the values of all ranks: "
            "expected a reduction over all axes of '"
         << cluster.getSymName() << "', found a reduction that leaves out "
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
/// Writes one stage after the other.
class MessageWriter {
public:
  MessageWriter(OpBuilder &builder, AllReduceOp reduce)
      : builder(builder), reduce(reduce),
        cluster(cast<StepOp>(reduce->getParentOp()).lookupCluster()),
        value(reduce.getInput()) {}

  void encode(const MessageStage &stage);
  void decode(const MessageStage &stage);
  void write(const SizedCollective &call, ArrayAttr names);
  Value result() const { return value; }

private:
  OpBuilder &builder;
  AllReduceOp reduce;
  ClusterOp cluster;
  Value value;
};
} // namespace

void MessageWriter::encode(const MessageStage &stage) {
  MLIRContext *context = reduce.getContext();
  if (rowOf(stage.wire).castTo) {
    value = builder.create<CastOp>(reduce.getLoc(), value,
                                   castElement(context, stage.wire));
    return;
  }
  auto type = EncodedType::get(
      context, cast<RankedTensorType>(value.getType()),
      EncodingAttr::get(context, stage.wire),
      stage.parts ? writeAxes(cluster, stage.parts) : nullptr, nullptr);
  value = builder
              .create<EncodeOp>(reduce.getLoc(), type, Type(), value, Value(),
                                /*unchecked=*/nullptr, /*stream=*/nullptr,
                                /*places=*/nullptr)
              .getOutput();
}

/// Back to the elements that the all_reduce has.
void MessageWriter::decode(const MessageStage &stage) {
  RankedTensorType whole = cast<RankedTensorType>(reduce.getInput().getType());
  if (rowOf(stage.wire).castTo) {
    value =
        builder.create<CastOp>(reduce.getLoc(), value, whole.getElementType());
    return;
  }
  value = builder.create<DecodeOp>(
      reduce.getLoc(), logicalTensor(value.getType()),
      stage.terms ? reduce.getKindAttr() : ReduceKindAttr(), value,
      /*stream=*/nullptr, /*places=*/nullptr);
}

/// The value that comes of `collective`, which moves encoded pieces.
static Type exchangedType(EncodedType type, Collective collective,
                          AxesAttr over) {
  RankedTensorType tensor = type.getTensor();
  LayoutEntry part = LayoutEntry::shard(over);
  if (collective == Collective::AllToAll)
    return EncodedType::get(type.getContext(), pushEntry(tensor, part),
                            type.getCodec(), nullptr, over);
  return EncodedType::get(type.getContext(), popEntry(tensor, part),
                          type.getCodec(), over, nullptr);
}

void MessageWriter::write(const SizedCollective &call, ArrayAttr names) {
  Location location = reduce.getLoc();
  AxesAttr over = writeAxes(cluster, call.over);
  if (auto encoded = dyn_cast<EncodedType>(value.getType())) {
    Type result = exchangedType(encoded, call.collective, over);
    if (call.collective == Collective::AllToAll)
      value = builder.create<AllToAllOp>(
          location, result, value, /*split_dim=*/nullptr,
          /*concat_dim=*/nullptr, over, /*names=*/nullptr, /*stream=*/nullptr,
          /*places=*/nullptr);
    else
      value = builder.create<AllGatherOp>(location, result, value, over);
    return;
  }
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
  llvm_unreachable("not a stage of any message");
}

Value bagua::writeMessage(OpBuilder &builder, AllReduceOp reduce,
                          ArrayRef<MessageStage> stages) {
  MessageWriter writer(builder, reduce);
  for (auto [index, stage] : llvm::enumerate(stages)) {
    switch (stage.kind) {
    case MessageStage::Kind::Encode:
      writer.encode(stage);
      break;
    case MessageStage::Kind::Collective:
      writer.write(stage.call, index + 1 == stages.size()
                                   ? reduce.getNamesAttr()
                                   : ArrayAttr());
      break;
    case MessageStage::Kind::Decode:
      writer.decode(stage);
      break;
    }
  }
  return writer.result();
}
