//===- ExecutorMessages.cpp - What an executor says of its plan -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Session/ExecutorMessages.h"

#include "Communication/StatusCopy.h"

#include "bagua/Runtime/PlanGenerated.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bagua::runtime {

bool beginsWithRank(absl::string_view message) {
  if (!absl::ConsumePrefix(&message, "rank "))
    return false;
  size_t digits = 0;
  while (digits < message.size() && absl::ascii_isdigit(message[digits]))
    ++digits;
  return digits > 0 && absl::StartsWith(message.substr(digits), ":");
}

/// The tensors by which a reader knows the instruction.
static std::vector<uint32_t> findTouched(const Plan &plan,
                                         uint32_t instruction) {
  const uint32_t step = plan.stepOfInstruction(instruction);
  const uint32_t number = instruction - plan.firstInstructionOf(step);
  std::vector<uint32_t> touched;
  for (const fb::TensorUse *use : *plan.root().steps()->Get(step)->uses())
    if (auto *users = use->instructions();
        users &&
        std::find(users->begin(), users->end(), number) != users->end())
      touched.push_back(use->tensor());
  return touched;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::string ExecutorMessages::tensor(uint32_t tensor) const {
  return absl::StrCat("'", plan.root().tensors()->Get(tensor)->name()->str(),
                      "'");
}

std::string ExecutorMessages::stream(uint32_t stream) const {
  return absl::StrCat("stream '", plan.root().streams()->Get(stream)->str(),
                      "'");
}

std::string ExecutorMessages::instruction(uint32_t instruction) const {
  const fb::Instruction &op = plan.instruction(instruction);
  std::string text = absl::StrCat(
      "instruction ", instruction, " '", op.name()->str(), "' (",
      fb::EnumNameOpcode(op.opcode()), ") on ", stream(op.stream()));
  std::vector<std::string> names;
  for (uint32_t touched : findTouched(plan, instruction))
    names.push_back(tensor(touched));
  constexpr size_t kShown = 4;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    absl::StrAppend(&text, i ? ", " : " (touches ", names[i]);
  if (names.size() > kShown)
    absl::StrAppend(&text, " and ", names.size() - kShown, " more");
  if (!names.empty())
    text += ")";
  return text;
}

std::string ExecutorMessages::call(uint32_t number, int64_t step) const {
  return absl::StrCat(instruction(number), " in step ", step);
}

std::string ExecutorMessages::barrier(int64_t step) {
  return absl::StrCat("barrier before step ", step);
}

std::string ExecutorMessages::waits(int64_t ungiven, int64_t other) const {
  if (ungiven < 0)
    return absl::StrCat("waits for ", stream(static_cast<uint32_t>(other)));
  return absl::StrCat("waits for tensor ",
                      tensor(static_cast<uint32_t>(ungiven)),
                      ", which the program has not given");
}

std::string ExecutorMessages::awaited(int64_t number) const {
  if (number < 0)
    return "the end of a step";
  return absl::StrCat("tensor ", tensor(static_cast<uint32_t>(number)));
}

std::string ExecutorMessages::ofRank(absl::string_view text) const {
  return absl::StrCat("rank ", rank, ": ", text);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

ErrorPlace ExecutorMessages::placeOf(uint32_t instruction, int64_t step) const {
  ErrorPlace place;
  place.rank = rank;
  place.instruction = instruction;
  place.step = step;
  if (auto touched = findTouched(plan, instruction); !touched.empty())
    place.tensor = touched.front();
  return place;
}

absl::Status ExecutorMessages::giftFailed(uint32_t number, uint32_t ungiven,
                                          int64_t step) const {
  return withPlace(
      absl::InternalError(ofRank(absl::StrCat(
          instruction(number), ": the program's work before tensor ",
          tensor(ungiven), " has failed, in step ", step))),
      {rank, ungiven, number, step});
}

absl::Status ExecutorMessages::waitCannotEnd(int64_t waitedFor, uint32_t number,
                                             uint32_t ungiven,
                                             int64_t step) const {
  return withPlace(
      absl::FailedPreconditionError(ofRank(absl::StrCat(
          "wait for ", awaited(waitedFor), " can't end: ", instruction(number),
          " ", waits(ungiven, -1), " in step ", step))),
      {rank, ungiven, number, step});
}

absl::Status ExecutorMessages::callFailed(const absl::Status &why,
                                          uint32_t number, int64_t step) const {
  std::string text(why.message());
  if (std::string own = call(number, step); !absl::StrContains(text, own))
    text = absl::StrCat(own, ": ", text);
  return withPlace(withMessage(why, ofRank(text)), placeOf(number, step));
}

absl::Status ExecutorMessages::barrierFailed(const absl::Status &why,
                                             int64_t step) const {
  return withPlace(withMessage(why, ofRank(absl::StrCat(barrier(step), ": ",
                                                        why.message()))),
                   {rank, -1, -1, step});
}

absl::Status
ExecutorMessages::runFailed(const absl::Status &why,
                            const std::optional<CurrentCall> &current) const {
  absl::Status shown = why;
  if (!beginsWithRank(why.message())) {
    std::string doing;
    if (current)
      doing = absl::StrCat(current->hasBegun ? "" : "before ",
                           call(current->instruction, current->step), ": ");
    shown = withMessage(why, ofRank(absl::StrCat(doing, why.message())));
  }
  return withPlace(std::move(shown),
                   current ? placeOf(current->instruction, current->step)
                           : ErrorPlace{rank});
}

absl::Status ExecutorMessages::startFailed(uint32_t number,
                                           absl::string_view what,
                                           absl::string_view why) const {
  return absl::ResourceExhaustedError(
      ofRank(absl::StrCat("no ", what, " for ", stream(number), ": ", why)));
}

} // namespace bagua::runtime
