//===- RunReport.cpp - What bagua-run prints ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts come from the plan, times from the run.
//
//===----------------------------------------------------------------------===//
#include "bagua/Replay/RunReport.h"

#include "Checker.h"
#include "Plan/Opcodes.h"
#include "Plan/PhaseTable.h"

#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/DataType.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <vector>

namespace bagua::replay {
namespace {

namespace fb = runtime::fb;

struct Spread {
  int64_t median;
  int64_t min;
  int64_t max;
};

Spread spreadOf(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  int64_t median = values.size() % 2
                       ? values[middle]
                       : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

struct Totals {
  int64_t tensors = 0;
  int64_t tensorBytes = 0;
  int64_t collectives = 0;
  int64_t instructions = 0;
  /// Which step these are of, if the plan has several.
  std::string inStep;
  int64_t communicationNs = 0;
  int64_t computeNs = 0;
  /// Updates by the runtime, by the program in time, and by the program late.
  int64_t runtimeUpdates = 0, programUpdates = 0, lateUpdates = 0;
};

Totals totalsOf(const Plan &plan, const ReplayOptions &options) {
  Totals totals;
  for (uint32_t i = 0; i < plan.root().tensors()->size(); ++i) {
    const fb::Tensor &tensor = *plan.root().tensors()->Get(i);
    if (!tensor.given_by_program())
      continue;
    ++totals.tensors;
    totals.tensorBytes += localElements(plan, i, 0) *
                          dataTypeBytes(static_cast<DataType>(tensor.type()));
  }
  // The figures below are those of the step that runs in the end.
  const auto &phases = *plan.root().phases();
  const fb::Step &step =
      *plan.root().steps()->Get(phases.Get(phases.size() - 1)->step());
  if (plan.root().steps()->size() > 1)
    totals.inStep = absl::StrCat(" in step '", step.name()->str(), "'");
  for (const fb::Instruction *op : *step.instructions()) {
    ++totals.instructions;
    totals.collectives += op->axes() && op->axes()->size() > 0;
    totals.communicationNs += op->cost_ns();
    totals.runtimeUpdates +=
        runtime::kindOf(op->opcode()) == runtime::InstructionKind::Update;
  }
  if (step.program())
    for (const fb::ProgramOp *op : *step.program()) {
      totals.computeNs += static_cast<int64_t>(
          static_cast<double>(op->cost_ns()) * options.timeScale);
      if (op->phase() == fb::ComputePhase::Update)
        ++(op->late() ? totals.lateUpdates : totals.programUpdates);
    }
  return totals;
}

std::string bytesToString(int64_t bytes) {
  if (bytes < 1024)
    return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  const char *unit = "";
  for (const char *next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024)
      break;
    value /= 1024;
    unit = next;
  }
  return absl::StrFormat("%.1f %s", value, unit);
}

std::string timeToString(int64_t ns) {
  if (ns < 1000000)
    return absl::StrFormat("%.1f us", ns * 1e-3);
  return absl::StrFormat("%.2f ms", ns * 1e-6);
}

/// A text that says whether the runtime or the program runs updates, and
/// whether a replay runs them or sleeps instead.
std::string updatesOf(const Totals &totals) {
  std::vector<std::string> parts;
  if (totals.runtimeUpdates > 0)
    parts.push_back(
        absl::StrCat(totals.runtimeUpdates, " by the runtime, run"));
  if (totals.programUpdates > 0)
    parts.push_back(
        absl::StrCat(totals.programUpdates, " by the program, slept"));
  if (totals.lateUpdates > 0)
    parts.push_back(
        absl::StrCat(totals.lateUpdates, " by the program, late, slept"));
  return absl::StrJoin(parts, "; ");
}

std::string shapeOf(const Plan &plan, int hosts) {
  std::vector<std::string> axes;
  for (const fb::Axis *axis : *plan.root().cluster()->axes())
    axes.push_back(absl::StrCat(axis->name()->str(), "=", axis->size()));
  std::string text =
      absl::StrCat(plan.topology().ranks(), " (", absl::StrJoin(axes, ", "));
  if (plan.topology().servers() > 0)
    absl::StrAppend(&text, ", ", plan.topology().servers(), " servers");
  if (hosts == 0)
    return text + "), threads of this process";
  return hosts == 1 ? text + "), processes of this host"
                    : absl::StrCat(text, "), processes of ", hosts, " hosts");
}

/// The steps that the checked iterations don't run, and when they run.
std::vector<std::string> uncheckedSteps(const Plan &plan,
                                        const CheckResult &check) {
  std::vector<bool> runs = runtime::stepsWithin(plan.root(), check.steps);
  std::vector<std::string> found;
  for (const fb::Phase *phase : *plan.root().phases())
    if (!runs[phase->step()]) {
      runs[phase->step()] = true;
      found.push_back(
          absl::StrCat(plan.root().steps()->Get(phase->step())->name()->str(),
                       " (", runtime::describePhase(*phase), ")"));
    }
  return found;
}

void appendCheck(std::string &out, const CheckResult &check) {
  if (check.passed) {
    absl::StrAppendFormat(&out, "check          passed: %d tensors, %d steps, ",
                          check.tensors, check.steps);
    if (check.tolerance == 0)
      absl::StrAppend(&out, "every bit as the contract says\n");
    else
      absl::StrAppendFormat(&out,
                            "as the contract says up to rounding (%.2g off, "
                            "at most %.2g explained)\n",
                            check.maxError, check.tolerance);
    return;
  }
  absl::StrAppendFormat(
      &out, "check          FAILED: %d tensors, %d steps, largest error %g\n",
      check.tensors, check.steps, check.maxError);
  for (const std::string &failure : check.failures)
    absl::StrAppend(&out, "               ", failure, "\n");
}

} // namespace

std::string reportText(const Plan &plan, const ReplayOptions &options,
                       const ReplayResult &result) {
  Totals totals = totalsOf(plan, options);
  Spread step = spreadOf(result.stepNs);
  std::string out;
  absl::StrAppendFormat(&out, "plan           %s", plan.root().name()->str());
  if (std::string text = runtime::strategiesOf(plan.root()); !text.empty())
    absl::StrAppendFormat(&out, ", strategy %s", text);
  absl::StrAppendFormat(&out, "\nranks          %s\n",
                        shapeOf(plan, result.hosts));
  absl::StrAppendFormat(&out, "tensors        %d given by the program, %s\n",
                        totals.tensors, bytesToString(totals.tensorBytes));
  absl::StrAppendFormat(&out,
                        "buckets        %d collectives, %d instructions%s\n",
                        totals.collectives, totals.instructions, totals.inStep);
  absl::StrAppendFormat(&out, "bytes sent     %s a rank and step\n",
                        bytesToString(result.bytesSent));
  absl::StrAppendFormat(&out, "memory         %s of the runtime's a rank\n",
                        bytesToString(result.arenaBytes));
  absl::StrAppendFormat(
      &out, "step time      %s median, %s min, %s max of %d steps\n",
      timeToString(step.median), timeToString(step.min), timeToString(step.max),
      result.stepNs.size());
  if (totals.computeNs > 0)
    absl::StrAppendFormat(&out, "  compute      %s (synthetic: slept)\n",
                          timeToString(totals.computeNs));
  if (std::string updates = updatesOf(totals); !updates.empty())
    absl::StrAppendFormat(&out, "  updates      %s\n", updates);
  absl::StrAppendFormat(&out,
                        "  exposed      %s of communication that compute "
                        "waited for (median)\n",
                        timeToString(spreadOf(result.exposedNs).median));
  if (totals.communicationNs > 0)
    absl::StrAppendFormat(&out,
                          "  predicted    %s of communication on the plan's "
                          "cluster\n",
                          timeToString(totals.communicationNs));
  if (result.check) {
    appendCheck(out, *result.check);
    if (auto steps = uncheckedSteps(plan, *result.check); !steps.empty())
      absl::StrAppend(&out, "not checked    ", absl::StrJoin(steps, ", "),
                      ": --steps counts the iterations that are checked\n");
    constexpr size_t kMostListed = 8;
    const std::vector<std::string> &unchecked = result.check->unchecked;
    for (size_t i = 0; i < std::min(unchecked.size(), kMostListed); ++i)
      absl::StrAppend(&out, "not checked    ", unchecked[i], "\n");
    if (unchecked.size() > kMostListed)
      absl::StrAppend(&out, "not checked    ", unchecked.size() - kMostListed,
                      " more tensors\n");
  }
  return out;
}

std::string reportJson(const Plan &plan, const ReplayOptions &options,
                       const ReplayResult &result) {
  using Json = nlohmann::ordered_json;
  Totals totals = totalsOf(plan, options);
  Spread step = spreadOf(result.stepNs);
  Json json = {{"plan", plan.root().name()->str()},
               {"strategy", runtime::strategiesOf(plan.root())},
               {"ranks", plan.topology().ranks()},
               {"communicator", result.hosts == 0   ? "in-process"
                                : result.hosts == 1 ? "shared-memory"
                                                    : "gloo"},
               {"tensors", totals.tensors},
               {"tensor_bytes", totals.tensorBytes},
               {"instructions", totals.instructions},
               {"collectives", totals.collectives},
               {"bytes_sent", result.bytesSent},
               {"peak_bytes", result.arenaBytes},
               {"steps", result.stepNs.size()},
               {"step_ns",
                {{"median", step.median},
                 {"min", step.min},
                 {"max", step.max},
                 {"of_each", result.stepNs}}},
               {"compute_ns", totals.computeNs},
               {"updates",
                {{"by_runtime_run", totals.runtimeUpdates},
                 {"by_program_slept", totals.programUpdates},
                 {"by_program_late_slept", totals.lateUpdates}}},
               {"exposed_communication_ns", spreadOf(result.exposedNs).median},
               {"predicted_communication_ns", totals.communicationNs}};
  if (result.check) {
    const CheckResult &check = *result.check;
    json["check"] = {{"passed", check.passed},
                     {"max_error", check.maxError},
                     {"tolerance", check.tolerance},
                     {"tensors", check.tensors},
                     {"steps", check.steps},
                     {"not_checked", uncheckedSteps(plan, check)},
                     {"not_checked_tensors", check.unchecked},
                     {"digest", absl::StrFormat("%016x", check.digest)},
                     {"failures", check.failures}};
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status writeTrace(const std::string &path, const TraceWriter &trace,
                        int rank) {
  if (path.empty())
    return absl::OkStatus();
  const std::string own = rank == 0 ? path : absl::StrCat(path, ".", rank);
  std::ofstream file(own);
  if (file << trace.toJson() && file.flush())
    return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("can't write the trace to '", own, "'"));
}

} // namespace bagua::replay
