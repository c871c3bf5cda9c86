//===- Launch.cpp - Ranks as a launcher started them ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row of a table for each launcher.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Launch.h"

#include "Communication/Rendezvous/Sockets.h"
#include "Communication/StatusCopy.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bagua::runtime {
namespace {

struct Launcher {
  const char *name;
  const char *rank;
  const char *size;
  /// Null if the launcher doesn't say.
  const char *localSize;
  /// Together these name the run; there may be few.
  std::vector<const char *> job;
  /// The number of hosts, for a launcher that doesn't say how many ranks this
  /// one has.
  const char *hosts = nullptr;
  /// Another launcher, which sets these variables, too, but not localSize.
  const char *other = nullptr;
};

/// Asked in this order: a torchrun under srun counts as torchrun.
const std::vector<Launcher> &launchers() {
  static constexpr char kTasksOfSrun[] = "SLURM_STEP_NUM_TASKS";
  static const std::vector<Launcher> table = {
      {"bagua-run", "BAGUA_RANK", "BAGUA_SIZE", "BAGUA_SIZE", {"BAGUA_JOB"}},
      {"torchrun",
       "RANK",
       "WORLD_SIZE",
       "LOCAL_WORLD_SIZE",
       {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
      {"Open MPI",
       "OMPI_COMM_WORLD_RANK",
       "OMPI_COMM_WORLD_SIZE",
       "OMPI_COMM_WORLD_LOCAL_SIZE",
       {"PMIX_NAMESPACE"}},
      {"MPICH",
       "PMI_RANK",
       "PMI_SIZE",
       "MPI_LOCALNRANKS",
       {},
       nullptr,
       kTasksOfSrun},
      // Batch scripts have SLURM_PROCID, too; only tasks of srun count.
      {"Slurm",
       "SLURM_PROCID",
       kTasksOfSrun,
       nullptr,
       {"SLURM_JOB_ID", "SLURM_STEP_ID"},
       "SLURM_STEP_NUM_NODES"},
  };
  return table;
}

/// From the start: what a thread has half made when another one forks stays so
/// in the child.
[[maybe_unused]] const std::vector<Launcher> &madeAtLoad = launchers();

bool hasStarted(const Launcher &launcher, const Environment &get) {
  if (!get(launcher.rank) || !get(launcher.size))
    return false;
  return !launcher.other || !get(launcher.other) || get(launcher.localSize);
}

absl::StatusOr<int> readNumber(const Launcher &launcher, const Environment &get,
                               const char *name, int least, int end) {
  const char *text = get(name);
  int number = 0;
  if (text && absl::SimpleAtoi(text, &number) && number >= least &&
      number < end)
    return number;
  return absl::InvalidArgumentError(absl::StrCat(
      launcher.name, " has started this process, but ", name,
      text ? absl::StrCat(" is '", text, "'") : std::string(" is not set"),
      ", expected a number from ", least, " to ", end - 1));
}

/// How many ports after its own torchrun leaves free for us. The first is
/// usually free.
constexpr int kNextPorts = 16;

/// torchrun's agents keep the port itself for their own store.
absl::StatusOr<std::string> findAddress(const Launcher &launcher,
                                        const Environment &get) {
  const char *host = get("MASTER_ADDR");
  if (std::strcmp(launcher.rank, "RANK") != 0 || !host)
    return std::string();
  if (!*host)
    return absl::InvalidArgumentError(
        absl::StrCat(launcher.name, " has started this process, but "
                                    "MASTER_ADDR is '', expected an address"));
  auto port = readNumber(launcher, get, "MASTER_PORT", 1, 65535);
  if (!port.ok())
    return port.status();
  const char *isTaken = get("TORCHELASTIC_USE_AGENT_STORE");
  bool useNext = isTaken && std::strcmp(isTaken, "True") == 0;
  if (!useNext)
    return toString(TcpAddress{host, *port});
  return toString(
      TcpAddress{host, *port + 1, std::min(kNextPorts, 65535 - *port)});
}

std::string readProcess(pid_t process, const char *what) {
  std::ifstream file(absl::StrCat("/proc/", process, "/", what));
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

/// A field of a process's stat file after its name, which may contain anything.
/// Empty if the process has ended.
std::string statField(pid_t process, size_t field) {
  const std::string text = readProcess(process, "stat");
  const size_t end = text.rfind(')');
  if (end == std::string::npos)
    return {};
  std::vector<std::string> fields = absl::StrSplit(text.substr(end), ' ');
  return fields.size() > field ? fields[field] : std::string();
}

/// The process that has started all ranks of this host: the nearest ancestor
/// that does not belong to a rank itself, as a script around one does.
pid_t findStarter(const Launcher &launcher) {
  constexpr size_t kParent = 2;
  const std::string variable = absl::StrCat(launcher.rank, "=");
  pid_t process = getppid();
  while (process > 1) {
    const std::string variables = readProcess(process, "environ");
    const std::vector<absl::string_view> all = absl::StrSplit(variables, '\0');
    pid_t parent = 0;
    if (std::none_of(all.begin(), all.end(),
                     [&](absl::string_view text) {
                       return absl::StartsWith(text, variable);
                     }) ||
        !absl::SimpleAtoi(statField(process, kParent), &parent))
      break;
    process = parent;
  }
  return process;
}

/// The launcher's name for the run; empty if it has none.
std::string nameOfJob(const Launcher &launcher, const Environment &get) {
  std::string job;
  for (const char *name : launcher.job)
    if (const char *text = get(name))
      absl::StrAppend(&job, job.empty() ? "" : "-", text);
  return job;
}

/// Which process has started this host's ranks, and when, in ticks since the
/// host booted.
std::string describeStarter(const Launcher &launcher) {
  constexpr size_t kStart = 20;
  const pid_t starter = findStarter(launcher);
  return absl::StrCat(starter, "-", statField(starter, kStart));
}

/// A folder that only this user can reach.
absl::StatusOr<std::string> ownFolder() {
  std::string path = absl::StrCat("/tmp/bagua-", geteuid());
  mkdir(path.c_str(), 0700);
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0)
    return absl::UnavailableError(
        absl::StrCat("can't make '", path, "': ", std::strerror(errno)));
  if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() ||
      (found.st_mode & 077) != 0)
    return absl::PermissionDeniedError(absl::StrCat(
        "'", path, "': expected a folder that this user alone can reach"));
  return path;
}

/// Where rank 0 listens for other hosts. Its host often resolves its own name
/// to an address that others can't reach; then it listens on all interfaces
/// unless it is told one.
absl::StatusOr<std::string> listeningPlace(const std::string &place,
                                           const std::string &interface) {
  auto address = parseTcpAddress(place);
  if (!address.ok() || isLoopback(address->host) ||
      address->host == "localhost")
    return place;
  auto found = lookUp(address->host);
  if (!found.ok() || !isLoopback(*found))
    return place;
  auto own = interface.empty() ? absl::StatusOr<std::string>("0.0.0.0")
                               : addressOfInterface(interface);
  if (!own.ok())
    return own.status();
  address->host = *std::move(own);
  return toString(*address);
}

/// The text as a valid file name.
std::string fileName(const std::string &job) {
  std::string name;
  for (char c : job)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return name;
}

} // namespace

absl::StatusOr<std::optional<Launch>> findLaunch(const Environment &get) {
  for (const Launcher &launcher : launchers()) {
    if (!hasStarted(launcher, get))
      continue;
    Launch launch;
    launch.launcher = launcher.name;
    auto size = readNumber(launcher, get, launcher.size, 1, 1 << 24);
    if (!size.ok())
      return size.status();
    auto rank = readNumber(launcher, get, launcher.rank, 0, *size);
    if (!rank.ok())
      return rank.status();
    if (launcher.localSize && get(launcher.localSize)) {
      auto local = readNumber(launcher, get, launcher.localSize, 1, *size + 1);
      if (!local.ok())
        return local.status();
      launch.localSize = *local;
    } else if (launcher.hosts && get(launcher.hosts)) {
      auto hosts = readNumber(launcher, get, launcher.hosts, 1, *size + 1);
      if (!hosts.ok())
        return hosts.status();
      launch.localSize = *hosts == 1 ? *size : 0;
    }
    auto address = findAddress(launcher, get);
    if (!address.ok())
      return address.status();
    launch.rank = *rank;
    launch.size = *size;
    launch.address = *address;
    launch.job = nameOfJob(launcher, get);
    launch.isJobNamed = !launch.job.empty();
    if (!launch.isJobNamed)
      launch.job = describeStarter(launcher);
    return launch;
  }
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<World>>
connectLaunched(const Launch &launch, const std::string &rendezvous,
                ProcessOptions options) {
  options.rank = launch.rank;
  options.size = launch.size;
  options.ordersByHost = true;
  if (options.store) {
    // The host of rank 0, with a free port.
    if (options.address.empty() && options.interface.empty() &&
        !launch.address.empty())
      options.address = absl::StrCat(
          launch.address.substr(0, launch.address.rfind(':')), ":0");
    return connectProcesses(options);
  }
  std::string place = rendezvous.empty() ? options.address : rendezvous;
  if (place.empty())
    place = launch.address;
  if (place.empty() && launch.size == 1)
    place = "127.0.0.1:0"; // no other rank connects
  bool isOwnFile = place.empty() && launch.localSize == launch.size;
  if (isOwnFile) {
    absl::StatusOr<std::string> folder = ownFolder();
    if (!folder.ok())
      return folder.status();
    place = absl::StrCat(*folder, "/", fileName(launch.job));
  }
  if (place.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        launch.launcher, " names no address at which the run's ", launch.size,
        " processes can meet: expected a rendezvous, such as 10.0.0.1:29500 or "
        "a file that all of them can reach"));
  if (place.find('/') != std::string::npos) {
    options.store = createFileStore(place);
  } else {
    options.address = place;
    if (launch.rank == 0 && launch.localSize != launch.size) {
      auto listening = listeningPlace(place, options.interface);
      if (!listening.ok())
        return listening.status();
      options.address = *std::move(listening);
    }
    // Others may meet at the next ports.
    if (options.run.empty() && launch.isJobNamed)
      options.run = launch.job;
  }
  absl::StatusOr<std::unique_ptr<World>> world = connectProcesses(options);
  if (!isOwnFile)
    return world;
  // All ranks have come, or none needs the file any more.
  if (launch.rank == 0)
    unlink(place.c_str());
  if (!world.ok())
    return withMessage(world.status(),
                       absl::StrCat(world.status().message(),
                                    " (ranks meet by '", place, "')"));
  return world;
}

} // namespace bagua::runtime
