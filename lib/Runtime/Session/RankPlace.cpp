//===- RankPlace.cpp - Where to look for a rank ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The description follows an error's text, whose beginning stays the same.
//
//===----------------------------------------------------------------------===//
#include "Session/RankPlace.h"

#include "Communication/StatusCopy.h"

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Runtime/PlanLayout.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <vector>

namespace bagua::runtime {

std::string describeRank(const Plan &plan, const World &world, int64_t rank) {
  const Topology &topology = plan.cluster().topology();
  if (rank < 0 || rank >= world.size() || rank >= topology.ranks())
    return {};
  std::vector<std::string> places;
  if (rank >= topology.workers()) {
    places.push_back(absl::StrCat("server ", rank - topology.workers()));
  } else if (topology.axisCount() > 1) {
    const std::vector<int64_t> coordinates = topology.coordinates(rank);
    for (size_t axis = 0; axis < coordinates.size(); ++axis)
      places.push_back(
          absl::StrCat(plan.root().cluster()->axes()->Get(axis)->name()->str(),
                       "=", coordinates[axis]));
  }
  if (int started = world.startedAs(static_cast<int>(rank)); started != rank)
    places.push_back(absl::StrCat("started as rank ", started));
  return places.empty()
             ? std::string()
             : absl::StrCat("rank ", rank, " is ", absl::StrJoin(places, ", "));
}

absl::Status withRankPlace(const absl::Status &status, const Plan &plan,
                           const World &world) {
  auto place = errorPlaceOf(status);
  std::string where = place ? describeRank(plan, world, place->rank) : "";
  return where.empty() ? duplicate(status)
                       : withMessage(status, absl::StrCat(status.message(),
                                                          " (", where, ")"));
}

} // namespace bagua::runtime
