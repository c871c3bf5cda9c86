//===- HostFit.h - Whether a plan's axes fit its ranks' hosts -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strategy assumes that an axis has one kind of link. If some groups over an
// axis lie within a host and others don't, the plan was made for another
// cluster: its prices are wrong, and its hierarchy sends over the network what
// it means for memory.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_HOSTFIT_H
#define BAGUA_LIB_RUNTIME_SESSION_HOSTFIT_H

#include "bagua/Runtime/Plan.h"

#include "absl/status/status.h"

#include <vector>

namespace bagua::runtime {

/// FailedPrecondition names an axis, two of its groups and their hosts. `hosts`
/// is indexed by rank.
absl::Status checkHostFit(const Plan &plan, const std::vector<int> &hosts);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_HOSTFIT_H
