//===- Secret.cpp - The secret of a run, and values derived from it -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses libsodium's random numbers and its keyed hash.
//
//===----------------------------------------------------------------------===//
#include "Communication/Secret.h"

#include "absl/strings/escaping.h"

#include <algorithm>
#include <array>
#include <sodium.h>

namespace bagua::runtime {
namespace {

using Bytes = std::array<unsigned char, kSecretDigits / 2>;

const unsigned char *bytesOf(absl::string_view text) {
  return reinterpret_cast<const unsigned char *>(text.data());
}

std::string toDigits(const Bytes &bytes) {
  return absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char *>(bytes.data()), bytes.size()));
}

} // namespace

std::string drawSecret() {
  Bytes bytes;
  randombytes_buf(bytes.data(), bytes.size());
  return toDigits(bytes);
}

bool isSecret(absl::string_view text) {
  return text.size() == kSecretDigits &&
         std::all_of(text.begin(), text.end(), [](char digit) {
           return (digit >= '0' && digit <= '9') ||
                  (digit >= 'a' && digit <= 'f');
         });
}

uint64_t drawNumber() {
  uint64_t number = 0;
  randombytes_buf(&number, sizeof number);
  return number;
}

std::string derive(absl::string_view secret, absl::string_view purpose) {
  // A run's name is a secret of any length, but keys have a fixed length.
  std::array<unsigned char, crypto_generichash_KEYBYTES> key;
  crypto_generichash(key.data(), key.size(), bytesOf(secret), secret.size(),
                     nullptr, 0);
  Bytes bytes;
  crypto_generichash(bytes.data(), bytes.size(), bytesOf(purpose),
                     purpose.size(), key.data(), key.size());
  return toDigits(bytes);
}

bool isDerived(absl::string_view found, absl::string_view secret,
               absl::string_view purpose) {
  const std::string expected = derive(secret, purpose);
  return found.size() == expected.size() &&
         sodium_memcmp(found.data(), expected.data(), expected.size()) == 0;
}

} // namespace bagua::runtime
