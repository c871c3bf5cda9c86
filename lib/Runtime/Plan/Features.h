//===- Features.h - What a plan needs of its runtime ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan names what a runtime has to know to run it: each of its opcodes, each
// encoding of its values (`encoding.minmax_uint8`), and whatever a later minor
// version adds that changes what the rest means. So a runtime loads plans of
// newer minor versions, and refuses, by name, those that it would run wrongly.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_PLAN_FEATURES_H
#define BAGUA_LIB_RUNTIME_PLAN_FEATURES_H

#include "bagua/Runtime/PlanGenerated.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <string>
#include <vector>

namespace bagua::runtime {

/// ReduceScatter is reduce_scatter: an enum's name as it is printed.
std::string snakeCase(absl::string_view name);

/// The features of the plan's instructions and of its contract's updates, as
/// far as they are known; ascending.
std::vector<std::string> featuresOf(const fb::PlanT &plan);

/// InvalidArgument names what the plan needs and this runtime doesn't know, or
/// what it has and doesn't list.
absl::Status verifyFeatures(const fb::Plan &plan);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_PLAN_FEATURES_H
