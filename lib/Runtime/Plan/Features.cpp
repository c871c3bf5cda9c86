//===- Features.cpp - What a plan needs of its runtime --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opcodes, and encodings of values. A field or another enum's value that a
// later version adds gets a name here, where a runtime that doesn't know it
// would go wrong.
//
//===----------------------------------------------------------------------===//
#include "Features.h"

#include "Opcodes.h"

#include "bagua/Runtime/Plan.h"
#include "bagua/Support/Encodings.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <set>

namespace bagua::runtime {

std::string snakeCase(absl::string_view name) {
  std::string text;
  for (char c : name) {
    if (absl::ascii_isupper(c) && !text.empty())
      text += '_';
    text += absl::ascii_tolower(c);
  }
  return text;
}

static std::string featureOf(fb::Opcode opcode) {
  return snakeCase(fb::EnumNameOpcode(opcode));
}

static absl::Status requireListed(const std::set<std::string> &listed,
                                  fb::Opcode opcode) {
  if (opcode > fb::Opcode::MAX)
    return absl::InvalidArgumentError(
        absl::StrCat("invalid plan: opcode ", static_cast<int>(opcode),
                     " is unknown, and its features don't name it"));
  if (listed.count(featureOf(opcode)) == 0)
    return absl::InvalidArgumentError(
        absl::StrCat("invalid plan: it uses '", featureOf(opcode),
                     "', which is not among its features"));
  return absl::OkStatus();
}

/// The feature of updates without an opcode of their own.
static std::string featureOf(const UpdateRow &row) {
  return absl::StrCat("update.",
                      absl::string_view(row.word.data(), row.word.size()));
}

/// An instruction's opcode or that of an update in a contract, and its rule.
template <typename T>
static absl::Status requireListed(const std::set<std::string> &listed,
                                  const T &op) {
  absl::Status status = requireListed(listed, op.opcode());
  const UpdateRow *row = status.ok() ? updateOf(op) : nullptr;
  if (row && !row->hasOwnOp() && listed.count(featureOf(*row)) == 0)
    return absl::InvalidArgumentError(
        absl::StrCat("invalid plan: it uses '", featureOf(*row),
                     "', which is not among its features"));
  return status;
}

static absl::Status requireOpcodes(const std::set<std::string> &listed,
                                   const fb::Step &step) {
  for (const fb::Instruction *instruction : *step.instructions())
    if (absl::Status status = requireListed(listed, *instruction); !status.ok())
      return status;
  for (const fb::Relation *relation : *step.contract())
    if (relation->update())
      if (absl::Status status = requireListed(listed, *relation->update());
          !status.ok())
        return status;
  return absl::OkStatus();
}

/// The feature of values in the form of an encoding that is no cast.
static std::string featureOf(const EncodingRow &row) {
  return absl::StrCat("encoding.",
                      absl::string_view(row.word.data(), row.word.size()));
}

static absl::Status requireListed(const std::set<std::string> &listed,
                                  const fb::ValueEncoding &encoding) {
  const EncodingRow *row = findEncoding(static_cast<EncodingId>(encoding.id()));
  if (!row)
    return absl::InvalidArgumentError(
        absl::StrCat("invalid plan: encoding ", static_cast<int>(encoding.id()),
                     " is unknown, and its features don't name it"));
  if (listed.count(featureOf(*row)) == 0)
    return absl::InvalidArgumentError(
        absl::StrCat("invalid plan: it uses '", featureOf(*row),
                     "', which is not among its features"));
  return absl::OkStatus();
}

/// The features that this runtime can run: an encoding that it doesn't offer is
/// unknown.
static std::set<std::string> knownFeatures() {
  std::set<std::string> known;
  for (fb::Opcode opcode : fb::EnumValuesOpcode())
    known.insert(featureOf(opcode));
  for (const UpdateRow &row : getUpdateRules())
    if (!row.hasOwnOp())
      known.insert(featureOf(row));
  for (const EncodingRow &row : getEncodings())
    if (row.isOffered && !row.castTo)
      known.insert(featureOf(row));
  return known;
}

std::vector<std::string> featuresOf(const fb::PlanT &plan) {
  std::set<std::string> features;
  auto add = [&](fb::Opcode opcode, uint8_t rule) {
    if (opcode > fb::Opcode::MAX)
      return;
    features.insert(featureOf(opcode));
    const UpdateRow *row = updateOf(opcode, rule);
    if (row && !row->hasOwnOp())
      features.insert(featureOf(*row));
  };
  for (const auto &step : plan.steps) {
    for (const auto &instruction : step->instructions)
      add(instruction->opcode, instruction->rule);
    for (const auto &relation : step->contract)
      if (relation->update)
        add(relation->update->opcode, relation->update->rule);
  }
  for (const auto &value : plan.values)
    if (value->encoding)
      if (const EncodingRow *row =
              findEncoding(static_cast<EncodingId>(value->encoding->id)))
        features.insert(featureOf(*row));
  return {features.begin(), features.end()};
}

absl::Status verifyFeatures(const fb::Plan &plan) {
  const std::set<std::string> known = knownFeatures();
  std::set<std::string> listed;
  for (const flatbuffers::String *feature : *plan.features()) {
    if (known.count(feature->str()) == 0)
      return absl::InvalidArgumentError(absl::StrCat(
          "the plan needs '", feature->str(), "', which this runtime (plan ",
          kPlanVersion, ".", kPlanMinorVersion,
          ") doesn't know; the plan is of version ", plan.version(), ".",
          plan.minor_version()));
    listed.insert(feature->str());
  }
  for (const fb::Value *value : *plan.values())
    if (value->encoding())
      if (absl::Status status = requireListed(listed, *value->encoding());
          !status.ok())
        return status;
  for (const fb::Step *step : *plan.steps())
    if (absl::Status status = requireOpcodes(listed, *step); !status.ok())
      return status;
  return absl::OkStatus();
}

} // namespace bagua::runtime
