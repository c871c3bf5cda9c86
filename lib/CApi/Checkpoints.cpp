//===- Checkpoints.cpp - Files of state in C ------------------------------===//
//
// Call by call what Checkpoint.h has.
//
//===----------------------------------------------------------------------===//
#include "Errors.h"
#include "Handles.h"

#include "bagua/Runtime/Checkpoint.h"

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

bagua_code bagua_find_newest_common(bagua_world *world, const int64_t *steps,
                                    size_t count, int *is_found,
                                    int64_t *newest) {
  return guard([&]() -> absl::Status {
    absl::Status status = requireAll(
        "bagua_find_newest_common",
        {{"world", world}, {"is_found", is_found}, {"newest", newest}});
    if (status.ok() && count > 0)
      status = requireAll("bagua_find_newest_common", {{"steps", steps}});
    if (!status.ok())
      return status;
    auto found = runtime::findNewestCommon(*world->world, {steps, count});
    if (!found.ok())
      return found.status();
    *is_found = found->has_value();
    *newest = found->value_or(0);
    return absl::OkStatus();
  });
}
