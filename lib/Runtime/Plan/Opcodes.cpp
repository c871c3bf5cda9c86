//===- Opcodes.cpp - What a plan's opcodes are ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row for each.
//
//===----------------------------------------------------------------------===//
#include "Opcodes.h"

namespace bagua::runtime {
namespace {

size_t constantCount(const fb::Instruction &op) {
  return op.constants() ? op.constants()->size() : 0;
}

std::string refuseLinear(const fb::Instruction &op) {
  return constantCount(op) == op.inputs()->size()
             ? ""
             : "expected a coefficient for each floating-point input";
}

std::string refuseSgd(const fb::Instruction &op) {
  size_t count = constantCount(op);
  bool isGood = op.outputs()->size() == 2
                    ? count == 1
                    : count == 0 || (count == 1 && op.constants()->Get(0) == 0);
  return isGood ? "" : "expected a momentum with two states, and only there";
}

std::string refuseAdam(const fb::Instruction &op) {
  return constantCount(op) == 4 ? "" : "expected beta1, beta2, eps and decay";
}

std::string refuseAdamApply(const fb::Instruction &op) {
  bool corrects = op.bias_correction() != fb::BiasCorrection::None;
  return constantCount(op) == (corrects ? 3 : 1)
             ? ""
             : "expected eps, and for a bias correction both betas";
}

struct Row {
  InstructionKind kind;
  ArithmeticRule rule = {};
  std::optional<Collective> collective = std::nullopt;
  std::optional<PromisedUpdate> promised = std::nullopt;
};

Row rowOf(fb::Opcode opcode) {
  using Kind = InstructionKind;
  switch (opcode) {
  case fb::Opcode::AllReduce:
    return {Kind::Collective, {}, Collective::AllReduce};
  case fb::Opcode::ReduceScatter:
    return {Kind::Collective, {}, Collective::ReduceScatter};
  case fb::Opcode::AllGather:
    return {Kind::Collective, {}, Collective::AllGather};
  case fb::Opcode::Reduce:
    return {Kind::Collective, {}, Collective::Reduce};
  case fb::Opcode::Broadcast:
    return {Kind::Collective, {}, Collective::Broadcast};
  case fb::Opcode::AllToAll:
    return {Kind::Collective, {}, Collective::AllToAll};
  case fb::Opcode::Exchange: // or in pairs, as the pattern says
    return {Kind::Collective, {}, Collective::ExchangeRing};
  case fb::Opcode::Push:
    return {Kind::Collective, {}, Collective::Push};
  case fb::Opcode::Pull:
    return {Kind::Collective, {}, Collective::Pull};
  case fb::Opcode::Concat:
    return {Kind::Concat};
  case fb::Opcode::Split:
    return {Kind::Split};
  case fb::Opcode::Slice:
    return {Kind::Slice};
  case fb::Opcode::Cast:
    return {Kind::Cast};
  case fb::Opcode::Linear:
    return {Kind::Arithmetic, {0, 0, std::nullopt, refuseLinear}};
  case fb::Opcode::Sgd:
    return {
        Kind::Update, {1, 2, 1, refuseSgd}, std::nullopt, PromisedUpdate::Sgd};
  case fb::Opcode::Adam:
    return {Kind::Update,
            {3, 3, 1, refuseAdam},
            std::nullopt,
            PromisedUpdate::Adam};
  case fb::Opcode::AdamApply:
    return {Kind::Update, {1, 1, 2, refuseAdamApply}};
  case fb::Opcode::After:
    return {Kind::After};
  case fb::Opcode::Permute:
    return {Kind::Collective, {}, Collective::Permute};
  case fb::Opcode::Encode:
    return {Kind::Encode};
  case fb::Opcode::Decode:
    return {Kind::Decode};
  }
  return {Kind::After};
}

} // namespace

InstructionKind kindOf(fb::Opcode opcode) { return rowOf(opcode).kind; }

std::optional<ArithmeticRule> arithmeticRuleOf(fb::Opcode opcode) {
  Row row = rowOf(opcode);
  return row.rule.refusal ? std::optional(row.rule) : std::nullopt;
}

std::optional<PromisedUpdate> promisedUpdateOf(fb::Opcode opcode) {
  return rowOf(opcode).promised;
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
