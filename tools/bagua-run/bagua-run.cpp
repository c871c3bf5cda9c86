//===- bagua-run.cpp - Replays plans --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a plan, runs it and prints what happened. The exit status is 0 for a
// good run, 1 for an error or a failed check, 2 for a wrong command line.
//
//===----------------------------------------------------------------------===//
#include "Options.h"
#include "bagua/Replay/Calibrate.h"
#include "bagua/Replay/ProcessRanks.h"
#include "bagua/Replay/Replay.h"
#include "bagua/Replay/ReservedFile.h"
#include "bagua/Replay/RunReport.h"
#include "bagua/Runtime/Launch.h"
#include "bagua/Support/Advice.h"

#include "absl/strings/str_cat.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>

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

/// Prints the text; a full disk, for example, is an error.
absl::Status print(const std::string &text) {
  auto output = ReservedFile::standardOutput();
  return output.ok() ? output->write(text) : output.status();
}

absl::StatusOr<bool> passedIf(const absl::Status &status) {
  return status.ok() ? absl::StatusOr<bool>(true) : status;
}

absl::Status checkRanks(const Plan &plan, int64_t ranks) {
  if (ranks == 0 || ranks == plan.topology().ranks())
    return absl::OkStatus();
  return absl::FailedPreconditionError(adviseOnRanks(
      plan.topology().ranks(), plan.topology().servers(), "the run", ranks));
}

ReplayOptions replayOptionsOf(const Options &options, TraceWriter &trace) {
  ReplayOptions result = options.replay;
  result.timeout = options.processes.timeout;
  result.onWarning = [](const std::string &text) {
    std::fprintf(stderr, "bagua-run: warning: %s\n", text.c_str());
  };
  result.trace = options.trace.empty() ? nullptr : &trace;
  return result;
}

/// Prints the report; returns whether the run and its check are good.
absl::StatusOr<bool> report(const Options &options, const Plan &plan,
                            const ReplayOptions &replayOptions,
                            const ReplayResult &result) {
  std::string text = options.json ? reportJson(plan, replayOptions, result)
                                  : reportText(plan, replayOptions, result);
  if (absl::Status status = print(text); !status.ok())
    return status;
  return !result.check || result.check->passed;
}

/// Runs the rank that this process is. Every rank says whether the run was
/// good, rank 0 also prints the report.
absl::StatusOr<bool> runRank(const Options &options,
                             const std::shared_ptr<const Plan> &plan,
                             const runtime::Launch &launch) {
  if (absl::Status status = checkRanks(*plan, launch.size); !status.ok())
    return status;
  auto world = connectRank(launch, options.processes);
  if (!world.ok())
    return world.status();
  TraceWriter trace;
  ReplayOptions replayOptions = replayOptionsOf(options, trace);
  auto result = replayRank(plan, *std::move(world), replayOptions);
  if (!result.ok())
    return result.status();
  if (absl::Status status = writeTrace(options.trace, trace, launch.rank);
      !status.ok())
    return status;
  return *result ? report(options, *plan, replayOptions, **result) : true;
}

absl::StatusOr<bool> runPlan(const Options &options) {
  auto plan = readPlan(options.plan);
  if (!plan.ok())
    return plan.status();
  if (absl::Status status = checkRanks(**plan, options.ranks); !status.ok())
    return status;
  if (options.processes.communicator != "in-process")
    return runOnProcesses(plan->get()->topology().ranks(),
                          [&](const runtime::Launch &launch) {
                            return runRank(options, *plan, launch);
                          });
  TraceWriter trace;
  ReplayOptions replayOptions = replayOptionsOf(options, trace);
  absl::StatusOr<ReplayResult> result = replayPlan(*plan, replayOptions);
  if (!result.ok())
    return result.status();
  if (absl::Status status = writeTrace(options.trace, trace, 0); !status.ok())
    return status;
  return report(options, **plan, replayOptions, *result);
}

absl::StatusOr<bool> calibrateRank(const Options &options,
                                   const runtime::Launch &launch) {
  if (options.ranks > 0 && options.ranks != launch.size)
    return absl::FailedPreconditionError(
        absl::StrCat("--ranks: expected the ", launch.size, " ranks that ",
                     launch.launcher, " has started, found ", options.ranks));
  auto world = connectRank(launch, options.processes);
  if (!world.ok())
    return world.status();
  const bool isFirst = (*world)->rank() == 0;
  auto measure = [&] {
    return calibrateWorld(
        *world, options.processes.timeout, [&](const std::string &text) {
          if (isFirst)
            std::fprintf(stderr, "bagua-run: %s\n", text.c_str());
        });
  };
  if (!isFirst)
    return passedIf(measure().status());
  absl::Status written = writeWhatIsMade(options.output, measure);
  if (!written.ok())
    (*world)->abort(written);
  return passedIf(written);
}

absl::StatusOr<bool> runCalibration(const Options &options) {
  auto launch = runtime::findLaunch(std::getenv);
  if (!launch.ok())
    return launch.status();
  const bool isLaunched = launch->has_value();
  if (options.processes.communicator == "in-process" ||
      (options.processes.communicator.empty() && options.ranks > 0 &&
       !isLaunched))
    return passedIf(writeWhatIsMade(options.output, [&] {
      return calibrate(static_cast<int>(options.ranks),
                       options.processes.timeout);
    }));
  if (options.ranks == 0 && !isLaunched)
    return absl::FailedPreconditionError(
        "--calibrate: expected to be started by torchrun, mpirun or srun, or "
        "--ranks=N for N threads of this process, found neither");
  return runOnProcesses(options.ranks, [&](const runtime::Launch &place) {
    return calibrateRank(options, place);
  });
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
      options->calibrate ? runCalibration(*options) : runPlan(*options);
  if (!passed.ok()) {
    complain(passed.status());
    return 1;
  }
  if (!*passed && options->json)
    std::cerr << "bagua-run: error: the check failed\n";
  return *passed ? 0 : 1;
}
