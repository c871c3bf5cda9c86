//===- PlanLoader.cpp - Plans from and to bytes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The version comes first, since another one's fields are not this schema's,
// then the fingerprint, which finds accidental damage. Two checks of what is
// there stand between that and its use: FlatBuffers' own (every offset lies in
// the file) and PlanVerifier's (the fields mean something).
//
//===----------------------------------------------------------------------===//
#include "Features.h"
#include "Files/ReadFile.h"
#include "PlanVerifier.h"

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/Fingerprint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bagua::runtime {
namespace {

/// FlatBuffers addresses with 31 bits.
constexpr size_t kMaxFileBytes = (size_t{1} << 31) - 1;

/// Where the fingerprint is stored; null if it is not.
uint8_t *fingerprintField(std::string &bytes) {
  auto *table = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
  return table->GetAddressOf(fb::Plan::VT_FINGERPRINT);
}

/// The fingerprint of all bytes, with the field's eight taken as zero. Leaves
/// these eight zero.
uint64_t computeFingerprint(std::string &bytes, uint8_t *field) {
  std::memset(field, 0, sizeof(uint64_t));
  return fingerprintBytes(bytes.data(), bytes.size());
}

flatbuffers::Verifier makeVerifier(const std::string &bytes) {
  // A table takes at least four bytes, but may be shared.
  auto maxTables =
      static_cast<flatbuffers::uoffset_t>(std::max<size_t>(bytes.size(), 1000));
  return {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(),
          /*max_depth=*/16, maxTables};
}

/// The fields that plans of all versions share.
struct AnyPlan : flatbuffers::Table {
  bool Verify(flatbuffers::Verifier &verifier) const {
    return VerifyTableStart(verifier) &&
           VerifyField<uint32_t>(verifier, fb::Plan::VT_VERSION,
                                 sizeof(uint32_t)) &&
           VerifyField<uint32_t>(verifier, fb::Plan::VT_MINOR_VERSION,
                                 sizeof(uint32_t)) &&
           verifier.EndTable();
  }
};

/// The one field that is read before the rest is verified.
struct SealedPlan : flatbuffers::Table {
  bool Verify(flatbuffers::Verifier &verifier) const {
    return VerifyTableStart(verifier) &&
           VerifyField<uint64_t>(verifier, fb::Plan::VT_FINGERPRINT,
                                 sizeof(uint64_t)) &&
           verifier.EndTable();
  }
};

absl::Status verifyVersion(const std::string &bytes) {
  // A root offset, an identifier and a table's offset to its fields.
  if (bytes.size() < 12 || !fb::PlanBufferHasIdentifier(bytes.data()))
    return absl::InvalidArgumentError(
        "not a plan: the identifier 'BGUA' is missing");
  if (bytes.size() > kMaxFileBytes)
    return absl::InvalidArgumentError(
        absl::StrCat("expected a plan of at most ", kMaxFileBytes,
                     " bytes, found ", bytes.size()));
  if (!makeVerifier(bytes).VerifyBuffer<AnyPlan>(fb::PlanIdentifier()))
    return absl::InvalidArgumentError(
        absl::StrCat("damaged plan: its version does not lie in its ",
                     bytes.size(), " bytes"));
  const fb::Plan *root = fb::GetPlan(bytes.data());
  if (root->version() != kPlanVersion)
    return absl::InvalidArgumentError(absl::StrCat(
        "plan of version ", root->version(), ".", root->minor_version(),
        ", this runtime reads version ", kPlanVersion,
        root->version() < kPlanVersion
            ? ": bagua-translate --export-plan writes the plan anew"
            : ""));
  return absl::OkStatus();
}

absl::Status verifyFingerprint(std::string &bytes) {
  if (!makeVerifier(bytes).VerifyBuffer<SealedPlan>(fb::PlanIdentifier()))
    return absl::InvalidArgumentError(
        absl::StrCat("damaged plan: its fingerprint does not lie in its ",
                     bytes.size(), " bytes"));
  uint8_t *field = fingerprintField(bytes);
  if (!field)
    return absl::InvalidArgumentError("plan without a fingerprint");
  const uint64_t found = fb::GetPlan(bytes.data())->fingerprint();
  const uint64_t expected = computeFingerprint(bytes, field);
  flatbuffers::WriteScalar(field, found);
  return found == expected ? absl::OkStatus()
                           : absl::InvalidArgumentError(absl::StrFormat(
                                 "damaged plan: expected fingerprint %016x, "
                                 "found %016x",
                                 expected, found));
}

/// FlatBuffers doesn't say which field it is.
absl::Status verifyStructure(const std::string &bytes) {
  flatbuffers::Verifier verifier = makeVerifier(bytes);
  if (fb::VerifyPlanBuffer(verifier))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "invalid plan: a field that version ", kPlanVersion,
      " requires is missing, or does not lie in its ", bytes.size(), " bytes"));
}

} // namespace

absl::StatusOr<std::shared_ptr<const Plan>> Plan::fromBytes(std::string bytes) {
  absl::Status status = verifyVersion(bytes);
  if (status.ok())
    status = verifyFingerprint(bytes);
  if (status.ok())
    status = verifyStructure(bytes);
  if (!status.ok())
    return status;
  const fb::Plan *root = fb::GetPlan(bytes.data());
  if (status = verifyFeatures(*root); !status.ok())
    return status;
  absl::StatusOr<PlanCluster> cluster = verifyPlan(*root, bytes.size());
  if (!cluster.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("invalid plan: ", cluster.status().message()));
  return std::shared_ptr<const Plan>(
      new Plan(std::move(bytes), *std::move(cluster)));
}

// The root lies in the plan's own copy of the bytes.
Plan::Plan(std::string fileBytes, PlanCluster cluster)
    : bytes(std::move(fileBytes)), plan(fb::GetPlan(bytes.data())),
      shape(std::move(cluster)) {
  for (const fb::Step *step : *plan->steps()) {
    firsts.push_back(instructionCount());
    instructions.insert(instructions.end(), step->instructions()->begin(),
                        step->instructions()->end());
  }
}

uint32_t Plan::stepOfInstruction(uint32_t number) const {
  return static_cast<uint32_t>(
             std::upper_bound(firsts.begin(), firsts.end(), number) -
             firsts.begin()) -
         1;
}

absl::StatusOr<std::shared_ptr<const Plan>>
Plan::fromFile(const std::string &path) {
  absl::StatusOr<std::string> contents = readFile(path, kMaxFileBytes);
  if (!contents.ok())
    return absl::Status(contents.status().code(),
                        absl::StrCat("can't read plan '", path,
                                     "': ", contents.status().message()));
  absl::StatusOr<std::shared_ptr<const Plan>> plan =
      fromBytes(*std::move(contents));
  if (!plan.ok())
    return absl::Status(plan.status().code(),
                        absl::StrCat(path, ": ", plan.status().message()));
  return plan;
}

uint64_t Plan::fingerprint() const { return plan->fingerprint(); }

bool Plan::hasLateUpdates() const {
  auto isLate = [](const fb::Step *step) {
    return step->program() &&
           std::any_of(step->program()->begin(), step->program()->end(),
                       [](const fb::ProgramOp *op) { return op->late(); });
  };
  return std::any_of(plan->steps()->begin(), plan->steps()->end(), isLate);
}

std::string writePlan(fb::PlanT &plan) {
  plan.features = featuresOf(plan);
  flatbuffers::FlatBufferBuilder builder;
  // Version and fingerprint are stored even where they are zero.
  builder.ForceDefaults(true);
  fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, &plan));
  std::string bytes(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                    builder.GetSize());
  uint8_t *field = fingerprintField(bytes);
  flatbuffers::WriteScalar(field, computeFingerprint(bytes, field));
  return bytes;
}

} // namespace bagua::runtime
