//===- bagua-run.cpp - Replays plans --------------------------------------===//
//
// Reads a plan, runs it, prints what happened. Exit status: 0 for a good run, 1
// for an error or a failed check, 2 for a wrong command line.
//
//===----------------------------------------------------------------------===//
#include "Options.h"
#include "bagua/Replay/Calibrate.h"
#include "bagua/Replay/ForkedRanks.h"
#include "bagua/Replay/Replay.h"
#include "bagua/Replay/RunReport.h"
#include "bagua/Runtime/Launch.h"
#include "bagua/Support/Advice.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

using namespace bagua;
using namespace bagua::replay;
using namespace bagua::run;

namespace {

absl::StatusOr<std::shared_ptr<const Plan>> readPlan(const std::string &path) {
  if (path != "-")
    return Plan::fromFile(path);
  std::string bytes{std::istreambuf_iterator<char>(std::cin),
                    std::istreambuf_iterator<char>()};
  return Plan::fromBytes(std::move(bytes));
}

/// If it is asked for. That of a process has its rank's number behind the name,
/// but rank 0's.
absl::Status writeTrace(const Options &options, const TraceWriter &trace,
                        int rank) {
  if (options.trace.empty())
    return absl::OkStatus();
  const std::string path =
      rank == 0 ? options.trace : absl::StrCat(options.trace, ".", rank);
  std::ofstream file(path);
  if (file << trace.toJson() && file.flush())
    return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("can't write the trace to '", path, "'"));
}

/// All of it: names may hold any byte. A full disk is an error.
absl::Status print(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0)
    return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("can't write to standard output: ", std::strerror(errno)));
}

absl::Status checkRanks(const Plan &plan, int64_t ranks) {
  if (ranks == 0 || ranks == plan.topology().ranks())
    return absl::OkStatus();
  return absl::FailedPreconditionError(adviseOnRanks(
      plan.topology().ranks(), plan.topology().servers(), "the run", ranks));
}

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

ReplayOptions replayOptionsOf(const Options &options, TraceWriter &trace) {
  ReplayOptions result = options.replay;
  result.timeout = nanoseconds(options.timeoutSeconds);
  result.onWarning = [](const std::string &text) {
    std::fprintf(stderr, "bagua-run: warning: %s\n", text.c_str());
  };
  result.trace = options.trace.empty() ? nullptr : &trace;
  return result;
}

/// Whether the run and its check are good.
absl::StatusOr<bool> report(const Options &options, const Plan &plan,
                            const ReplayOptions &replayOptions,
                            const ReplayResult &result) {
  std::string text = options.json ? reportJson(plan, replayOptions, result)
                                  : reportText(plan, replayOptions, result);
  if (absl::Status status = print(text); !status.ok())
    return status;
  return !result.check || result.check->passed;
}

/// This process's rank. All say whether the run was good, rank 0 how good.
absl::StatusOr<bool> runRank(const Options &options,
                             const std::shared_ptr<const Plan> &plan,
                             const runtime::Launch &launch) {
  if (absl::Status status = checkRanks(*plan, launch.size); !status.ok())
    return status;
  runtime::ProcessOptions processOptions;
  processOptions.timeout = nanoseconds(options.timeoutSeconds);
  processOptions.communicatorTimeout = processOptions.timeout;
  processOptions.patience = nanoseconds(options.patienceSeconds);
  processOptions.interface = options.interface;
  if (options.communicator == "gloo")
    processOptions.host = ForkedRanks::hostOf(launch, options.hosts);
  auto world = connectLaunched(launch, options.rendezvous, processOptions);
  if (!world.ok())
    return world.status();
  if (options.communicator == "shared-memory" && (*world)->hostCount() > 1)
    return absl::FailedPreconditionError(absl::StrCat(
        "ranks are on ", (*world)->hostCount(),
        " hosts: expected --communicator=gloo, found shared-memory"));
  TraceWriter trace;
  ReplayOptions replayOptions = replayOptionsOf(options, trace);
  auto result = replayRank(plan, *std::move(world), replayOptions);
  if (!result.ok())
    return result.status();
  if (absl::Status status = writeTrace(options, trace, launch.rank);
      !status.ok())
    return status;
  return *result ? report(options, *plan, replayOptions, **result) : true;
}

/// Ranks that are processes: one of a launcher's, or copies of this one.
absl::StatusOr<bool> runProcesses(const Options &options,
                                  const std::shared_ptr<const Plan> &plan) {
  auto launch = runtime::findLaunch(std::getenv);
  if (!launch.ok())
    return launch.status();
  if (*launch)
    return runRank(options, plan, **launch);
  auto ranks = ForkedRanks::fork(static_cast<int>(plan->topology().ranks()));
  if (!ranks.ok())
    return ranks.status();
  absl::StatusOr<bool> passed = runRank(options, plan, ranks->launch());
  // What ends a copy ends rank 0, which says it.
  if (ranks->launch().rank > 0)
    std::exit(passed.ok() ? 0 : 1);
  // A copy that is stopped would not end by itself.
  absl::Status ended = ranks->join(std::chrono::seconds(passed.ok() ? 60 : 2));
  return passed.ok() && !ended.ok() ? ended : passed;
}

absl::StatusOr<bool> runPlan(const Options &options) {
  auto plan = readPlan(options.plan);
  if (!plan.ok())
    return plan.status();
  if (absl::Status status = checkRanks(**plan, options.ranks); !status.ok())
    return status;
  if (options.communicator != "in-process")
    return runProcesses(options, *plan);
  TraceWriter trace;
  ReplayOptions replayOptions = replayOptionsOf(options, trace);
  absl::StatusOr<ReplayResult> result = replayPlan(*plan, replayOptions);
  if (!result.ok())
    return result.status();
  if (absl::Status status = writeTrace(options, trace, 0); !status.ok())
    return status;
  return report(options, **plan, replayOptions, *result);
}

absl::StatusOr<bool> printCalibration(const Options &options) {
  auto text = calibrate(static_cast<int>(options.ranks),
                        nanoseconds(options.timeoutSeconds));
  if (!text.ok())
    return text.status();
  if (absl::Status status = print(*text); !status.ok())
    return status;
  return true;
}

} // namespace

int main(int argc, char **argv) {
  absl::StatusOr<Options> options =
      parseOptions(std::vector<std::string>(argv + 1, argv + argc));
  auto complain = [](const absl::Status &status) {
    std::cerr << "bagua-run: error: " << status.message() << "\n";
  };
  if (!options.ok()) {
    complain(options.status());
    return 2;
  }
  if (options->help || options->version) {
    absl::Status status = print(options->help ? helpText() : versionText());
    if (!status.ok())
      complain(status);
    return status.ok() ? 0 : 1;
  }
  absl::StatusOr<bool> passed =
      options->calibrate ? printCalibration(*options) : runPlan(*options);
  if (!passed.ok()) {
    complain(passed.status());
    return 1;
  }
  if (!*passed && options->json)
    std::cerr << "bagua-run: error: the check failed\n";
  return *passed ? 0 : 1;
}
