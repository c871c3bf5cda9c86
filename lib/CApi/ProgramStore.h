//===- ProgramStore.h - A store that a program in C implements ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wraps the callbacks of a program as a Store.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_CAPI_PROGRAMSTORE_H
#define BAGUA_LIB_CAPI_PROGRAMSTORE_H

#include "bagua/Runtime/Store.h"
#include "bagua/bagua.h"

#include "absl/strings/str_cat.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bagua::capi {

class ProgramStore final : public runtime::Store {
public:
  explicit ProgramStore(const bagua_world_options &options)
      : callbacks(options) {}

  absl::Status set(const std::string &name, const std::string &text) override {
    if (callbacks.store_set(callbacks.store_user, name.c_str(), text.c_str()) ==
        0)
      return absl::OkStatus();
    return absl::AbortedError(
        absl::StrCat("store_set failed for '", name, "'"));
  }

  absl::StatusOr<std::optional<std::string>>
  get(const std::string &name) override {
    std::string text(kMostBytes, '\0');
    int64_t length = callbacks.store_get(callbacks.store_user, name.c_str(),
                                         text.data(), text.size());
    if (length == -1)
      return std::nullopt;
    if (length < 0)
      return absl::AbortedError(
          absl::StrCat("store_get failed for '", name, "'"));
    if (length > static_cast<int64_t>(kMostBytes))
      return absl::InvalidArgumentError(
          absl::StrCat("store_get has ", length, " bytes for '", name,
                       "', expected at most ", kMostBytes));
    text.resize(static_cast<size_t>(length));
    return std::optional(std::move(text));
  }

private:
  /// More bytes than any text of a run has.
  static constexpr size_t kMostBytes = 4096;

  /// Only the fields of the store are used.
  const bagua_world_options callbacks;
};

} // namespace bagua::capi

#endif // BAGUA_LIB_CAPI_PROGRAMSTORE_H
