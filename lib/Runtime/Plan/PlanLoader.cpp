//===- PlanLoader.cpp - Plans from and to bytes ---------------------------===//
//
// Two checks stand between a file and its use: FlatBuffers' own (every offset
// lies in the file) and PlanVerifier's (the fields mean something). Between
// them the fingerprint finds accidental damage.
//
//===----------------------------------------------------------------------===//
#include "Features.h"
#include "PlanVerifier.h"

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/Fingerprint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace bagua::runtime {
namespace {

/// FlatBuffers addresses with 31 bits.
constexpr size_t kMaxFileBytes = (size_t{1} << 31) - 1;

/// Where the fingerprint is stored; null if it is not.
uint8_t *fingerprintField(std::string &bytes) {
  auto *table = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
  return table->GetAddressOf(fb::Plan::VT_FINGERPRINT);
}

/// Of all bytes, the field's eight taken as zero. Leaves them zero.
uint64_t computeFingerprint(std::string &bytes, uint8_t *field) {
  std::memset(field, 0, sizeof(uint64_t));
  return fingerprintBytes(bytes.data(), bytes.size());
}

absl::Status verifyStructure(const std::string &bytes) {
  // A root offset, an identifier and a table's offset to its fields.
  if (bytes.size() < 12 || bytes.size() > kMaxFileBytes ||
      !fb::PlanBufferHasIdentifier(bytes.data()))
    return absl::InvalidArgumentError(
        "not a plan: the identifier 'BGUA' is missing");
  // A table takes at least four bytes, but may be shared.
  auto maxTables =
      static_cast<flatbuffers::uoffset_t>(std::max<size_t>(bytes.size(), 1000));
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(),
      /*max_depth=*/16, maxTables);
  if (!fb::VerifyPlanBuffer(verifier))
    return absl::InvalidArgumentError(absl::StrCat(
        "damaged plan: offsets do not lie in its ", bytes.size(), " bytes"));
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::shared_ptr<const Plan>> Plan::fromBytes(std::string bytes) {
  if (absl::Status status = verifyStructure(bytes); !status.ok())
    return status;
  const fb::Plan *root = fb::GetPlan(bytes.data());
  if (root->version() != kPlanVersion)
    return absl::InvalidArgumentError(absl::StrCat(
        "plan of version ", root->version(), ".", root->minor_version(),
        ", this runtime reads version ", kPlanVersion));

  uint8_t *field = fingerprintField(bytes);
  if (!field)
    return absl::InvalidArgumentError("plan without a fingerprint");
  uint64_t found = root->fingerprint();
  uint64_t expected = computeFingerprint(bytes, field);
  flatbuffers::WriteScalar(field, found);
  if (found != expected)
    return absl::InvalidArgumentError(
        absl::StrFormat("damaged plan: expected fingerprint %016x, found %016x",
                        expected, found));

  if (absl::Status status = verifyFeatures(*root); !status.ok())
    return status;
  absl::StatusOr<PlanCluster> cluster = verifyPlan(*root, bytes.size());
  if (!cluster.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("invalid plan: ", cluster.status().message()));
  // A short string would move when the Plan is made, and the root with it;
  // plans are longer, but nothing depends on it.
  auto plan = std::shared_ptr<Plan>(
      new Plan(std::move(bytes), nullptr, *std::move(cluster)));
  plan->plan = fb::GetPlan(plan->bytes.data());
  return std::shared_ptr<const Plan>(std::move(plan));
}

absl::StatusOr<std::shared_ptr<const Plan>>
Plan::fromFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  if (!file || !(contents << file.rdbuf()))
    return absl::NotFoundError(absl::StrCat(
        "can't read plan '", path,
        "': ", errno ? std::strerror(errno) : "the file is empty"));
  absl::StatusOr<std::shared_ptr<const Plan>> plan =
      fromBytes(std::move(contents).str());
  if (!plan.ok())
    return absl::Status(plan.status().code(),
                        absl::StrCat(path, ": ", plan.status().message()));
  return plan;
}

uint64_t Plan::fingerprint() const { return plan->fingerprint(); }

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
