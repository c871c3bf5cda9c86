//===- Checkpoints.cpp - Files of state in C ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Checkpoint.h, one by one.
//
//===----------------------------------------------------------------------===//
#include "Errors.h"
#include "Handles.h"

#include "bagua/Runtime/Checkpoint.h"

#include <string>
#include <vector>

using namespace bagua;
using capi::guard;
using capi::requireAll;

bagua_code bagua_write_checkpoint(const char *path, const void *bytes,
                                  size_t size) {
  return guard([&]() -> absl::Status {
    absl::Status status = requireAll("bagua_write_checkpoint",
                                     {{"path", path}, {"bytes", bytes}});
    return status.ok() ? runtime::writeCheckpoint(
                             path, {static_cast<const char *>(bytes), size})
                       : status;
  });
}

bagua_code bagua_find_newest_checkpoint(bagua_world *world,
                                        const char *const *paths, size_t count,
                                        int *is_found, size_t *newest) {
  return guard([&]() -> absl::Status {
    absl::Status status = requireAll(
        "bagua_find_newest_checkpoint",
        {{"world", world}, {"is_found", is_found}, {"newest", newest}});
    if (status.ok() && count > 0)
      status = requireAll("bagua_find_newest_checkpoint", {{"paths", paths}});
    for (size_t i = 0; status.ok() && i < count; ++i)
      status =
          requireAll("bagua_find_newest_checkpoint", {{"paths", paths[i]}});
    if (!status.ok())
      return status;
    auto found = runtime::findNewestCheckpoint(
        *world->world, std::vector<std::string>(paths, paths + count));
    if (!found.ok())
      return found.status();
    *is_found = found->has_value();
    *newest = found->value_or(0);
    return absl::OkStatus();
  });
}
