//===- FieldChecks.h - Checks that verifiers of plans share ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of single fields, and the form of errors.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_PLAN_FIELDCHECKS_H
#define BAGUA_LIB_RUNTIME_PLAN_FIELDCHECKS_H

#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/Limits.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <cstddef>
#include <set>
#include <string>

namespace bagua::runtime {

inline absl::Status invalid(const std::string &message) {
  return absl::InvalidArgumentError(message);
}

inline absl::Status prefixed(const std::string &prefix,
                             const absl::Status &status) {
  if (status.ok())
    return status;
  return invalid(absl::StrCat(prefix, ": ", status.message()));
}

inline absl::string_view nameOf(const flatbuffers::String *name) {
  return {name->data(), name->size()};
}

template <typename Vector> size_t lengthOf(const Vector *list) {
  return list ? list->size() : 0;
}

/// Non-empty, of sensible length, and new in `known`.
inline absl::Status verifyName(const flatbuffers::String *name,
                               std::set<absl::string_view> &known) {
  if (name->size() == 0 || name->size() > kMaxNameLength)
    return invalid(absl::StrCat("expected a name of 1 to ", kMaxNameLength,
                                " bytes, found ", name->size()));
  if (!known.insert(nameOf(name)).second)
    return invalid(absl::StrCat("the name '", nameOf(name), "' is used twice"));
  return absl::OkStatus();
}

template <typename Enum>
absl::Status verifyEnum(Enum value, Enum last, const char *what) {
  if (value <= last)
    return absl::OkStatus();
  return invalid(absl::StrCat("expected a ", what, " of at most ",
                              static_cast<int>(last), ", found ",
                              static_cast<int>(value)));
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_PLAN_FIELDCHECKS_H
