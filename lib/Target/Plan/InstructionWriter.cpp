//===- InstructionWriter.cpp - Instructions in the file's form ------------===//
//
// What each op becomes. Fields that an opcode does not use keep their defaults.
//
//===----------------------------------------------------------------------===//
#include "InstructionWriter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bagua;

namespace {
/// The fields of an instruction that depend on its op.
struct Fields {
  fb::Opcode opcode = fb::Opcode::After;
  SmallVector<Value> inputs;
  SmallVector<Value> outputs;
  ReduceKind kind = ReduceKind::Sum;
  fb::ExchangePattern pattern = fb::ExchangePattern::Ring;
  std::vector<int64_t> shape;
  uint32_t splitDim = 0, concatDim = 0;
  LayoutAttr striped;
  std::vector<float> constants;
  fb::BiasCorrection biasCorrection = fb::BiasCorrection::None;
  std::optional<float> learningRate;
};
} // namespace

std::vector<uint32_t> bagua::axisNumbers(ClusterOp cluster, AxesAttr axes) {
  std::vector<uint32_t> numbers;
  if (axes)
    for (StringAttr name : axes.getNames())
      numbers.push_back(*cluster.findAxis(name.getValue()));
  return numbers;
}

VectorOffset<flatbuffers::Offset<fb::LayoutEntry>>
bagua::writeLayout(flatbuffers::FlatBufferBuilder &builder, ClusterOp cluster,
                   LayoutAttr layout) {
  if (!layout)
    return 0;
  std::vector<flatbuffers::Offset<fb::LayoutEntry>> entries;
  for (const LayoutEntry &entry : layout.getEntries()) {
    auto axes = builder.CreateVector(axisNumbers(cluster, entry.getAxes()));
    entries.push_back(
        fb::CreateLayoutEntry(builder, static_cast<fb::LayoutKind>(entry.kind),
                              axes, static_cast<int32_t>(entry.server)));
  }
  return builder.CreateVector(entries);
}

static_assert(int(LayoutEntry::Kind::Shard) == int(fb::LayoutKind::Shard) &&
              int(LayoutEntry::Kind::Root) == int(fb::LayoutKind::Root) &&
              int(LayoutEntry::Kind::Server) == int(fb::LayoutKind::Server));
static_assert(int(BiasCorrection::Moments) ==
                  int(fb::BiasCorrection::Moments) &&
              int(BiasCorrection::StepSize) ==
                  int(fb::BiasCorrection::StepSize));

static void setAllToAll(AllToAllOp op, Fields &fields) {
  fields.opcode = fb::Opcode::AllToAll;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getInput().getType()).getShape();
  fields.shape.assign(shape.begin(), shape.end());
  fields.splitDim = static_cast<uint32_t>(*op.getSplitDim());
  fields.concatDim = static_cast<uint32_t>(*op.getConcatDim());
}

/// The learning rate is the last input, or a literal.
template <typename OpTy> static void setUpdate(OpTy op, Fields &fields) {
  if (FloatAttr literal = op.getLrValueAttr())
    fields.learningRate = literal.getValue().convertToFloat();
}

static void setAdam(AdamOp op, Fields &fields) {
  fields.opcode = fb::Opcode::Adam;
  for (const APFloat &constant :
       {op.getBeta1(), op.getBeta2(), op.getEps(), op.getDecay()})
    fields.constants.push_back(constant.convertToFloat());
  fields.biasCorrection =
      static_cast<fb::BiasCorrection>(op.getBiasCorrection());
  setUpdate(op, fields);
}

static void setSgd(SgdOp op, Fields &fields) {
  fields.opcode = fb::Opcode::Sgd;
  if (FloatAttr momentum = op.getMomentumAttr())
    fields.constants.push_back(momentum.getValue().convertToFloat());
  setUpdate(op, fields);
}

static void setAdamApply(AdamApplyOp op, Fields &fields) {
  fields.opcode = fb::Opcode::AdamApply;
  fields.constants.push_back(op.getEps().convertToFloat());
  fields.biasCorrection =
      static_cast<fb::BiasCorrection>(op.getBiasCorrection());
}

/// False for an op without a form in the plan.
static bool readFields(Operation *op, Fields &fields) {
  fields.inputs.assign(op->operand_begin(), op->operand_end());
  fields.outputs.assign(op->result_begin(), op->result_end());
  if (ReduceKindAttr kind = cast<StepOpInterface>(op).getReduction())
    fields.kind = kind.getValue();
  auto plain = [&](fb::Opcode opcode) {
    return [&fields, opcode](Operation *) {
      fields.opcode = opcode;
      return true;
    };
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<AllReduceOp>([&](AllReduceOp reduce) {
        fields.opcode = fb::Opcode::AllReduce;
        return !reduce.getCodecAttr();
      })
      .Case<ReduceScatterOp>(plain(fb::Opcode::ReduceScatter))
      .Case<AllGatherOp>(plain(fb::Opcode::AllGather))
      .Case<ReduceOp>(plain(fb::Opcode::Reduce))
      .Case<BroadcastOp>(plain(fb::Opcode::Broadcast))
      .Case<PushOp>(plain(fb::Opcode::Push))
      .Case<PullOp>(plain(fb::Opcode::Pull))
      .Case<SliceOp>(plain(fb::Opcode::Slice))
      .Case<CastOp>(plain(fb::Opcode::Cast))
      .Case<AllToAllOp>([&](AllToAllOp allToAll) {
        setAllToAll(allToAll, fields);
        return true;
      })
      .Case<ExchangeOp>([&](ExchangeOp exchange) {
        fields.opcode = fb::Opcode::Exchange;
        fields.pattern = exchange.getPattern() == ExchangePattern::Ring
                             ? fb::ExchangePattern::Ring
                             : fb::ExchangePattern::ShiftOne;
        return true;
      })
      .Case<ConcatOp>([&](ConcatOp concat) {
        fields.opcode = fb::Opcode::Concat;
        fields.striped = concat.getStripedAttr();
        return true;
      })
      .Case<SplitOp>([&](SplitOp split) {
        fields.opcode = fb::Opcode::Split;
        fields.striped = split.getStripedAttr();
        return true;
      })
      .Case<AfterOp>([&](AfterOp after) {
        // What it waits for is among the waits; only the value passes through.
        fields.inputs = {after.getInput()};
        return true;
      })
      .Case<LinearOp>([&](LinearOp linear) {
        fields.opcode = fb::Opcode::Linear;
        fields.constants.assign(linear.getCoefficients().begin(),
                                linear.getCoefficients().end());
        return true;
      })
      .Case<SgdOp>([&](SgdOp sgd) {
        setSgd(sgd, fields);
        return true;
      })
      .Case<AdamOp>([&](AdamOp adam) {
        setAdam(adam, fields);
        return true;
      })
      .Case<AdamApplyOp>([&](AdamApplyOp apply) {
        setAdamApply(apply, fields);
        return true;
      })
      .Default([](Operation *) { return false; });
}

llvm::FailureOr<flatbuffers::Offset<fb::Instruction>>
bagua::writeInstruction(flatbuffers::FlatBufferBuilder &builder,
                        const PlanModel &model,
                        const PlanInstruction &instruction) {
  Fields fields;
  if (!readFields(instruction.op, fields))
    return instruction.op->emitOpError("has no form in a plan yet");
  auto numbersOf = [&](ArrayRef<Value> values) {
    std::vector<uint32_t> numbers;
    for (Value value : values)
      numbers.push_back(model.valueNumber(value));
    return builder.CreateVector(numbers);
  };
  ClusterOp cluster = model.cluster;
  auto name = builder.CreateString(instruction.name);
  auto inputs = numbersOf(fields.inputs);
  auto outputs = numbersOf(fields.outputs);
  auto axes = builder.CreateVector(axisNumbers(
      cluster, cast<StepOpInterface>(instruction.op).getGroupAxes()));
  auto shape = builder.CreateVector(fields.shape);
  auto striped = writeLayout(builder, cluster, fields.striped);
  auto constants = builder.CreateVector(fields.constants);
  auto ready = builder.CreateVector(instruction.ready);
  auto after = builder.CreateVector(instruction.after);
  auto afterPrevious = builder.CreateVector(instruction.afterPrevious);
  return fb::CreateInstruction(
      builder, name, fields.opcode, instruction.stream, inputs, outputs, axes,
      static_cast<fb::ReduceKind>(fields.kind), fields.pattern, shape,
      fields.splitDim, fields.concatDim, striped, constants,
      fields.biasCorrection, fields.learningRate.has_value(),
      fields.learningRate.value_or(0), ready, after, afterPrevious,
      /*cost_ns=*/0);
}
