//===- Secret.h - The secret of a run, and values derived from it ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only the run's ranks see the secret itself. Where strangers see something
// that only ranks of the run can know (the name of a socket, a greeting), that
// is derived from the secret, one way.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_SECRET_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_SECRET_H

#include "absl/strings/string_view.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace bagua::runtime {

/// The hexadecimal digits of a secret, and of a derived value.
constexpr size_t kSecretDigits = 32;

/// 128 random bits.
std::string drawSecret();
/// Whether `text` has the form of a secret.
bool isSecret(absl::string_view text);
uint64_t drawNumber();

/// 128 bits that depend on the secret and on a purpose (keyed BLAKE2b). They
/// reveal neither the secret nor values derived for another purpose.
std::string derive(absl::string_view secret, absl::string_view purpose);

/// Whether `found` is the result of derive(). The time of the comparison does
/// not reveal how much of it is right.
bool isDerived(absl::string_view found, absl::string_view secret,
               absl::string_view purpose);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_SECRET_H
