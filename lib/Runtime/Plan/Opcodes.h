//===- Opcodes.h - What a plan's opcodes are ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one list of opcodes that loader, printers, executor and checks go by: the
// kind of each, which collective it is, which optimizer's update, and what
// arithmetic asks of its operands and constants.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_PLAN_OPCODES_H
#define BAGUA_LIB_RUNTIME_PLAN_OPCODES_H

#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/Collective.h"
#include "bagua/Support/UpdateRules.h"

#include <cstddef>
#include <optional>
#include <string>

namespace bagua::runtime {

enum class InstructionKind {
  /// One input and one output (exchange: more), among ranks.
  Collective,
  /// Copies between a bucket and its tensors.
  Concat,
  Split,
  /// Keeps a rank's part.
  Slice,
  /// Another element type.
  Cast,
  /// A value in an encoding's form, and back.
  Encode,
  Decode,
  /// Element `i` of the output from elements `i` of the inputs and constants.
  Arithmetic,
  /// An optimizer's: new states from the old ones, a gradient and a rate.
  Update,
  /// The direction of an optimizer that scales it by norms.
  Direction,
  /// A scalar from all elements that a rank stores.
  Norm,
  /// Nothing but the waits.
  After,
};

/// The opcode is one of the schema's.
InstructionKind kindOf(fb::Opcode opcode);

/// Nothing for what does not communicate.
std::optional<Collective> collectiveOf(const fb::Instruction &instruction);

/// The operand or result of a collective that the other one is a part of: its
/// value number.
uint32_t wholeValueOf(const fb::Instruction &instruction);

/// Whether what a relation gives back is cut along its split dimension, and put
/// together along its concat dimension.
bool cuts(fb::RelationKind relation);
bool joins(fb::RelationKind relation);

/// Whether a reduce_scatter or an all_gather is between tensors of each rank's
/// own, cut into pieces along a dimension, rather than between a tensor and its
/// parts.
bool isInPieces(const fb::Instruction &instruction);

/// The row in Support of an Update or a Direction. Null for other opcodes, and
/// for a number that no row without an opcode of its own has.
const UpdateRow *updateOf(fb::Opcode opcode, uint8_t rule);
inline const UpdateRow *updateOf(const fb::Instruction &op) {
  return updateOf(op.opcode(), op.rule());
}
inline const UpdateRow *updateOf(const fb::Update &update) {
  return updateOf(update.opcode(), update.rule());
}

/// The rules of an arithmetic opcode besides the rule of its kind, which says
/// that all inputs and outputs are of one floating-point type, count and
/// layout.
struct ArithmeticRule {
  /// Nothing: any number but 0. Those of updates are in their rows.
  std::optional<size_t> inputs;
  /// Describes what is wrong with the constants, if there are inputs and
  /// outputs; empty if nothing.
  std::string (*refusal)(const fb::Instruction &instruction) = nullptr;
};

/// Nothing for opcodes that do not compute with constants.
std::optional<ArithmeticRule> arithmeticRuleOf(fb::Opcode opcode);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_PLAN_OPCODES_H
