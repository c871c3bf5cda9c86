//===- Tolerance.cpp - How far rounding may lead from the contract --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First-order error bounds: the number of roundings times the size of the
// numbers.
//
//===----------------------------------------------------------------------===//
#include "Tolerance.h"

#include "CheckValues.h"
#include "Plan/Opcodes.h"

#include "bagua/Runtime/PlanLayout.h"
#include "bagua/Support/Encodings.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace bagua::replay {

namespace fb = runtime::fb;

double roundoffOf(DataType type) {
  switch (type) {
  case DataType::Float64:
    return std::ldexp(1, -53);
  case DataType::Float32:
    return std::ldexp(1, -24);
  case DataType::Float16:
    return std::ldexp(1, -11);
  case DataType::BFloat16:
    return std::ldexp(1, -8);
  default:
    return 0;
  }
}

static bool isReduction(const fb::Instruction &instruction) {
  std::optional<Collective> collective = runtime::collectiveOf(instruction);
  return collective && isReduction(*collective);
}

/// Whether the operands' roundoff is that of the results, too: in reductions,
/// and in ops that join or cut values, but not in other collectives.
static bool movesElements(const fb::Instruction &instruction) {
  switch (runtime::kindOf(instruction.opcode())) {
  case runtime::InstructionKind::Collective:
    return isReduction(instruction);
  case runtime::InstructionKind::Concat:
  case runtime::InstructionKind::Split:
  case runtime::InstructionKind::Slice:
  case runtime::InstructionKind::After:
    return true;
  case runtime::InstructionKind::Cast:
  case runtime::InstructionKind::Encode:
  case runtime::InstructionKind::Decode:
  case runtime::InstructionKind::Arithmetic:
  case runtime::InstructionKind::Direction:
  case runtime::InstructionKind::Norm:
  case runtime::InstructionKind::Update:
    return false;
  }
  return false;
}

static bool meets(const fb::Instruction &instruction,
                  const std::vector<int64_t> &axes) {
  return instruction.axes() &&
         std::any_of(instruction.axes()->begin(), instruction.axes()->end(),
                     [&](uint32_t axis) {
                       return std::find(axes.begin(), axes.end(), axis) !=
                              axes.end();
                     });
}

/// The numbers of a list, which may be missing.
static std::vector<uint32_t>
numbersOf(const flatbuffers::Vector<uint32_t> *list) {
  return list ? std::vector<uint32_t>(list->begin(), list->end())
              : std::vector<uint32_t>();
}

std::vector<double> Tolerances::findLosses() const {
  std::vector<double> losses(plan.root().values()->size(), 0);
  for (const fb::Instruction *instruction : *step.instructions()) {
    double before = 0;
    for (uint32_t input : numbersOf(instruction->inputs()))
      before = std::max(before, losses[input]);
    for (uint32_t output : numbersOf(instruction->outputs())) {
      const fb::Value &value = *plan.root().values()->Get(output);
      bool isNew = runtime::kindOf(instruction->opcode()) ==
                   runtime::InstructionKind::Encode;
      double own =
          isNew ? rowOf(runtime::readEncoding(value).encoding).relativeError
                : 0;
      // Earlier losses may have enlarged the value that is encoded here.
      losses[output] = before + own * (1 + before);
    }
  }
  return losses;
}

Tolerances::Roundings Tolerances::find(const std::vector<int64_t> &axes) const {
  std::vector<double> roundoff(plan.root().values()->size(), 0);
  const std::vector<double> losses = findLosses();
  Roundings found;
  for (const fb::Instruction *instruction : *step.instructions()) {
    const bool isOver = meets(*instruction, axes);
    if (isOver && isReduction(*instruction))
      found.isReassociated |=
          !std::equal(axes.begin(), axes.end(), instruction->axes()->begin(),
                      instruction->axes()->end());
    if (!instruction->inputs() || !instruction->outputs())
      continue;
    bool moves = movesElements(*instruction);
    bool converts = runtime::kindOf(instruction->opcode()) ==
                    runtime::InstructionKind::Cast;
    double largest = 0;
    for (uint32_t input : *instruction->inputs())
      largest = std::max(largest, roundoff[input]);
    if (isOver) {
      found.narrowest = std::max(found.narrowest, largest);
      for (uint32_t output : *instruction->outputs())
        found.encoded = std::max(found.encoded, losses[output]);
    }
    for (uint32_t output : *instruction->outputs())
      if (converts)
        roundoff[output] = roundoffOf(
            static_cast<DataType>(plan.root().values()->Get(output)->type()));
      else if (moves)
        roundoff[output] = largest;
  }
  return found;
}

/// There are many relations and few sets of axes.
const Tolerances::Roundings &
Tolerances::over(const std::vector<int64_t> &axes) {
  auto found = known.find(axes);
  if (found == known.end())
    found = known.emplace(axes, find(axes)).first;
  return found->second;
}

double Tolerances::of(const fb::Relation &relation) {
  bool reduces = relation.relation() == fb::RelationKind::Reduced ||
                 relation.relation() == fb::RelationKind::Scattered ||
                 relation.relation() == fb::RelationKind::Updated;
  if (!reduces)
    return 0;
  auto type =
      static_cast<DataType>(plan.root().tensors()->Get(relation.of())->type());
  std::vector<int64_t> axes;
  if (relation.axes())
    axes.assign(relation.axes()->begin(), relation.axes()->end());
  double stored = roundoffOf(type);
  if (stored == 0)
    return 0;
  const Roundings &roundings = over(axes);
  bool isNarrowed = roundings.narrowest > stored;
  stored = std::max(stored, roundings.narrowest);
  bool adds = relation.reduce() == fb::ReduceKind::Sum ||
              relation.reduce() == fb::ReduceKind::Mean;
  bool isEncoded = roundings.encoded > 0;
  if (!isNarrowed && !isEncoded && !(roundings.isReassociated && adds))
    return 0;
  auto ranks = static_cast<double>(plan.topology().groupOf(0, axes).size());
  auto levels = static_cast<double>(axes.size());
  // Sums of partial sums, each stored once at each level and once on either
  // side.
  double accumulated =
      adds ? 2 * ranks *
                 roundoffOf(type == DataType::Float64 ? DataType::Float64
                                                      : DataType::Float32)
           : 0;
  double relative = accumulated + 2 * (levels + 2) * stored + roundings.encoded;
  double largest = relation.reduce() == fb::ReduceKind::Sum
                       ? kLargestValue * ranks
                       : kLargestValue;
  return largest * relative;
}

} // namespace bagua::replay
