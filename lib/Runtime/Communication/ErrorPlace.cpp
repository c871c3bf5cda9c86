//===- ErrorPlace.cpp - Where in a run an error happened ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A place is a payload of four numbers.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace bagua::runtime {
namespace {

constexpr char kType[] = "bagua.ErrorPlace";

} // namespace

std::optional<ErrorPlace> errorPlaceOf(const absl::Status &status) {
  auto payload = status.GetPayload(kType);
  if (!payload)
    return std::nullopt;
  ErrorPlace place;
  int64_t *fields[] = {&place.rank, &place.tensor, &place.instruction,
                       &place.step};
  std::vector<std::string> words = absl::StrSplit(std::string(*payload), ' ');
  for (size_t i = 0; i < std::size(fields) && i < words.size(); ++i)
    if (!absl::SimpleAtoi(words[i], fields[i]))
      return std::nullopt;
  return place;
}

absl::Status withPlace(absl::Status status, const ErrorPlace &place) {
  if (status.ok())
    return status;
  ErrorPlace known = errorPlaceOf(status).value_or(ErrorPlace());
  auto fill = [](int64_t &field, int64_t value) {
    field = field < 0 ? value : field;
  };
  fill(known.rank, place.rank);
  fill(known.tensor, place.tensor);
  fill(known.instruction, place.instruction);
  fill(known.step, place.step);
  if (std::max({known.rank, known.tensor, known.instruction, known.step}) < 0)
    return status;
  status.SetPayload(
      kType, absl::Cord(absl::StrCat(known.rank, " ", known.tensor, " ",
                                     known.instruction, " ", known.step)));
  return status;
}

} // namespace bagua::runtime
