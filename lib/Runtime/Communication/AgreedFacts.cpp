//===- AgreedFacts.cpp - Facts that ranks must have alike -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts are a list of named numbers.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Agreement.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace bagua::runtime {

void Agreement::set(absl::string_view name, uint64_t value,
                    absl::string_view meaning) {
  const size_t fact =
      std::find(names.begin(), names.end(), name) - names.begin();
  if (fact == names.size()) {
    names.emplace_back(name);
    numbers.push_back(value);
  }
  numbers[fact] = value;
  if (!meaning.empty())
    meanings[{fact, value}] = std::string(meaning);
}

uint64_t Agreement::word() const {
  if (numbers.empty())
    return 0;
  uint64_t sum = 0;
  for (size_t fact = 0; fact < numbers.size(); ++fact)
    sum += agreementShare(fact, numbers[fact]);
  return agreementWord(sum);
}

std::string Agreement::meaningOf(size_t fact, uint64_t value) const {
  auto known = meanings.find({fact, value});
  return known == meanings.end() ? absl::StrCat(value) : known->second;
}

} // namespace bagua::runtime
