//===- Plans.cpp - Plans in C ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading a plan, and what a program may ask about it.
//
//===----------------------------------------------------------------------===//
#include "Errors.h"
#include "Figures.h"
#include "Handles.h"

#include "absl/strings/str_cat.h"

#include <string>
#include <utility>

using namespace bagua;
using capi::guard;
using capi::requireAll;

namespace {

/// More bytes than any plan has, so that a wrong size is refused before any
/// byte is read.
constexpr size_t kMostPlanBytes = size_t{1} << 31;

absl::Status keep(absl::StatusOr<std::shared_ptr<const runtime::Plan>> loaded,
                  bagua_plan **plan) {
  if (!loaded.ok())
    return loaded.status();
  auto tensors = tensorsOf(**loaded);
  *plan = new bagua_plan{*std::move(loaded), std::move(tensors)};
  return absl::OkStatus();
}

} // namespace

bagua_code bagua_plan_read(const char *path, bagua_plan **plan) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll("bagua_plan_read", {{"path", path}, {"plan", plan}});
    return status.ok() ? keep(runtime::Plan::fromFile(path), plan) : status;
  });
}

bagua_code bagua_plan_from_bytes(const void *bytes, size_t size,
                                 bagua_plan **plan) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll("bagua_plan_from_bytes", {{"bytes", bytes}, {"plan", plan}});
    if (status.ok() && size > kMostPlanBytes)
      status = absl::InvalidArgumentError(
          absl::StrCat("bagua_plan_from_bytes: expected at most ",
                       kMostPlanBytes, " bytes, found ", size));
    return status.ok() ? keep(runtime::Plan::fromBytes(std::string(
                                  static_cast<const char *>(bytes), size)),
                              plan)
                       : status;
  });
}

void bagua_plan_free(bagua_plan *plan) { delete plan; }

uint64_t bagua_plan_fingerprint(const bagua_plan *plan) {
  return plan ? plan->plan->fingerprint() : 0;
}

int bagua_plan_ranks(const bagua_plan *plan) {
  return plan ? static_cast<int>(plan->plan->topology().ranks()) : -1;
}

int bagua_plan_servers(const bagua_plan *plan) {
  return plan ? static_cast<int>(plan->plan->topology().servers()) : -1;
}

size_t bagua_plan_tensor_count(const bagua_plan *plan) {
  return plan ? plan->tensors.size() : 0;
}

int bagua_plan_has_late_updates(const bagua_plan *plan) {
  return plan ? plan->plan->hasLateUpdates() : -1;
}

bagua_code bagua_plan_tensor(const bagua_plan *plan, uint32_t number,
                             bagua_tensor *tensor) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll("bagua_plan_tensor", {{"plan", plan}, {"tensor", tensor}});
    if (!status.ok())
      return status;
    if (number >= plan->tensors.size())
      return absl::InvalidArgumentError(
          absl::StrCat("bagua_plan_tensor: expected a tensor's number below ",
                       plan->tensors.size(), ", found ", number));
    const runtime::PlanTensor &from = plan->tensors[number];
    *tensor = {from.name.c_str(),
               static_cast<bagua_role>(from.role),
               static_cast<bagua_type>(from.type),
               from.shape.data(),
               from.shape.size(),
               from.isGivenByProgram,
               from.isOptional,
               from.isInArena};
    return absl::OkStatus();
  });
}

bagua_code bagua_plan_predicted_figures(const bagua_plan *plan,
                                        bagua_step_figures *figures) {
  return guard([&]() -> absl::Status {
    absl::Status status = requireAll("bagua_plan_predicted_figures",
                                     {{"plan", plan}, {"figures", figures}});
    if (!status.ok())
      return status;
    const auto found = predictedFigures(*plan->plan);
    if (!found)
      return absl::NotFoundError(
          "the plan doesn't say what a step was predicted to take");
    return capi::writeFigures(*found, figures);
  });
}
