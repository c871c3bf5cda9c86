//===- StepAgreement.cpp - What a step's collectives carry ----------------===//
//
// Two sides, for the steps that may be in flight: a program states facts of the
// next step while streams are still at this one.
//
//===----------------------------------------------------------------------===//
#include "Session/StepAgreement.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace bagua::runtime {

StepAgreement::StepAgreement(const Plan &loaded)
    : plan(loaded), stated(loaded.root().tensors()->size()) {
  for (std::vector<uint64_t> &side : given)
    side.resize(stated.size());
}

void StepAgreement::set(absl::string_view name, uint64_t value,
                        absl::string_view meaning) {
  std::lock_guard<std::mutex> lock(mutex);
  const size_t fact =
      std::find(names.begin(), names.end(), name) - names.begin();
  if (fact == names.size()) {
    names.emplace_back(name);
    current.push_back(value);
  }
  current[fact] = value;
  if (!meaning.empty())
    meanings[{fact, value}] = std::string(meaning);
  isAnyStated = true;
}

void StepAgreement::setTensor(uint32_t tensor, uint64_t value,
                              absl::string_view meaning) {
  stated[tensor] = value;
  isAnyStated = true;
  std::lock_guard<std::mutex> lock(mutex);
  meanings[{kTensors + tensor, value}] = std::string(meaning);
}

void StepAgreement::open(int64_t step) {
  Step &side = opened[sideOf(step)];
  side.isStated = isAnyStated;
  side.values.assign(current.begin(), current.end());
  side.share = 0;
  for (size_t fact = 0; fact < current.size(); ++fact)
    side.share += agreementShare(fact, current[fact]);
}

std::string StepAgreement::nameOf(size_t fact, int64_t step) const {
  const size_t facts = valuesOfStep(step).size();
  if (fact >= facts)
    return absl::StrCat("tensor '",
                        plan.root().tensors()->Get(fact - facts)->name()->str(),
                        "'");
  std::lock_guard<std::mutex> lock(mutex);
  return names[fact];
}

std::string StepAgreement::meaningOf(size_t fact, int64_t step) const {
  const std::vector<uint64_t> &values = valuesOfStep(step);
  const bool isTensor = fact >= values.size();
  const auto tensor = static_cast<uint32_t>(fact - values.size());
  const uint64_t value = isTensor ? valueOf(tensor, step) : values[fact];
  std::lock_guard<std::mutex> lock(mutex);
  auto known = meanings.find({isTensor ? kTensors + tensor : fact, value});
  return known == meanings.end() ? absl::StrCat(value) : known->second;
}

std::vector<uint64_t> CollectiveFacts::values() const {
  std::vector<uint64_t> values = agreement.valuesOfStep(step);
  const size_t facts = values.size();
  values.resize(facts + agreement.tensorCount());
  for (size_t i = 0; i <= place; ++i)
    for (uint32_t tensor : stream[i].carries)
      values[facts + tensor] = agreement.valueOf(tensor, step);
  return values;
}

} // namespace bagua::runtime
