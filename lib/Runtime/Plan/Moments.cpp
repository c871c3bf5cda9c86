//===- Moments.cpp - The moments that updates keep ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each moment leads to the updates that have it.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Moments.h"

#include "FieldChecks.h"
#include "Plan/Opcodes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <string>
#include <utility>

namespace bagua::runtime {

/// Whether an update reads its learning rate from the tensor, which may be an
/// optimizer's state, too.
static bool isRateOf(const fb::Plan &plan, const fb::Instruction &update,
                     uint32_t tensor) {
  const flatbuffers::Vector<uint32_t> *inputs = update.inputs();
  if (update.has_learning_rate() || !inputs || inputs->size() == 0)
    return false;
  const fb::Value *rate = plan.values()->Get(inputs->Get(inputs->size() - 1));
  return rate->tensor() == static_cast<int64_t>(tensor);
}

std::vector<std::vector<uint32_t>> findMoments(const fb::Plan &plan,
                                               const fb::Step &step) {
  std::vector<std::vector<uint32_t>> moments(step.instructions()->size());
  for (const fb::TensorUse *use : *step.uses()) {
    if (plan.tensors()->Get(use->tensor())->role() != fb::Role::Optimizer ||
        !use->instructions())
      continue;
    for (uint32_t user : *use->instructions()) {
      const fb::Instruction &op = *step.instructions()->Get(user);
      const InstructionKind kind = kindOf(op.opcode());
      if (kind == InstructionKind::Update && isRateOf(plan, op, use->tensor()))
        continue;
      std::vector<uint32_t> &list = moments[user];
      if ((kind == InstructionKind::Update ||
           kind == InstructionKind::Direction) &&
          (list.empty() || list.back() != use->tensor()))
        list.push_back(use->tensor());
    }
  }
  return moments;
}

namespace {

struct Keeper {
  const fb::Step *step = nullptr;
  const fb::Instruction *update = nullptr;
  std::vector<uint32_t> moments;

  bool isCorrected() const {
    return update->bias_correction() != fb::BiasCorrection::None;
  }
};

std::string describe(const fb::Plan &plan, const Keeper &keeper) {
  auto name = [&](std::string *out, uint32_t tensor) {
    absl::StrAppend(out, "'", nameOf(plan.tensors()->Get(tensor)->name()), "'");
  };
  return absl::StrCat("'", nameOf(keeper.update->name()), "' of step '",
                      nameOf(keeper.step->name()), "' keeps ",
                      absl::StrJoin(keeper.moments, ", ", name));
}

} // namespace

absl::Status verifyMoments(const fb::Plan &plan) {
  // By tensor: an update for each list of moments that has it, and whether any
  // update that has it is corrected.
  std::vector<std::vector<Keeper>> keepers(plan.tensors()->size());
  std::vector<bool> isCorrected(keepers.size(), false);
  for (const fb::Step *step : *plan.steps()) {
    auto moments = findMoments(plan, *step);
    for (uint32_t i = 0; i < moments.size(); ++i) {
      const Keeper own = {step, step->instructions()->Get(i),
                          std::move(moments[i])};
      for (uint32_t tensor : own.moments) {
        std::vector<Keeper> &known = keepers[tensor];
        isCorrected[tensor] = isCorrected[tensor] || own.isCorrected();
        if (std::none_of(known.begin(), known.end(), [&](const Keeper &other) {
              return other.moments == own.moments;
            }))
          known.push_back(own);
        if (known.size() > 1 && isCorrected[tensor])
          return invalid(absl::StrCat(
              describe(plan, known[1]), ", and ", describe(plan, known[0]),
              ": expected updates with a bias correction to have the same "
              "moments or none in common, since it counts their updates"));
      }
    }
  }
  return absl::OkStatus();
}

} // namespace bagua::runtime
