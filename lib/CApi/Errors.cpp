//===- Errors.cpp - Statuses as codes and messages ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The message of the last error lives as long as its thread.
//
//===----------------------------------------------------------------------===//
#include "Errors.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace bagua::capi {
namespace {

struct LastError {
  std::string message;
  runtime::ErrorPlace place;
};

LastError &lastError() {
  thread_local LastError error;
  return error;
}

/// Reads the size with which a struct begins.
absl::Status readSize(const char *name, const void *of, size_t &bytes) {
  std::memcpy(&bytes, of, sizeof(bytes));
  constexpr size_t kMostBytes = 4096;
  // Every version's struct is larger than the field with its size.
  if (bytes <= sizeof(bytes) || bytes > kMostBytes ||
      bytes % alignof(void *) != 0)
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected struct_size to be sizeof(", name,
                     "), found ", bytes));
  return absl::OkStatus();
}

} // namespace

bagua_code report(const absl::Status &status) noexcept {
  if (status.ok())
    return BAGUA_OK;
  auto &[message, place] = lastError();
  try {
    place = runtime::errorPlaceOf(status).value_or(runtime::ErrorPlace());
    message.assign(status.message().data(), status.message().size());
  } catch (const std::bad_alloc &) {
    message.clear();
  }
  if (absl::IsResourceExhausted(status) && message.empty())
    message = "out of memory"; // short: nothing is allocated
  return static_cast<bagua_code>(status.code());
}

absl::Status
requireAll(const char *call,
           std::initializer_list<std::pair<const char *, const void *>> all) {
  for (auto [name, pointer] : all)
    if (!pointer)
      return absl::InvalidArgumentError(
          absl::StrCat(call, ": expected '", name, "', found null"));
  return absl::OkStatus();
}

absl::Status readSeconds(const char *name, double seconds,
                         std::chrono::nanoseconds &result) {
  // Ten years, so that nothing overflows.
  constexpr double kMostSeconds = 3e8;
  if (!(seconds >= 0))
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected a number of seconds, found ", seconds));
  if (seconds > 0)
    result = std::chrono::nanoseconds(
        static_cast<int64_t>(std::ceil(std::min(seconds, kMostSeconds) * 1e9)));
  return absl::OkStatus();
}

absl::Status readStruct(const char *name, const void *given, void *known,
                        size_t knownBytes) {
  size_t bytes = 0;
  if (absl::Status status = readSize(name, given, bytes); !status.ok())
    return status;
  const char *more = static_cast<const char *>(given) + knownBytes;
  if (bytes > knownBytes && std::any_of(more, more + (bytes - knownBytes),
                                        [](char byte) { return byte != 0; }))
    return absl::UnimplementedError(absl::StrCat(
        name, ": the program was compiled against a newer bagua.h, and sets "
              "what this library does not know"));
  std::memcpy(known, given, std::min(bytes, knownBytes));
  return absl::OkStatus();
}

absl::Status writeStruct(const char *name, const void *known, size_t knownBytes,
                         void *to) {
  size_t bytes = 0;
  if (absl::Status status = readSize(name, to, bytes); !status.ok())
    return status;
  std::memset(to, 0, bytes);
  std::memcpy(to, known, std::min(bytes, knownBytes));
  std::memcpy(to, &bytes, sizeof(bytes));
  return absl::OkStatus();
}

} // namespace bagua::capi

const char *bagua_last_error(void) {
  return bagua::capi::lastError().message.c_str();
}

void bagua_last_error_place(int64_t *rank, int64_t *tensor,
                            int64_t *instruction, int64_t *step) {
  const bagua::runtime::ErrorPlace &place = bagua::capi::lastError().place;
  auto store = [](int64_t *to, int64_t value) {
    if (to)
      *to = value;
  };
  store(rank, place.rank);
  store(tensor, place.tensor);
  store(instruction, place.instruction);
  store(step, place.step);
}

uint32_t bagua_api_version(void) { return BAGUA_API_VERSION; }
