//===- InstructionWriter.cpp - Instructions in the file's form ------------===//
//
// What an op says of itself (StepOpInterface::getInstruction) in the file's
// form.
//
//===----------------------------------------------------------------------===//
#include "InstructionWriter.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace bagua;

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

VectorOffset<uint32_t>
bagua::writePairs(flatbuffers::FlatBufferBuilder &builder,
                  ArrayRef<int64_t> pairs) {
  if (pairs.empty())
    return 0;
  return builder.CreateVector(
      std::vector<uint32_t>(pairs.begin(), pairs.end()));
}

static_assert(int(LayoutEntry::Kind::Shard) == int(fb::LayoutKind::Shard) &&
              int(LayoutEntry::Kind::Root) == int(fb::LayoutKind::Root) &&
              int(LayoutEntry::Kind::Server) == int(fb::LayoutKind::Server));
static_assert(int(ExchangePattern::Ring) == int(fb::ExchangePattern::Ring) &&
              int(ExchangePattern::ShiftOne) ==
                  int(fb::ExchangePattern::ShiftOne));
static_assert(int(BiasCorrection::Moments) ==
                  int(fb::BiasCorrection::Moments) &&
              int(BiasCorrection::StepSize) ==
                  int(fb::BiasCorrection::StepSize));

std::optional<fb::Opcode> bagua::opcodeOf(StringRef snakeCase) {
  std::string name =
      llvm::convertToCamelFromSnakeCase(snakeCase, /*capitalizeFirst=*/true);
  for (fb::Opcode opcode : fb::EnumValuesOpcode())
    if (name == fb::EnumNameOpcode(opcode))
      return opcode;
  return std::nullopt;
}

llvm::FailureOr<flatbuffers::Offset<fb::Instruction>>
bagua::writeInstruction(flatbuffers::FlatBufferBuilder &builder,
                        const PlanModel &model,
                        const PlanInstruction &instruction) {
  auto op = cast<StepOpInterface>(instruction.op);
  std::optional<InstructionFields> fields = op.getInstruction();
  std::optional<fb::Opcode> opcode = opcodeOf(op->getName().stripDialect());
  if (!fields || !opcode)
    return op->emitOpError("has no form in a plan yet");
  auto numbersOf = [&](ValueRange values) {
    std::vector<uint32_t> numbers;
    for (Value value : values)
      numbers.push_back(model.valueNumber(value));
    return builder.CreateVector(numbers);
  };
  ClusterOp cluster = model.cluster;
  ReduceKindAttr kind = op.getReduction();
  auto name = builder.CreateString(instruction.name);
  // What an op only waits for is among the waits.
  auto inputs = numbersOf(op->getOperands().take_front(op.getReadCount()));
  auto outputs = numbersOf(op->getResults());
  auto axes = builder.CreateVector(axisNumbers(cluster, op.getGroupAxes()));
  auto shape = builder.CreateVector(fields->shape.data(), fields->shape.size());
  auto striped = writeLayout(builder, cluster, fields->striped);
  auto constants =
      builder.CreateVector(fields->constants.data(), fields->constants.size());
  auto ready = builder.CreateVector(instruction.ready);
  auto after = builder.CreateVector(instruction.after);
  auto afterPrevious = builder.CreateVector(instruction.afterPrevious);
  auto pairs = writePairs(builder, fields->pairs);
  return fb::CreateInstruction(
      builder, name, *opcode, instruction.stream, inputs, outputs, axes,
      static_cast<fb::ReduceKind>(kind ? kind.getValue() : ReduceKind::Sum),
      static_cast<fb::ExchangePattern>(fields->pattern), shape,
      static_cast<uint32_t>(fields->splitDim),
      static_cast<uint32_t>(fields->concatDim), striped, constants,
      static_cast<fb::BiasCorrection>(fields->biasCorrection),
      fields->learningRate.has_value(), fields->learningRate.value_or(0), ready,
      after, afterPrevious,
      /*cost_ns=*/0, pairs);
}
