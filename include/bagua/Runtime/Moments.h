//===- Moments.h - The moments that updates keep --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An update's bias correction depends on how often its moments have been
// updated. So updates of a plan either have the same moments or none in common.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_MOMENTS_H
#define BAGUA_RUNTIME_MOMENTS_H

#include "absl/status/status.h"

#include <cstdint>
#include <vector>

namespace bagua::runtime {

namespace fb {
struct Plan;
struct Step;
} // namespace fb

/// By instruction of the step: the optimizer's states that it uses, ascending,
/// if it is an update or makes the direction of one.
std::vector<std::vector<uint32_t>> findMoments(const fb::Plan &plan,
                                               const fb::Step &step);

/// InvalidArgument if an update with a bias correction shares some of its
/// moments, and not all, with another update of the plan. The plan's numbers
/// are valid.
absl::Status verifyMoments(const fb::Plan &plan);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_MOMENTS_H
