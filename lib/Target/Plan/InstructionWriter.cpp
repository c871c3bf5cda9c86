//===- InstructionWriter.cpp - Instructions in the file's form ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes an op's description of itself (StepOpInterface::getInstruction) in the
// file's form.
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

std::vector<std::unique_ptr<fb::LayoutEntryT>>
bagua::writeLayout(ClusterOp cluster, LayoutAttr layout) {
  std::vector<std::unique_ptr<fb::LayoutEntryT>> entries;
  if (!layout)
    return entries;
  for (const LayoutEntry &entry : layout.getEntries()) {
    auto &written = entries.emplace_back(std::make_unique<fb::LayoutEntryT>());
    written->kind = static_cast<fb::LayoutKind>(entry.kind);
    written->axes = axisNumbers(cluster, entry.getAxes());
    written->server = static_cast<int32_t>(entry.server);
  }
  return entries;
}

static_assert(int(LayoutEntry::Kind::Shard) == int(fb::LayoutKind::Shard) &&
              int(LayoutEntry::Kind::Root) == int(fb::LayoutKind::Root) &&
              int(LayoutEntry::Kind::Server) == int(fb::LayoutKind::Server));
static_assert(int(ExchangePattern::Ring) == int(fb::ExchangePattern::Ring) &&
              int(ExchangePattern::ShiftOne) ==
                  int(fb::ExchangePattern::ShiftOne));
std::optional<fb::Opcode> bagua::opcodeOf(StringRef snakeCase) {
  std::string name =
      llvm::convertToCamelFromSnakeCase(snakeCase, /*capitalizeFirst=*/true);
  for (fb::Opcode opcode : fb::EnumValuesOpcode())
    if (name == fb::EnumNameOpcode(opcode))
      return opcode;
  return std::nullopt;
}

llvm::LogicalResult bagua::writeInstruction(const PlanModel &model,
                                            const PlanInstruction &instruction,
                                            fb::InstructionT &written) {
  auto op = cast<StepOpInterface>(instruction.op);
  std::optional<InstructionFields> fields = op.getInstruction();
  std::optional<fb::Opcode> opcode = opcodeOf(op->getName().stripDialect());
  if (!fields || !opcode)
    return op->emitOpError("has no form in a plan yet");
  auto numbersOf = [&](ValueRange values) {
    std::vector<uint32_t> numbers;
    for (Value value : values)
      numbers.push_back(model.valueNumber(value));
    return numbers;
  };
  ReduceKindAttr kind = op.getReduction();
  written.name = instruction.name;
  written.opcode = *opcode;
  written.stream = instruction.stream;
  // Operands that an op only waits for are among the waits.
  written.inputs = numbersOf(op->getOperands().take_front(op.getReadCount()));
  written.outputs = numbersOf(op->getResults());
  written.axes = axisNumbers(model.cluster, op.getGroupAxes());
  written.kind =
      static_cast<fb::ReduceKind>(kind ? kind.getValue() : ReduceKind::Sum);
  written.pattern = static_cast<fb::ExchangePattern>(fields->pattern);
  written.shape.assign(fields->shape.begin(), fields->shape.end());
  written.split_dim = static_cast<uint32_t>(fields->splitDim);
  written.concat_dim = static_cast<uint32_t>(fields->concatDim);
  written.striped = writeLayout(model.cluster, fields->striped);
  written.constants.assign(fields->constants.begin(), fields->constants.end());
  written.bias_correction =
      static_cast<fb::BiasCorrection>(fields->biasCorrection);
  written.rule = static_cast<uint8_t>(fields->rule);
  written.has_learning_rate = fields->learningRate.has_value();
  written.learning_rate = fields->learningRate.value_or(0);
  written.ready = instruction.ready;
  written.after = instruction.after;
  written.after_previous = instruction.afterPrevious;
  written.pairs.assign(fields->pairs.begin(), fields->pairs.end());
  return success();
}
