//===- RankReport.cpp - The report of one rank of a replay ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports travel as CBOR, each after its length.
//
//===----------------------------------------------------------------------===//
#include "RankReport.h"

#include "bagua/Runtime/PlanGenerated.h"

#include "absl/strings/str_cat.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace bagua::replay {
namespace {

using nlohmann::json;

json toJson(const RankReport &report) {
  const RankFindings &check = report.check;
  json digests = json::array();
  for (auto &[place, digest] : check.digests)
    digests.push_back({place.first, place.second, digest});
  return {{"step_ns", report.stepNs},
          {"exposed_ns", report.exposedNs},
          {"bytes_sent", report.bytesSent},
          {"arena_bytes", report.arenaBytes},
          {"rank", check.rank},
          {"passed", check.found.passed},
          {"max_error", check.found.maxError},
          {"tolerance", check.found.tolerance},
          {"failures", check.found.failures},
          {"checked_steps", check.checkedSteps},
          {"unchecked", check.unchecked},
          {"digests", digests}};
}

RankReport fromJson(const json &text) {
  RankReport report;
  text.at("step_ns").get_to(report.stepNs);
  text.at("exposed_ns").get_to(report.exposedNs);
  text.at("bytes_sent").get_to(report.bytesSent);
  text.at("arena_bytes").get_to(report.arenaBytes);
  RankFindings &check = report.check;
  text.at("rank").get_to(check.rank);
  text.at("passed").get_to(check.found.passed);
  text.at("max_error").get_to(check.found.maxError);
  text.at("tolerance").get_to(check.found.tolerance);
  text.at("failures").get_to(check.found.failures);
  text.at("checked_steps").get_to(check.checkedSteps);
  text.at("unchecked").get_to(check.unchecked);
  for (const json &entry : text.at("digests"))
    check.digests[{entry.at(0).get<uint32_t>(), entry.at(1).get<int64_t>()}] =
        entry.at(2).get<uint64_t>();
  return report;
}

} // namespace

int64_t checkedSteps(const Plan &plan, const ReplayOptions &options) {
  return plan.root().steps()->size() == 1
             ? kCheckedSteps
             : std::max<int64_t>(kCheckedSteps, options.steps);
}

ReplayResult mergeReports(const Plan &plan, const ReplayOptions &options,
                          const std::vector<RankReport> &reports) {
  ReplayResult result;
  for (int64_t step = 0; step < options.steps; ++step) {
    int64_t longest = 0, blocked = 0;
    for (const RankReport &report : reports) {
      longest = std::max(longest, report.stepNs[step]);
      blocked += report.exposedNs[step];
    }
    result.stepNs.push_back(longest);
    result.exposedNs.push_back(blocked / static_cast<int64_t>(reports.size()));
  }
  std::vector<RankFindings> findings;
  for (const RankReport &report : reports) {
    result.bytesSent = std::max(result.bytesSent, report.bytesSent);
    result.arenaBytes = std::max(result.arenaBytes, report.arenaBytes);
    findings.push_back(report.check);
  }
  if (options.check)
    result.check = mergeChecks(plan, findings, checkedSteps(plan, options));
  return result;
}

absl::StatusOr<std::vector<RankReport>> gatherReports(runtime::World &world,
                                                      const RankReport &own) {
  auto size = static_cast<size_t>(world.size());
  std::vector<int> all(size);
  std::iota(all.begin(), all.end(), 0);
  auto made = world.createCommunicator(
      all, absl::StrCat("reports", world.nextNumber()));
  if (!made.ok())
    return made.status();
  std::vector<uint8_t> report = json::to_cbor(toJson(own));
  const auto length = static_cast<int64_t>(report.size());
  std::vector<int64_t> lengths(size);
  absl::Status status = (*made)->gatherFromOwners(
      &length, lengths.data(), static_cast<int64_t>(size), DataType::Int64,
      world.size(), all);
  if (!status.ok())
    return status;
  int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  report.resize(static_cast<size_t>(longest));
  std::vector<uint8_t> found(world.rank() == 0 ? longest * size : 0);
  status = (*made)->gatherFromOwners(report.data(),
                                     world.rank() == 0 ? found.data() : nullptr,
                                     longest * static_cast<int64_t>(size),
                                     DataType::Int8, /*receivers=*/1, all);
  std::vector<RankReport> reports;
  for (size_t rank = 0; status.ok() && world.rank() == 0 && rank < size; ++rank)
    try {
      auto begin = found.begin() + static_cast<int64_t>(rank) * longest;
      reports.push_back(
          fromJson(json::from_cbor(begin, begin + lengths[rank])));
    } catch (const json::exception &error) {
      status = absl::InternalError(absl::StrCat(
          "rank ", rank, " sent a malformed report: ", error.what()));
    }
  if (!status.ok())
    return status;
  return reports;
}

} // namespace bagua::replay
