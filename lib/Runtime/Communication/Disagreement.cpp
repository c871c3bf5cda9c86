//===- Disagreement.cpp - Names a fact in which members differ ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every member sees the same values, so all choose the same fact and the same
// two members, whose texts the others then receive.
//
//===----------------------------------------------------------------------===//
#include "Communication/Disagreement.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace bagua::runtime {
namespace {

constexpr char kType[] = "bagua.Disagreement";

/// Gathers each member's `own`; all have the same number of values.
absl::StatusOr<std::vector<uint64_t>>
gatherNumbers(Communicator &communicator, const std::vector<uint64_t> &own) {
  std::vector<int> owners(communicator.size());
  std::iota(owners.begin(), owners.end(), 0);
  std::vector<uint64_t> all(own.size() * owners.size());
  absl::Status status = communicator.gatherFromOwners(
      own.data(), all.data(), static_cast<int64_t>(all.size()), DataType::Int64,
      communicator.size(), owners);
  if (!status.ok())
    return status;
  return all;
}

absl::StatusOr<std::string> receiveText(Communicator &communicator, int from,
                                        const std::string &own,
                                        uint64_t bytes) {
  std::string text(bytes, '\0');
  absl::Status status = communicator.gatherFromOwners(
      communicator.rank() == from ? own.data() : nullptr, &text[0],
      static_cast<int64_t>(bytes), DataType::Int8, communicator.size(), {from});
  if (!status.ok())
    return status;
  return text;
}

/// "3 on ranks 0, 2".
std::string describeHolders(absl::string_view what,
                            const std::vector<int> &ranks) {
  constexpr size_t kShown = 8;
  const size_t shown = std::min(ranks.size(), kShown);
  std::string text =
      absl::StrCat(what, ranks.size() == 1 ? " on rank " : " on ranks ",
                   absl::StrJoin(ranks.begin(), ranks.begin() + shown, ", "));
  if (ranks.size() > shown)
    absl::StrAppend(&text, " and ", ranks.size() - shown, " more");
  return text;
}

/// The first line in which two texts differ, from each.
std::pair<std::string, std::string> firstDifference(const std::string &one,
                                                    const std::string &other) {
  std::vector<std::string> ones = absl::StrSplit(one, '\n');
  std::vector<std::string> others = absl::StrSplit(other, '\n');
  const size_t most = std::max(ones.size(), others.size());
  ones.resize(most, "nothing more");
  others.resize(most, "nothing more");
  for (size_t line = 0; line < most; ++line)
    if (ones[line] != others[line])
      return {ones[line], others[line]};
  return {ones[0], others[0]};
}

} // namespace

void markDisagreement(absl::Status &status) {
  status.SetPayload(kType, absl::Cord("1"));
}

bool isDisagreement(const absl::Status &status) {
  return status.GetPayload(kType).has_value();
}

absl::StatusOr<std::string>
describeDisagreement(Communicator &communicator,
                     absl::Span<const int> worldRanks,
                     const AgreedFacts &facts) {
  const std::vector<uint64_t> own = facts.values();
  auto counts = gatherNumbers(communicator, {own.size(), facts.carried()});
  if (!counts.ok())
    return counts.status();
  size_t carried = own.size();
  for (size_t member = 0; member < worldRanks.size(); ++member) {
    if ((*counts)[2 * member] != (*counts)[0])
      return absl::StrCat("ranks state different facts: ", (*counts)[0],
                          " on rank ", worldRanks[0], "; ",
                          (*counts)[2 * member], " on rank ",
                          worldRanks[member]);
    carried = std::min<size_t>(carried, (*counts)[2 * member + 1]);
  }
  auto values = gatherNumbers(communicator, own);
  if (!values.ok())
    return values.status();
  auto valueOf = [&](size_t member, size_t fact) {
    return (*values)[member * own.size() + fact];
  };
  for (size_t fact = 0; fact < carried; ++fact) {
    // The holders of the first member's value, and those of the next different
    // value.
    std::vector<int> holders[2];
    size_t second = 0;
    for (size_t member = 0; member < worldRanks.size(); ++member) {
      if (valueOf(member, fact) == valueOf(0, fact)) {
        holders[0].push_back(worldRanks[member]);
        continue;
      }
      second = second ? second : member;
      if (valueOf(member, fact) == valueOf(second, fact))
        holders[1].push_back(worldRanks[member]);
    }
    if (!second)
      continue;
    const std::string meaning = facts.meaningOf(fact);
    auto sizes = gatherNumbers(communicator, {meaning.size()});
    if (!sizes.ok())
      return sizes.status();
    std::string texts[2];
    for (int side : {0, 1}) {
      const size_t from = side ? second : 0;
      auto text = receiveText(communicator, static_cast<int>(from), meaning,
                              (*sizes)[from]);
      if (!text.ok())
        return text.status();
      texts[side] = *std::move(text);
    }
    auto [one, other] = firstDifference(texts[0], texts[1]);
    return absl::StrCat("ranks differ in ", facts.nameOf(fact), ": ",
                        describeHolders(one, holders[0]), "; ",
                        describeHolders(other, holders[1]));
  }
  return carried < own.size() ? ""
                              : "ranks differ in facts that have changed since";
}

} // namespace bagua::runtime
