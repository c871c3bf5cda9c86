//===- StepAgreement.cpp - The facts that a step's collectives carry ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// There are two sides, for the two steps that may be in flight: a program
// states facts of the next step while streams still run this one.
//
//===----------------------------------------------------------------------===//
#include "Session/StepAgreement.h"

#include "absl/strings/str_cat.h"

namespace bagua::runtime {

StepAgreement::StepAgreement(const Plan &loaded)
    : plan(loaded), stated(loaded.root().tensors()->size()) {
  for (std::vector<uint64_t> &side : given)
    side.resize(stated.size());
}

void StepAgreement::set(absl::string_view name, uint64_t value,
                        absl::string_view meaning) {
  std::lock_guard<std::mutex> lock(mutex);
  facts.set(name, value, meaning);
  isAnyStated = true;
}

void StepAgreement::setTensor(uint32_t tensor, uint64_t value,
                              absl::string_view meaning) {
  stated[tensor] = value;
  isAnyStated = true;
  std::lock_guard<std::mutex> lock(mutex);
  meanings[{tensor, value}] = std::string(meaning);
}

void StepAgreement::open(int64_t step) {
  StepFacts &side = opened[sideOf(step)];
  side.isStated = isAnyStated;
  side.values = facts.values();
  side.share = 0;
  for (size_t fact = 0; fact < side.values.size(); ++fact)
    side.share += agreementShare(fact, side.values[fact]);
}

std::string StepAgreement::nameOf(size_t fact, int64_t step) const {
  const size_t count = valuesOfStep(step).size();
  if (fact >= count)
    return absl::StrCat("tensor '",
                        plan.root().tensors()->Get(fact - count)->name()->str(),
                        "'");
  std::lock_guard<std::mutex> lock(mutex);
  return facts.nameOf(fact);
}

std::string StepAgreement::meaningOf(size_t fact, int64_t step) const {
  const std::vector<uint64_t> &values = valuesOfStep(step);
  std::lock_guard<std::mutex> lock(mutex);
  if (fact < values.size())
    return facts.meaningOf(fact, values[fact]);
  const auto tensor = static_cast<uint32_t>(fact - values.size());
  const uint64_t value = valueOf(tensor, step);
  auto known = meanings.find({tensor, value});
  return known == meanings.end() ? absl::StrCat(value) : known->second;
}

std::vector<uint64_t> CollectiveFacts::values() const {
  std::vector<uint64_t> values = agreement.valuesOfStep(step);
  const size_t count = values.size();
  values.resize(count + agreement.tensorCount());
  for (const ScheduledInstruction &carrier : carriers)
    for (uint32_t tensor : carrier.carries)
      values[count + tensor] = agreement.valueOf(tensor, step);
  return values;
}

} // namespace bagua::runtime
