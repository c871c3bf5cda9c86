//===- MembersName.h - A short name for a list of members -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For keys under which the members of a group find each other. The name has the
// same length for two ranks as for a hundred thousand.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_MEMBERSNAME_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_MEMBERSNAME_H

#include "bagua/Support/Fingerprint.h"

#include "absl/strings/str_cat.h"

#include <string>
#include <vector>

namespace bagua::runtime {

inline std::string nameOf(const std::vector<int> &members) {
  return absl::StrCat(absl::Hex(
      fingerprintBytes(members.data(), members.size() * sizeof(int))));
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_MEMBERSNAME_H
