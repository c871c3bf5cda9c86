//===- Opcodes.cpp - What a plan's opcodes are ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row for each.
//
//===----------------------------------------------------------------------===//
#include "Opcodes.h"

#include <cassert>

namespace bagua::runtime {
namespace {

// The numbers in the file are those of Support.
static_assert(int(fb::BiasCorrection::None) == int(BiasCorrection::None) &&
              int(fb::BiasCorrection::Moments) ==
                  int(BiasCorrection::Moments) &&
              int(fb::BiasCorrection::StepSize) ==
                  int(BiasCorrection::StepSize) &&
              fb::BiasCorrection::MAX == fb::BiasCorrection::StepSize);

std::vector<float> constantsOf(const fb::Instruction &op) {
  if (!op.constants())
    return {};
  return {op.constants()->begin(), op.constants()->end()};
}

std::string refuseLinear(const fb::Instruction &op) {
  return constantsOf(op).size() == op.inputs()->size()
             ? ""
             : "expected a coefficient for each floating-point input";
}

std::string refuseUpdate(const fb::Instruction &op) {
  return checkUpdate(bagua::rowOf(*updateRuleOf(op.opcode())),
                     op.outputs()->size(), constantsOf(op),
                     static_cast<BiasCorrection>(op.bias_correction()));
}

struct Row {
  InstructionKind kind;
  std::optional<Collective> collective = std::nullopt;
  ArithmeticRule rule = {};
  std::optional<UpdateRule> update = std::nullopt;
};

constexpr ArithmeticRule kUpdateRule = {std::nullopt, refuseUpdate};

Row rowOf(fb::Opcode opcode) {
  using Kind = InstructionKind;
  switch (opcode) {
  case fb::Opcode::AllReduce:
    return {Kind::Collective, Collective::AllReduce};
  case fb::Opcode::ReduceScatter:
    return {Kind::Collective, Collective::ReduceScatter};
  case fb::Opcode::AllGather:
    return {Kind::Collective, Collective::AllGather};
  case fb::Opcode::Reduce:
    return {Kind::Collective, Collective::Reduce};
  case fb::Opcode::Broadcast:
    return {Kind::Collective, Collective::Broadcast};
  case fb::Opcode::AllToAll:
    return {Kind::Collective, Collective::AllToAll};
  case fb::Opcode::Exchange: // or in pairs, as the pattern says
    return {Kind::Collective, Collective::ExchangeRing};
  case fb::Opcode::Push:
    return {Kind::Collective, Collective::Push};
  case fb::Opcode::Pull:
    return {Kind::Collective, Collective::Pull};
  case fb::Opcode::Concat:
    return {Kind::Concat};
  case fb::Opcode::Split:
    return {Kind::Split};
  case fb::Opcode::Slice:
    return {Kind::Slice};
  case fb::Opcode::Cast:
    return {Kind::Cast};
  case fb::Opcode::Linear:
    return {Kind::Arithmetic, {}, {std::nullopt, refuseLinear}};
  case fb::Opcode::Sgd:
    return {Kind::Update, {}, kUpdateRule, UpdateRule::Sgd};
  case fb::Opcode::Adam:
    return {Kind::Update, {}, kUpdateRule, UpdateRule::Adam};
  case fb::Opcode::AdamApply:
    return {Kind::Update, {}, kUpdateRule, UpdateRule::AdamApply};
  case fb::Opcode::After:
    return {Kind::After};
  case fb::Opcode::Permute:
    return {Kind::Collective, Collective::Permute};
  case fb::Opcode::Encode:
    return {Kind::Encode};
  case fb::Opcode::Decode:
    return {Kind::Decode};
  }
  return {Kind::After};
}

} // namespace

InstructionKind kindOf(fb::Opcode opcode) { return rowOf(opcode).kind; }

std::optional<UpdateRule> updateRuleOf(fb::Opcode opcode) {
  return rowOf(opcode).update;
}

fb::Opcode opcodeOf(UpdateRule rule) {
  for (fb::Opcode opcode : fb::EnumValuesOpcode())
    if (updateRuleOf(opcode) == rule)
      return opcode;
  assert(false && "expected an opcode for every rule");
  return fb::Opcode::Sgd;
}

std::optional<ArithmeticRule> arithmeticRuleOf(fb::Opcode opcode) {
  Row row = rowOf(opcode);
  return row.rule.refusal ? std::optional(row.rule) : std::nullopt;
}

std::optional<Collective> collectiveOf(const fb::Instruction &instruction) {
  if (instruction.opcode() == fb::Opcode::Exchange &&
      instruction.pattern() == fb::ExchangePattern::ShiftOne)
    return Collective::ExchangeShiftOne;
  return rowOf(instruction.opcode()).collective;
}

bool cuts(fb::RelationKind relation) {
  return relation == fb::RelationKind::AllToAll ||
         relation == fb::RelationKind::Scattered;
}

bool joins(fb::RelationKind relation) {
  return relation == fb::RelationKind::AllToAll ||
         relation == fb::RelationKind::Gathered;
}

bool isInPieces(const fb::Instruction &instruction) {
  bool isHalf = instruction.opcode() == fb::Opcode::ReduceScatter ||
                instruction.opcode() == fb::Opcode::AllGather;
  return isHalf && instruction.shape() && instruction.shape()->size() > 0;
}

uint32_t wholeValueOf(const fb::Instruction &instruction) {
  return wholeSideOf(*collectiveOf(instruction)) == WholeSide::Operand
             ? instruction.inputs()->Get(0)
             : instruction.outputs()->Get(0);
}

} // namespace bagua::runtime
