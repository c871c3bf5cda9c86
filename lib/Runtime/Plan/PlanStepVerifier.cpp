//===- PlanStepVerifier.cpp - Whether a step's fields mean something ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything of a step that does not depend on an opcode, but for its contract:
// the order of instructions, who touches which tensor, and the program.
//
//===----------------------------------------------------------------------===//
#include "FieldChecks.h"
#include "Opcodes.h"
#include "PhaseTable.h"
#include "PlanVerifier.h"
#include "Roles.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace bagua::runtime {
namespace {

using absl::StrCat;

/// In place of the number of one of the program's ops.
constexpr int64_t kNever = -1;

class StepVerifier {
public:
  StepVerifier(PlanVerifier &verifier, const fb::Plan &root,
               const fb::Step &checked, bool runsBeforeIteration)
      : common(verifier), plan(root), step(checked),
        isBefore(runsBeforeIteration) {}

  absl::Status verify();

private:
  absl::Status verifyPrediction();
  absl::Status verifyInstructions();
  absl::Status verifyOrder(const fb::Instruction &instruction, uint32_t number);
  absl::Status verifyUses();
  absl::Status verifyTouched();
  absl::Status verifyApart();
  absl::Status verifyProgram();
  absl::Status verifyProgramOp(const fb::ProgramOp &op);
  /// Verifies the cost of one instruction or program op, after costs of `spent`
  /// in all, and adds it to `spent`.
  absl::Status verifyCost(int64_t ns, int64_t &spent);
  absl::Status verifyWaits() const;
  /// By tensor: the program's op that gives it.
  std::vector<int64_t> findGivers() const;
  /// By instruction: the last of the program's ops that it waits for, by what
  /// the op gives.
  std::vector<int64_t> findAwaited(const std::vector<int64_t> &givenBy) const;
  absl::Status verifyTakenBack(const std::vector<int64_t> &givenBy,
                               const std::vector<int64_t> &awaits) const;
  absl::Status verifyRead(const std::vector<int64_t> &awaits) const;
  bool writes(const fb::Instruction &op, uint32_t tensor) const;

  PlanVerifier &common;
  const fb::Plan &plan;
  const fb::Step &step;
  const bool isBefore;
  int64_t instructionNs = 0;
  int64_t programNs = 0;
};

} // namespace

absl::Status StepVerifier::verifyPrediction() {
  const fb::Prediction *prediction = step.prediction();
  if (!prediction)
    return absl::OkStatus();
  for (auto [name, value] : {std::pair("step_ns", prediction->step_ns()),
                             std::pair("exposed_ns", prediction->exposed_ns()),
                             std::pair("bytes_sent", prediction->bytes_sent())})
    if (value < 0)
      return invalid(StrCat("prediction: expected ", name,
                            " to be at least 0, found ", value));
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyOrder(const fb::Instruction &instruction,
                                       uint32_t number) {
  absl::Status status = common.verifyIndices(
      instruction.ready(), plan.tensors()->size(), "ready tensors");
  if (status.ok())
    status = common.verifyIndices(instruction.after(), number,
                                  "'after' to name earlier instructions,");
  if (status.ok())
    status = common.verifyIndices(instruction.after_previous(),
                                  step.instructions()->size(),
                                  "'after_previous' to name instructions");
  if (!status.ok())
    return status;
  if (isBefore && lengthOf(instruction.ready()) > 0)
    return invalid("waits for the program, which takes no part in a step that "
                   "runs before an iteration");
  if (isBefore && kindOf(instruction.opcode()) == InstructionKind::Update)
    return invalid("updates a param in a step that runs before an iteration: "
                   "expected it in a step of iterations, which are counted");
  if (instruction.ready())
    for (uint32_t tensor : *instruction.ready())
      if (!plan.tensors()->Get(tensor)->given_by_program())
        return invalid(StrCat("waits for tensor '",
                              nameOf(plan.tensors()->Get(tensor)->name()),
                              "', which the program doesn't give"));
  if (instruction.after())
    for (uint32_t other : *instruction.after())
      if (step.instructions()->Get(other)->stream() == instruction.stream())
        return invalid(
            StrCat("'after' names instruction ", other, " of the same stream"));
  return verifyCost(instruction.cost_ns(), instructionNs);
}

absl::Status StepVerifier::verifyInstructions() {
  for (uint32_t i = 0; i < step.instructions()->size(); ++i) {
    const fb::Instruction &instruction = *step.instructions()->Get(i);
    absl::Status status = absl::OkStatus();
    if (instruction.name()->size() > kMaxNameLength)
      status = invalid("the name is too long");
    if (status.ok() && instruction.stream() >= plan.streams()->size())
      status =
          invalid(StrCat("expected a stream below ", plan.streams()->size(),
                         ", found ", instruction.stream()));
    if (status.ok())
      status = verifyOrder(instruction, i);
    if (status.ok())
      status = verifyInstruction(common, instruction);
    if (!status.ok())
      return prefixed(StrCat("instruction ", i, " '",
                             nameOf(instruction.name()).substr(0, 200), "'"),
                      status);
  }
  return absl::OkStatus();
}

/// Lists of ascending tensors, whose users are instructions.
absl::Status StepVerifier::verifyUses() {
  int64_t last = -1;
  for (const fb::TensorUse *use : *step.uses()) {
    if (use->tensor() >= plan.tensors()->size() || use->tensor() <= last)
      return invalid(
          StrCat("expected uses of ascending tensors below ",
                 plan.tensors()->size(), ", found ", use->tensor(),
                 last < 0 ? std::string() : StrCat(" behind ", last)));
    last = use->tensor();
    if (absl::Status status = common.verifyIndices(
            use->instructions(), step.instructions()->size(), "users");
        !status.ok())
      return prefixed(
          StrCat("tensor '", nameOf(plan.tensors()->Get(last)->name()), "'"),
          status);
  }
  if (absl::Status status = verifyTouched(); !status.ok())
    return status;
  return plan.steps()->size() > 1 ? verifyApart() : absl::OkStatus();
}

/// The program may use a tensor at any time while a step runs that does not use
/// the tensor. So no instruction of the step touches the tensor's bytes.
absl::Status StepVerifier::verifyApart() {
  std::vector<bool> isUsed(plan.tensors()->size());
  for (const fb::TensorUse *use : *step.uses())
    isUsed[use->tensor()] = lengthOf(use->instructions()) > 0;
  // The bytes of arenas that instructions touch: ends by beginning, each the
  // last one up to there.
  std::map<std::pair<int64_t, int64_t>, int64_t> touched;
  for (const fb::Instruction *op : *step.instructions())
    for (auto *list : {op->inputs(), op->outputs()})
      for (size_t i = 0; i < lengthOf(list); ++i)
        if (const VerifiedValue &value = common.values()[list->Get(i)];
            value.space < 0) {
          int64_t &end = touched[{value.space, value.offset}];
          end = std::max(end, value.end());
        }
  int64_t space = 0, last = 0;
  for (auto &[begin, end] : touched) {
    last = begin.first == space ? std::max(last, end) : end;
    space = begin.first;
    end = last;
  }
  for (uint32_t i = 0; i < isUsed.size(); ++i) {
    const VerifiedValue &tensor = common.tensors()[i];
    if (isUsed[i] || tensor.space >= 0 || tensor.maxBytes == 0)
      continue;
    auto behind = touched.lower_bound({tensor.space, tensor.end()});
    if (behind != touched.begin() &&
        std::prev(behind)->first.first == tensor.space &&
        std::prev(behind)->second > tensor.offset)
      return invalid(StrCat("tensor '", nameOf(plan.tensors()->Get(i)->name()),
                            "': expected no instruction to touch its bytes, "
                            "since the step does not use it, found one"));
  }
  return absl::OkStatus();
}

/// All instructions that name a tensor are among its users.
absl::Status StepVerifier::verifyTouched() {
  std::vector<std::pair<uint32_t, uint32_t>> listed;
  for (const fb::TensorUse *use : *step.uses())
    for (size_t i = 0; i < lengthOf(use->instructions()); ++i)
      listed.push_back({use->tensor(), use->instructions()->Get(i)});
  std::sort(listed.begin(), listed.end());
  for (uint32_t i = 0; i < step.instructions()->size(); ++i) {
    const fb::Instruction &instruction = *step.instructions()->Get(i);
    for (auto *list : {instruction.inputs(), instruction.outputs()})
      for (size_t j = 0; j < lengthOf(list); ++j) {
        int tensor = plan.values()->Get(list->Get(j))->tensor();
        if (tensor >= 0 &&
            !std::binary_search(listed.begin(), listed.end(),
                                std::pair<uint32_t, uint32_t>(tensor, i)))
          return invalid(StrCat("tensor '",
                                nameOf(plan.tensors()->Get(tensor)->name()),
                                "': expected instruction ", i,
                                ", which touches it, among users"));
      }
  }
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyCost(int64_t ns, int64_t &spent) {
  if (ns < 0 || ns > kMaxStepNs - spent)
    return invalid(StrCat("cost of ", ns, " ns: expected 0 to ", kMaxStepNs,
                          " ns in all"));
  spent += ns;
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyProgramOp(const fb::ProgramOp &op) {
  const size_t tensorCount = plan.tensors()->size();
  absl::Status status = verifyEnum(op.phase(), fb::ComputePhase::MAX, "phase");
  if (status.ok() && op.name()->size() > kMaxNameLength)
    status = invalid("the name is too long");
  if (status.ok())
    status = common.verifyIndices(op.waits(), tensorCount, "tensors");
  if (status.ok())
    status = common.verifyIndices(op.gives(), tensorCount, "tensors");
  if (status.ok())
    status = verifyCost(op.cost_ns(), programNs);
  if (status.ok() && op.late() && lengthOf(op.gives()) > 0)
    status = invalid("is late and gives tensors, which are of its own step");
  for (size_t j = 0; status.ok() && op.late() && j < lengthOf(op.waits()); ++j)
    if (!plan.tensors()->Get(op.waits()->Get(j))->given_by_program())
      status =
          invalid(StrCat("is late and waits for tensor ", op.waits()->Get(j),
                         ", which is not given by the program"));
  for (size_t j = 0; status.ok() && j < lengthOf(op.gives()); ++j)
    if (!plan.tensors()->Get(op.gives()->Get(j))->given_by_program())
      status = invalid(StrCat("gives tensor ", op.gives()->Get(j),
                              ", which is not given by the program"));
  return status;
}

absl::Status StepVerifier::verifyProgram() {
  if (isBefore && lengthOf(step.program()) > 0)
    return invalid("expected no program in a step that runs before an "
                   "iteration");
  for (size_t i = 0; i < lengthOf(step.program()); ++i)
    if (absl::Status status = verifyProgramOp(*step.program()->Get(i));
        !status.ok())
      return prefixed(StrCat("program op ", i), status);
  return absl::OkStatus();
}

std::vector<int64_t> StepVerifier::findGivers() const {
  std::vector<int64_t> givenBy(plan.tensors()->size(), kNever);
  for (size_t i = 0; i < lengthOf(step.program()); ++i)
    for (size_t j = 0; j < lengthOf(step.program()->Get(i)->gives()); ++j)
      givenBy[step.program()->Get(i)->gives()->Get(j)] =
          static_cast<int64_t>(i);
  return givenBy;
}

std::vector<int64_t>
StepVerifier::findAwaited(const std::vector<int64_t> &givenBy) const {
  std::vector<int64_t> awaits(step.instructions()->size(), kNever);
  // By stream: the last that its instructions so far have waited for.
  std::vector<int64_t> hasAwaited(plan.streams()->size(), kNever);
  for (size_t i = 0; i < awaits.size(); ++i) {
    const fb::Instruction &instruction = *step.instructions()->Get(i);
    int64_t &last = hasAwaited[instruction.stream()];
    for (size_t j = 0; j < lengthOf(instruction.ready()); ++j)
      last = std::max(last, givenBy[instruction.ready()->Get(j)]);
    for (size_t j = 0; j < lengthOf(instruction.after()); ++j)
      last = std::max(last, awaits[instruction.after()->Get(j)]);
    awaits[i] = last;
  }
  return awaits;
}

/// The program waits for what it takes back until all of the tensor's users are
/// done. None of these may wait for what it gives only then, be it by way of
/// others: the run would hang.
absl::Status
StepVerifier::verifyTakenBack(const std::vector<int64_t> &givenBy,
                              const std::vector<int64_t> &awaits) const {
  std::vector<std::pair<int64_t, uint32_t>> latestUser;
  latestUser.resize(plan.tensors()->size(), {kNever, 0});
  for (const fb::TensorUse *use : *step.uses())
    for (size_t j = 0; j < lengthOf(use->instructions()); ++j) {
      const uint32_t user = use->instructions()->Get(j);
      latestUser[use->tensor()] =
          std::max(latestUser[use->tensor()], {awaits[user], user});
    }
  for (size_t i = 0; i < lengthOf(step.program()); ++i) {
    const fb::ProgramOp &op = *step.program()->Get(i);
    auto now = static_cast<int64_t>(i);
    for (size_t j = 0; j < lengthOf(op.waits()); ++j) {
      uint32_t number = op.waits()->Get(j);
      if (op.late() && givenBy[number] != kNever && givenBy[number] < now)
        return invalid(StrCat("program op ", i,
                              " is late and takes back tensor '",
                              nameOf(plan.tensors()->Get(number)->name()),
                              "' of the step before, which op ",
                              givenBy[number], " has given anew"));
      if (op.late())
        continue;
      const fb::Tensor &tensor = *plan.tensors()->Get(number);
      // Else it waits for the step before.
      bool isOfThisStep =
          tensor.given_by_program()
              ? givenBy[number] != kNever && givenBy[number] < now
              : !isState(tensor.role());
      auto [awaited, user] = latestUser[number];
      if (isOfThisStep && awaited >= now)
        return invalid(StrCat("program op ", i, " takes back tensor '",
                              nameOf(tensor.name()), "', which instruction ",
                              user, " uses only when the program has run op ",
                              awaited));
    }
  }
  return absl::OkStatus();
}

bool StepVerifier::writes(const fb::Instruction &op, uint32_t tensor) const {
  const auto &values = common.values();
  return op.outputs() &&
         std::any_of(op.outputs()->begin(), op.outputs()->end(),
                     [&](uint32_t output) {
                       return values[output].overlaps(common.tensors()[tensor]);
                     });
}

/// The program reads state as the step found it. So whatever writes to the
/// state waits for the last op that reads it, by what that or a later op gives.
absl::Status
StepVerifier::verifyRead(const std::vector<int64_t> &awaits) const {
  std::vector<int64_t> lastReader(plan.tensors()->size(), kNever);
  for (size_t i = 0; i < lengthOf(step.program()); ++i) {
    const fb::ProgramOp &op = *step.program()->Get(i);
    for (size_t j = 0; j < lengthOf(op.waits()) && !op.late(); ++j) {
      const fb::Tensor &tensor = *plan.tensors()->Get(op.waits()->Get(j));
      if (isState(tensor.role()) && !tensor.given_by_program())
        lastReader[op.waits()->Get(j)] = static_cast<int64_t>(i);
    }
  }
  for (const fb::TensorUse *use : *step.uses())
    for (size_t j = 0; j < lengthOf(use->instructions()); ++j) {
      const uint32_t user = use->instructions()->Get(j);
      const int64_t reader = lastReader[use->tensor()];
      if (awaits[user] < reader &&
          writes(*step.instructions()->Get(user), use->tensor()))
        return invalid(
            StrCat("instruction ", user, " writes tensor '",
                   nameOf(plan.tensors()->Get(use->tensor())->name()),
                   "', which program op ", reader,
                   " reads: expected it to wait for a tensor that op ", reader,
                   " or a later one gives, found that it may run before"));
    }
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyWaits() const {
  const std::vector<int64_t> givenBy = findGivers();
  const std::vector<int64_t> awaits = findAwaited(givenBy);
  if (absl::Status status = verifyTakenBack(givenBy, awaits); !status.ok())
    return status;
  return verifyRead(awaits);
}

absl::Status StepVerifier::verify() {
  absl::Status status;
  if (step.strategy() && step.strategy()->size() > kMaxNameLength)
    status = invalid("the strategy's text is too long");
  if (status.ok())
    status = verifyPrediction();
  if (status.ok())
    status = verifyInstructions();
  if (status.ok())
    status = verifyUses();
  if (status.ok())
    status = verifyContract(common, plan, step);
  if (status.ok())
    status = verifyProgram();
  return status.ok() ? verifyWaits() : status;
}

absl::Status verifyStep(PlanVerifier &verifier, const fb::Plan &plan,
                        const fb::Step &step, bool runsBeforeIteration) {
  return StepVerifier(verifier, plan, step, runsBeforeIteration).verify();
}

} // namespace bagua::runtime
