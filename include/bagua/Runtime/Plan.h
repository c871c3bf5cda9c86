//===- Plan.h - A loaded plan ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads, verifies and prints plan files. A Plan that exists is sound: indices
// are in range, values lie inside their arenas and tensors on every rank, the
// launch order respects the waits. The schema is Plan.fbs.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_PLAN_H
#define BAGUA_RUNTIME_PLAN_H

#include "bagua/Runtime/PlanLayout.h"
#include "bagua/Support/Topology.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bagua::runtime {

namespace fb {
struct Instruction;
struct Plan;
struct PlanT;
struct StepT;
} // namespace fb

/// The version that this code writes. The code reads every file with the same
/// first number, unless the file uses a feature that the code doesn't know.
inline constexpr uint32_t kPlanVersion = 2;
inline constexpr uint32_t kPlanMinorVersion = 0;

/// An immutable plan.
class Plan {
public:
  /// InvalidArgument says what is wrong with the bytes: they are no plan, have
  /// another version (both are named), a wrong fingerprint or a feature that
  /// this runtime doesn't know, or a named field is out of range.
  static absl::StatusOr<std::shared_ptr<const Plan>>
  fromBytes(std::string bytes);
  /// The same for a file, with the path in each error. NotFound if the file
  /// can't be opened, Unavailable if reading it fails.
  static absl::StatusOr<std::shared_ptr<const Plan>>
  fromFile(const std::string &path);

  const fb::Plan &root() const { return *plan; }
  const PlanCluster &cluster() const { return shape; }
  const Topology &topology() const { return shape.topology(); }
  uint64_t fingerprint() const;

  // Messages, traces and errors number the instructions of all steps through,
  // in the order of the steps.

  uint32_t instructionCount() const {
    return static_cast<uint32_t>(instructions.size());
  }
  const fb::Instruction &instruction(uint32_t number) const {
    return *instructions[number];
  }
  /// The number of the first instruction of a step.
  uint32_t firstInstructionOf(uint32_t step) const { return firsts[step]; }
  /// The step that an instruction is of.
  uint32_t stepOfInstruction(uint32_t number) const;

  /// Whether the program runs its updates right before the next forward needs
  /// them, and not as soon as their gradients are reduced.
  bool hasLateUpdates() const;

private:
  Plan(std::string fileBytes, PlanCluster cluster);

  const std::string bytes;
  const fb::Plan *const plan;
  const PlanCluster shape;
  std::vector<const fb::Instruction *> instructions;
  /// By step: the number of its first instruction.
  std::vector<uint32_t> firsts;
};

/// For writers of plans: adds an instruction to those of the step that touch a
/// tensor, unless it is one already. A tensor's come in ascending order.
void addUse(fb::StepT &step, uint32_t tensor, uint32_t instruction);

/// The bytes of the plan's file. Fills in features and fingerprint.
std::string writePlan(fb::PlanT &plan);

/// The plan for people: a line for each tensor, instruction and wait.
std::string planToText(const Plan &plan);
/// All fields of the plan, indented; the output is deterministic.
std::string planToJson(const Plan &plan);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_PLAN_H
