//===- PlanBytes.h - Files of plans, for tests ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The error of loading some bytes, and bytes that another writer may have made.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_PLANBYTES_H
#define BAGUA_UNITTESTS_RUNTIME_PLANBYTES_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/Fingerprint.h"

#include <cstring>
#include <string>
#include <utility>

namespace bagua::runtime::test {

/// Has a place for a fingerprint, and may hold anything else.
struct Stamped : flatbuffers::Table {
  bool Verify(flatbuffers::Verifier &verifier) const {
    return VerifyTableStart(verifier) &&
           VerifyField<uint64_t>(verifier, fb::Plan::VT_FINGERPRINT,
                                 sizeof(uint64_t)) &&
           verifier.EndTable();
  }
};

/// As if a program of its own had written the bytes, whatever else they hold;
/// nothing where they have no place for a fingerprint.
inline void repairFingerprint(std::string &bytes) {
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  if (!verifier.VerifyBuffer<Stamped>(fb::PlanIdentifier()))
    return;
  auto *table = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
  uint8_t *field = table->GetAddressOf(fb::Plan::VT_FINGERPRINT);
  if (!field)
    return;
  std::memset(field, 0, sizeof(uint64_t));
  flatbuffers::WriteScalar(field, fingerprintBytes(bytes.data(), bytes.size()));
}

inline std::string loadError(std::string bytes) {
  auto plan = Plan::fromBytes(std::move(bytes));
  return plan.ok() ? "loaded" : std::string(plan.status().message());
}

} // namespace bagua::runtime::test

#endif // BAGUA_UNITTESTS_RUNTIME_PLANBYTES_H
