//===- Options.cpp - The command line of bagua-run ------------------------===//
//
// --flag, --flag=value or --flag value; everything else is the plan.
//
//===----------------------------------------------------------------------===//
#include "Options.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

#include <functional>
#include <map>
#include <utility>

namespace bagua::run {
namespace {

using Setter = std::function<bool(Options &, const std::string &)>;

struct Flag {
  const char *name;
  /// What it takes, for --help; null for a switch.
  const char *value;
  /// The same for messages.
  const char *expected;
  const char *help;
  /// False for a bad value. A switch gets the empty string.
  Setter set;
};

bool setCount(int64_t &to, const std::string &text, int64_t least) {
  return absl::SimpleAtoi(text, &to) && to >= least;
}

bool setNumber(double &to, const std::string &text, bool mayBeZero) {
  return absl::SimpleAtod(text, &to) && to < 1e9 &&
         (mayBeZero ? to >= 0 : to > 0);
}

/// RANK:STEP:INSTRUCTION:HOW.
bool setMishap(std::optional<replay::Mishap> &to, const std::string &text) {
  using Kind = replay::Mishap::Kind;
  static const std::map<std::string, Kind> kinds = {
      {"kill", Kind::Kill},       {"stop", Kind::Stop},
      {"exit", Kind::Exit},       {"disconnect", Kind::Disconnect},
      {"garbage", Kind::Garbage}, {"stick", Kind::Stick},
      {"freeze", Kind::Freeze},   {"cut", Kind::Cut},
      {"eat", Kind::Eat}};
  std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts.size() != 4 || kinds.count(parts[3]) == 0)
    return false;
  to.emplace().kind = kinds.at(parts[3]);
  return setCount(to->rank, parts[0], 0) && setCount(to->step, parts[1], 0) &&
         setCount(to->instruction, parts[2], 0);
}

/// Of ranks that are processes, and of tests of how runs end.
std::vector<Flag> processFlags() {
  return {
      {"communicator", "NAME", "in-process, shared-memory or gloo",
       "in-process (default): ranks are threads;\n"
       "shared-memory: processes of one host, as torchrun,\n"
       "mpirun or srun started them, or this program does;\n"
       "gloo: the same of several hosts, which share memory\n"
       "within each; this program's own count as --hosts",
       [](Options &o, auto &text) {
         o.communicator = text;
         return text == "in-process" || text == "shared-memory" ||
                text == "gloo";
       }},
      {"hosts", "N", "a number of at least 1",
       "hosts that this program's own processes count for\n"
       "with gloo (default: one each)",
       [](Options &o, auto &text) { return setCount(o.hosts, text, 1); }},
      {"interface", "I", "a network interface or an address of this host's",
       "by which processes reach other hosts (default: by\n"
       "which they reach rank 0)",
       [](Options &o, auto &text) {
         o.interface = text;
         return !text.empty();
       }},
      {"rendezvous", "R", "an address and a port, or a file",
       "where processes meet: rank 0's address, as in\n"
       "10.0.0.1:29500 (or 29500-29509, several ports), or\n"
       "a file that all can reach, with\n"
       "a slash in its name (default: as the launcher says)",
       [](Options &o, auto &text) {
         o.rendezvous = text;
         return !text.empty();
       }},
      {"patience", "S", "seconds above 0.1 and below 1e9",
       "seconds that a process may be silent before it counts\n"
       "as lost (default 10)",
       [](Options &o, auto &text) {
         return setNumber(o.patienceSeconds, text, false) &&
                o.patienceSeconds > 0.1;
       }},
      {"mishap", "R:S:I:HOW", "RANK:STEP:INSTRUCTION:HOW",
       "kill, stop, exit, disconnect, garbage, stick, freeze,\n"
       "cut or eat: what happens to rank R in step S before\n"
       "instruction I, which says when (for tests)",
       [](Options &o, auto &text) { return setMishap(o.replay.mishap, text); }},
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
           return setNumber(o.timeoutSeconds, text, false);
         }},
        {"check", nullptr, nullptr,
         "first run 3 steps and compare every result, bit by\n"
         "bit, with what the plan's contract says",
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
         [](Options &o, auto &text) {
           o.trace = text;
           return !text.empty();
         }},
        {"json", nullptr, nullptr, "print the summary as JSON",
         [](Options &o, auto &) { return o.json = true; }},
        {"calibrate", nullptr, nullptr,
         "run no plan: time collectives of --ranks ranks, and\n"
         "print them as a bagua.cluster to plan by",
         [](Options &o, auto &) { return o.calibrate = true; }},
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
    if (!absl::StartsWith(argument, "--")) {
      if (hasPlan)
        return invalid(absl::StrCat("expected one plan, found '", options.plan,
                                    "' and '", argument, "'"));
      hasPlan = true;
      options.plan = argument;
      continue;
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(2, equals - 2);
    const Flag *flag = nullptr;
    for (const Flag &known : flags())
      if (name == known.name)
        flag = &known;
    if (!flag)
      return invalid(absl::StrCat("unknown flag --", name));
    bool hasValue = equals != std::string::npos;
    if (!flag->value && hasValue)
      return invalid(absl::StrCat("--", name, " takes no value"));
    std::string value = hasValue ? argument.substr(equals + 1) : "";
    if (flag->value && !hasValue) {
      if (i + 1 == arguments.size())
        return invalid(
            absl::StrCat("--", name, " needs a value ", flag->value));
      value = arguments[++i];
    }
    if (!flag->set(options, value))
      return invalid(absl::StrCat("--", name, ": expected ", flag->expected,
                                  ", found '", value, "'"));
  }
  if (options.calibrate && hasPlan)
    return invalid(
        absl::StrCat("--calibrate runs no plan, found '", options.plan, "'"));
  if (options.hosts > 0 && options.communicator != "gloo")
    return invalid(absl::StrCat("--hosts: expected --communicator=gloo, found ",
                                options.communicator));
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
    std::string name = absl::StrCat("--", flag.name, flag.value ? "=" : "",
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
