//===- ForkedRanks.cpp - Ranks as processes, without a launcher -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies are forked without exec, so they have everything that was read before.
//
//===----------------------------------------------------------------------===//
#include "bagua/Replay/ForkedRanks.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>

namespace bagua::replay {

absl::StatusOr<ForkedRanks> ForkedRanks::fork(int size) {
  ForkedRanks ranks;
  ranks.place.launcher = "bagua-run";
  ranks.place.size = ranks.place.localSize = size;
  const pid_t first = getpid();
  // The parent of this process may have made it ignore SIGCHLD.
  signal(SIGCHLD, SIG_DFL);
  ranks.place.job = absl::StrCat("run-", first);
  for (int rank = 1; rank < size; ++rank) {
    pid_t copy = ::fork();
    if (copy < 0) {
      std::string why = std::strerror(errno);
      ranks.join({}).IgnoreError();
      return absl::ResourceExhaustedError(
          absl::StrCat("no process for rank ", rank, ": ", why));
    }
    if (copy == 0) {
      // This also covers a rank 0 that has ended meanwhile.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != first)
        _exit(1);
      ranks.place.rank = rank;
      ranks.copies.clear();
      return ranks;
    }
    ranks.copies.push_back(copy);
  }
  return ranks;
}

std::string ForkedRanks::hostOf(const runtime::Launch &launch, int64_t hosts) {
  if (launch.launcher != "bagua-run")
    return {};
  return absl::StrCat("host ", launch.rank * (hosts > 0 ? hosts : launch.size) /
                                   launch.size);
}

absl::Status ForkedRanks::join(std::chrono::nanoseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  std::vector<std::string> bad;
  for (size_t i = 0; i < copies.size(); ++i) {
    int status = 0;
    while (true) {
      pid_t ended = waitpid(copies[i], &status, WNOHANG);
      if (ended == copies[i] || (ended < 0 && errno != EINTR))
        break; // or it was reaped already
      // SIGKILL also ends a stopped copy.
      if (std::chrono::steady_clock::now() >= end)
        kill(copies[i], SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (WIFSIGNALED(status))
      bad.push_back(absl::StrCat("rank ", i + 1, " by signal ",
                                 WTERMSIG(status), " (",
                                 strsignal(WTERMSIG(status)), ")"));
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      bad.push_back(
          absl::StrCat("rank ", i + 1, " with status ", WEXITSTATUS(status)));
  }
  copies.clear();
  if (bad.empty())
    return absl::OkStatus();
  return absl::UnknownError(
      absl::StrCat("processes ended: ", absl::StrJoin(bad, ", ")));
}

} // namespace bagua::replay
