//===- HostFit.cpp - Whether a plan's axes fit its ranks' hosts -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups over an axis are alike if the same numbers of members share each host.
//
//===----------------------------------------------------------------------===//
#include "Session/HostFit.h"

#include "bagua/Runtime/PlanGenerated.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace bagua::runtime {
namespace {

std::vector<int> hostsOf(const std::vector<int64_t> &group,
                         const std::vector<int> &hosts) {
  std::vector<int> of;
  for (int64_t rank : group)
    of.push_back(hosts[static_cast<size_t>(rank)]);
  return of;
}

/// The numbers of members on each of a group's hosts, ascending.
std::vector<int> countsOf(const std::vector<int> &hostsOfGroup) {
  std::map<int, int> members;
  for (int host : hostsOfGroup)
    ++members[host];
  std::vector<int> counts;
  for (auto [host, count] : members)
    counts.push_back(count);
  std::sort(counts.begin(), counts.end());
  return counts;
}

std::string describe(const std::vector<int64_t> &group,
                     const std::vector<int> &hosts) {
  return absl::StrCat("ranks ", absl::StrJoin(group, ", "), " on hosts ",
                      absl::StrJoin(hostsOf(group, hosts), ", "));
}

} // namespace

absl::Status checkHostFit(const Plan &plan, const std::vector<int> &hosts) {
  const Topology &topology = plan.topology();
  for (int64_t axis = 0; axis < topology.axisCount(); ++axis) {
    const std::vector<int64_t> first = topology.groupOf(0, {axis});
    const std::vector<int> expected = countsOf(hostsOf(first, hosts));
    for (int64_t rank = 1; rank < topology.workers(); ++rank) {
      if (topology.coordinates(rank)[axis] != 0)
        continue;
      const std::vector<int64_t> group = topology.groupOf(rank, {axis});
      if (countsOf(hostsOf(group, hosts)) == expected)
        continue;
      const fb::Axis &of =
          *plan.root().cluster()->axes()->Get(static_cast<uint32_t>(axis));
      return absl::FailedPreconditionError(absl::StrCat(
          "the plan's axis '", of.name()->str(), "' (size ", of.size(),
          ") does not fit the hosts that ranks are on: it joins ",
          describe(first, hosts), ", and ", describe(group, hosts),
          "; expected all its groups to be alike"));
    }
  }
  return absl::OkStatus();
}

} // namespace bagua::runtime
