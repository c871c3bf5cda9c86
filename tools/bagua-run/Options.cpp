//===- Options.cpp - The command line of bagua-run ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flags are --flag, --flag=value or --flag value; anything else is the plan.
//
//===----------------------------------------------------------------------===//
#include "Options.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

namespace bagua::run {
namespace {

using Setter = std::function<bool(Options &, const std::string &)>;

struct Flag {
  const char *name;
  /// What the flag takes, for --help; null for a switch.
  const char *value;
  /// What the flag takes, for messages.
  const char *expected;
  const char *help;
  /// Returns false for a bad value. A switch gets the empty string.
  Setter set;
};

bool setCount(int64_t &to, const std::string &text, int64_t least) {
  return absl::SimpleAtoi(text, &to) && to >= least;
}

bool setNumber(double &to, const std::string &text, bool mayBeZero) {
  return absl::SimpleAtod(text, &to) && to < 1e9 &&
         (mayBeZero ? to >= 0 : to > 0);
}

bool setText(std::string &to, const std::string &text) {
  to = text;
  return !text.empty();
}

bool setSeconds(std::chrono::nanoseconds &to, const std::string &text) {
  double seconds = 0;
  if (!setNumber(seconds, text, /*mayBeZero=*/false))
    return false;
  to = std::chrono::nanoseconds(std::llround(seconds * 1e9));
  return true;
}

/// The flags for ranks that are processes, and for tests of how runs end.
std::vector<Flag> processFlags() {
  return {
      {"communicator", "NAME", "in-process, shared-memory or gloo",
       "in-process (default): ranks are threads;\n"
       "shared-memory: processes of one host, as torchrun,\n"
       "mpirun or srun started them, or this program does;\n"
       "gloo: processes of several hosts, which share memory\n"
       "within each host (see --hosts)",
       [](Options &o, auto &text) {
         o.processes.communicator = text;
         return text == "in-process" || text == "shared-memory" ||
                text == "gloo";
       }},
      {"hosts", "N", "a number of at least 1",
       "with gloo, number of hosts for the processes that this\n"
       "program starts (default: one host for each process)",
       [](Options &o, auto &text) {
         return setCount(o.processes.hosts, text, 1);
       }},
      {"interface", "I", "a network interface or an address of this host's",
       "network interface to other hosts (default: to rank 0)",
       [](Options &o, auto &text) {
         return setText(o.processes.interface, text);
       }},
      {"rendezvous", "R", "an address and a port, or a file",
       "where processes meet: rank 0's address, as in\n"
       "10.0.0.1:29500 (or 29500-29509, several ports), or\n"
       "a file that all can reach, with\n"
       "a slash in its name (default: as the launcher says)",
       [](Options &o, auto &text) {
         return setText(o.processes.rendezvous, text);
       }},
      {"patience", "S", "seconds above 0.1 and below 1e9",
       "seconds that a process may be silent before it counts\n"
       "as lost (default 10)",
       [](Options &o, auto &text) {
         return setSeconds(o.processes.patience, text) &&
                o.processes.patience > std::chrono::milliseconds(100);
       }},
      {"mishap", "R:S:I:HOW", "RANK:STEP:INSTRUCTION:HOW",
       "kill, stop, exit, disconnect, garbage, stick, freeze,\n"
       "cut or eat: what happens to rank R in step S before\n"
       "instruction I, which says when (for tests)",
       [](Options &o, auto &text) {
         o.replay.mishap = replay::parseMishap(text);
         return o.replay.mishap.has_value();
       }},
      {"throw-on-rank", "R", "a number of at least 0",
       "throw on rank R in its second step (for tests)",
       [](Options &o, auto &text) {
         return setCount(o.replay.throwOnRank, text, 0);
       }},
  };
}

const std::vector<Flag> &flags() {
  static const std::vector<Flag> table = [] {
    std::vector<Flag> all = {
        {"ranks", "N", "a number of at least 1",
         "ranks, servers included (default: the plan's)",
         [](Options &o, auto &text) { return setCount(o.ranks, text, 1); }},
        {"timeout", "S", "seconds above 0 and below 1e9",
         "seconds that a rank waits for others (default 600)",
         [](Options &o, auto &text) {
           return setSeconds(o.processes.timeout, text);
         }},
        {"check", nullptr, nullptr,
         "first run 3 steps (if the plan has several steps, at\n"
         "least as many iterations as --steps says) and compare\n"
         "every result, bit by bit, with the plan's contract",
         [](Options &o, auto &) { return o.replay.check = true; }},
        {"steps", "K", "a number of at least 1", "steps to time (default 10)",
         [](Options &o, auto &text) {
           return setCount(o.replay.steps, text, 1);
         }},
        {"time-scale", "X", "a number of at least 0 and below 1e9",
         "factor on the predicted times of the program's\n"
         "compute (default 1; 0: none)",
         [](Options &o, auto &text) {
           return setNumber(o.replay.timeScale, text, true);
         }},
        {"jitter", "X", "a number of at least 0 and below 1e9",
         "standard deviation of these times, drawn anew for each\n"
         "op, rank and step (default 0)",
         [](Options &o, auto &text) {
           return setNumber(o.replay.jitter, text, true);
         }},
        {"trace", "F.json", "a file", "write a Chrome trace of the run",
         [](Options &o, auto &text) { return setText(o.trace, text); }},
        {"json", nullptr, nullptr, "print the summary as JSON",
         [](Options &o, auto &) { return o.json = true; }},
        {"calibrate", nullptr, nullptr,
         "run no plan: time collectives of --ranks threads, or\n"
         "of processes that torchrun, mpirun or srun started,\n"
         "between their hosts and within them, and print them as\n"
         "a bagua.cluster to plan by",
         [](Options &o, auto &) { return o.calibrate = true; }},
        {"o", "F.mlir", "a file", "where --calibrate writes (default: print)",
         [](Options &o, auto &text) { return setText(o.output, text); }},
        {"help", nullptr, nullptr, "print this",
         [](Options &o, auto &) { return o.help = true; }},
        {"version", nullptr, nullptr, "print the version",
         [](Options &o, auto &) { return o.version = true; }},
    };
    std::vector<Flag> more = processFlags();
    all.insert(all.begin() + 1, more.begin(), more.end());
    return all;
  }();
  return table;
}

/// The flag as people write it: -o, --ranks.
std::string spelled(const std::string &name) {
  return absl::StrCat(name.size() == 1 ? "-" : "--", name);
}

absl::Status invalid(const std::string &message) {
  return absl::InvalidArgumentError(
      absl::StrCat(message, " (see bagua-run --help)"));
}

} // namespace

absl::StatusOr<Options>
parseOptions(const std::vector<std::string> &arguments) {
  Options options;
  bool hasPlan = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    // -o has one dash, as in other tools.
    size_t dashes = absl::StartsWith(argument, "--")                        ? 2
                    : argument == "-o" || absl::StartsWith(argument, "-o=") ? 1
                                                                            : 0;
    if (dashes == 0) {
      if (hasPlan)
        return invalid(absl::StrCat("expected one plan, found '", options.plan,
                                    "' and '", argument, "'"));
      hasPlan = true;
      options.plan = argument;
      continue;
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(dashes, equals - dashes);
    const Flag *flag = nullptr;
    for (const Flag &known : flags())
      if (name == known.name)
        flag = &known;
    if (!flag)
      return invalid(absl::StrCat("unknown flag ", spelled(name)));
    bool hasValue = equals != std::string::npos;
    if (!flag->value && hasValue)
      return invalid(absl::StrCat(spelled(name), " takes no value"));
    std::string value = hasValue ? argument.substr(equals + 1) : "";
    if (flag->value && !hasValue) {
      if (i + 1 == arguments.size())
        return invalid(
            absl::StrCat(spelled(name), " needs a value ", flag->value));
      value = arguments[++i];
    }
    if (!flag->set(options, value))
      return invalid(absl::StrCat(spelled(name), ": expected ", flag->expected,
                                  ", found '", value, "'"));
  }
  if (options.calibrate && hasPlan)
    return invalid(
        absl::StrCat("--calibrate runs no plan, found '", options.plan, "'"));
  if (!options.calibrate && !options.output.empty())
    return invalid(absl::StrCat("-o: expected --calibrate, found a plan to "
                                "run and '",
                                options.output, "' to write"));
  if (!options.calibrate && options.processes.communicator.empty())
    options.processes.communicator = "in-process";
  if (options.processes.hosts > 0 && options.processes.communicator != "gloo")
    return invalid(absl::StrCat("--hosts: expected --communicator=gloo, found ",
                                options.processes.communicator.empty()
                                    ? "none"
                                    : options.processes.communicator));
  return options;
}

std::string helpText() {
  std::string text = "usage: bagua-run [flag...] [PLAN.bagua]\n\n"
                     "Replays a plan: ranks run the plan's program with "
                     "synthetic compute and\n"
                     "communicate as the plan says. Reads standard input "
                     "without a plan, or for"
                     " -.\n\n";
  for (const Flag &flag : flags()) {
    std::string name = absl::StrCat(spelled(flag.name), flag.value ? "=" : "",
                                    flag.value ? flag.value : "");
    std::string help = flag.help;
    for (size_t at = 0; (at = help.find('\n', at)) != std::string::npos; ++at)
      help.insert(at + 1, 24, ' ');
    absl::StrAppendFormat(&text, "  %-21s %s\n", name, help);
  }
  return text +
         "\nexample: bagua-run resnet50.bagua --ranks=4 --check --steps=5 "
         "--trace=run.json\n";
}

std::string versionText() {
  return absl::StrCat("bagua-run ", BAGUA_VERSION, "\n");
}

} // namespace bagua::run
