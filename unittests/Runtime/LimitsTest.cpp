//===- LimitsTest.cpp - Where this host allows too little -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits of processes (files, descriptors), lengths that grow with the run
// (ranks, names), and processes that a rank forks. Whoever meets a limit says
// so at once, by its name; nobody is killed by a signal.
//
//===----------------------------------------------------------------------===//
#include "Communication/Rendezvous/MeetingMessages.h"
#include "Communication/Secret.h"
#include "Communication/SharedMemory/SharedRegion.h"
#include "CommunicatorBackends.h"

#include "bagua/Runtime/Checkpoint.h"
#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Processes.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include <atomic>
#include <csignal>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace bagua::runtime {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// What `body` returns in a forked process, or how that ended.
class Child {
public:
  explicit Child(const std::function<std::string()> &body) {
    EXPECT_EQ(pipe(ends), 0);
    // A sanitizer writes what is left to write at a child's end, to a file that
    // may be larger than the child's limit.
    std::fflush(nullptr);
    process = fork();
    if (process != 0) {
      close(ends[1]);
      return;
    }
    const std::string text = body();
    _exit(write(ends[1], text.data(), text.size()) ==
                  static_cast<ssize_t>(text.size())
              ? 0
              : 1);
  }
  ~Child() {
    if (process > 0) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
    close(ends[0]);
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  std::string await() {
    std::string text(4096, '\0');
    const ssize_t got = read(ends[0], text.data(), text.size());
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    int status = 0;
    waitpid(std::exchange(process, 0), &status, 0);
    return WIFSIGNALED(status)
               ? absl::StrCat("killed by ", strsignal(WTERMSIG(status)))
               : text;
  }
  /// Whether it ends by itself, once it has had `milliseconds` for that.
  bool endsWithin(int milliseconds) {
    for (; milliseconds > 0; milliseconds -= 10) {
      siginfo_t info = {};
      if (waitid(P_PID, static_cast<id_t>(process), &info,
                 WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid != 0)
        return true;
      usleep(10'000);
    }
    return false;
  }

private:
  int ends[2] = {-1, -1};
  pid_t process = 0;
};

void setLimit(int which, rlim_t most) {
  const rlimit limit = {most, most};
  setrlimit(static_cast<__rlimit_resource_t>(which), &limit);
}

class LimitsTest : public testing::Test {
protected:
  LimitsTest()
      : path(testing::TempDir() + "/bagua-limits-" + std::to_string(getpid())) {
    std::remove(path.c_str());
  }
  ~LimitsTest() override { std::remove(path.c_str()); }

  ProcessOptions optionsOf(int rank, int size) const {
    ProcessOptions options;
    options.rank = rank;
    options.size = size;
    options.store = createFileStore(path);
    options.timeout = kLongTime;
    options.patience = kLongTime;
    options.communicatorTimeout = kLongTime;
    return options;
  }

  const std::string path;
};

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST_F(LimitsTest, a_file_may_be_too_small_for_what_is_asked) {
  const std::string said =
      Child([] {
        setLimit(RLIMIT_FSIZE, 1 << 20);
        return SharedRegion::create(2, 1 << 20).status().ToString();
      }).await();
  EXPECT_EQ(said,
            "RESOURCE_EXHAUSTED: shared memory of 2 ranks: needs a file of "
            "2097152 bytes, this process may write at most 1048576 (ulimit "
            "-f)");
}

// Of as much as there is: of the host's memory that is many times the limit.
TEST_F(LimitsTest, ranks_share_what_a_file_may_have) {
  const std::string said =
      Child([] {
        setLimit(RLIMIT_FSIZE, 1 << 20);
        auto first = SharedRegion::create(2, 0);
        if (!first.ok())
          return first.status().ToString();
        auto second = SharedRegion::open(
            Descriptor(dup((*first)->descriptor())), 2, 0, 1);
        if (!second.ok())
          return second.status().ToString();
        if (!(*second)->allocate(1 << 19).ok())
          return std::string("no room");
        return (*second)->allocate(1).status().ToString();
      }).await();
  EXPECT_EQ(said,
            "RESOURCE_EXHAUSTED: shared memory: fewer than 4096 bytes in one "
            "piece are left of the rank's 524288, as limited by the size that "
            "was set, or by the file size limit (ulimit -f) of the process "
            "that created the memory");
}

TEST_F(LimitsTest, a_file_may_have_no_page) {
  const std::string said =
      Child([] {
        setLimit(RLIMIT_FSIZE, 100);
        return SharedRegion::create(1, 0).status().ToString();
      }).await();
  EXPECT_THAT(said, HasSubstr("may write at most 100 (ulimit -f)"));
}

TEST_F(LimitsTest, checkpoints_and_stores_say_that_a_file_is_too_large) {
  for (bool isStore : {false, true}) {
    const std::string said =
        Child([&] {
          setLimit(RLIMIT_FSIZE, 1000);
          const std::string bytes(5000, 'x');
          return (isStore ? createFileStore(path)->set("a", bytes)
                          : writeCheckpoint(path, bytes))
              .ToString();
        }).await();
    EXPECT_THAT(said, AnyOf(HasSubstr("needs a file of 5000 bytes"),
                            HasSubstr("needs a file of 5023 bytes")));
    EXPECT_THAT(said, HasSubstr("may write at most 1000 (ulimit -f)"));
  }
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

#ifndef __SANITIZE_THREAD__ // makes no threads in forked processes
/// How a rank gets on that may have `most` descriptors more; -1: any number.
std::string takePart(const ProcessOptions &options, int most) {
  const int next = dup(0);
  close(next);
  if (most >= 0)
    setLimit(RLIMIT_NOFILE, static_cast<rlim_t>(next + most));
  auto world = connectProcesses(options);
  if (!world.ok())
    return world.status().ToString();
  auto all = (*world)->createCommunicator({0, 1}, "all");
  absl::Status status = all.ok() ? (*all)->barrier() : all.status();
  if (!status.ok())
    return status.ToString();
  // Both are through before one leaves.
  status = (*all)->barrier();
  return "ok";
}

/// Of all that have ended.
double processorSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
}

// Every number from none to enough, for either rank, on one host and on two.
// The one that has too few says so by itself; the other one, where it hears of
// it, blames nobody else.
TEST_F(LimitsTest, who_has_no_descriptors_says_so) {
  for (bool isOneHost : {true, false})
    for (int limited : {0, 1}) {
      bool isEnough = false;
      for (int most = 0; most < 64 && !isEnough; ++most) {
        SCOPED_TRACE(absl::StrCat(isOneHost ? "one host" : "two hosts",
                                  ", rank ", limited, ": ", most));
        std::remove(path.c_str());
        auto optionsOn = [&](int rank) {
          ProcessOptions options = optionsOf(rank, 2);
          options.host = isOneHost ? "a" : std::to_string(rank);
          return options;
        };
        const double before = processorSeconds();
        Child other([&] { return takePart(optionsOn(1 - limited), -1); });
        const std::string said =
            Child([&] { return takePart(optionsOn(limited), most); }).await();
        isEnough = said == "ok";
        // Nobody tries again without a pause, for as long as others wait.
        EXPECT_LT(processorSeconds() - before, 3);
        EXPECT_THAT(said, AnyOf("ok", HasSubstr("Too many open files")));
        EXPECT_EQ(said.find("DEADLINE"), std::string::npos) << said;
        EXPECT_EQ(said.find(absl::StrCat("rank ", 1 - limited, " is lost")),
                  std::string::npos)
            << said;
        if (!isEnough && !other.endsWithin(300))
          continue; // it has not met the limited one
        const std::string heard = other.await();
        EXPECT_EQ(heard == "ok", isEnough) << heard;
        EXPECT_THAT(heard,
                    AnyOf("ok", HasSubstr(absl::StrCat("rank ", limited)),
                          HasSubstr("Too many open files")));
      }
      EXPECT_TRUE(isEnough);
    }
}
#endif

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

// Each on a host of its own; the channel refuses what is too long.
TEST_F(LimitsTest, the_most_ranks_are_welcome) {
  JoinOptions options;
  options.rank = 1;
  options.size = kMostRanks;
  Joined joined;
  joined.secret = drawSecret();
  for (int rank = 0; rank < kMostRanks; ++rank)
    joined.hosts.push_back(rank);
  const ControlMessage hello = helloOf(options, 7, "run");
  ControlMessage welcome = welcomeOf(joined);
  welcome.proof = proofFor(hello, "run");
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  ControlChannel from{Descriptor(ends[0])}, to{Descriptor(ends[1])};
  from.queue(welcome);
  std::optional<ControlMessage> said;
  while (!said) {
    ASSERT_TRUE(from.flush().ok());
    ASSERT_TRUE(to.fill().ok());
    auto next = to.next();
    ASSERT_TRUE(next.ok()) << next.status();
    said = *std::move(next);
  }
  auto answer = readAnswer(*said, hello, "run", options);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)->hosts, joined.hosts);
}

TEST_F(LimitsTest, more_ranks_are_not) {
  EXPECT_EQ(connectProcesses(optionsOf(0, kMostRanks + 1)).status().message(),
            "expected at most 131072 ranks, found 131073");
}

TEST_F(LimitsTest, of_many_ranks_some_are_named) {
  EXPECT_EQ(listRanks({4, 5}), "4, 5");
  EXPECT_EQ(listRanks(firstMembers(1000)).substr(101),
            " 28, 29, 30, 31 and 968 more");
}

TEST_F(LimitsTest, names_of_hosts_have_an_end) {
  ProcessOptions options = optionsOf(0, 2);
  options.host = std::string(2000, 'h');
  EXPECT_EQ(connectProcesses(options).status().message(),
            "host: expected a name of at most 1024 bytes, found 2000");
}

class NamesTest : public testing::TestWithParam<TestBackend> {};

// Over the length of a message that would have ended the run.
TEST_P(NamesTest, names_of_communicators_have_an_end) {
  Worlds worlds = GetParam().createWorlds(2, kLongTime);
  onEachRank(2, [&](int rank) {
    absl::Status status =
        worlds[rank]
            ->createCommunicator({0, 1}, std::string(2 << 20, 'n'))
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "communicator '" + std::string(32, 'n') +
                                    "...': expected a name of at most 4096 "
                                    "bytes, found 2097152");
    // The run goes on.
    auto longest =
        worlds[rank]->createCommunicator({0, 1}, std::string(4096, 'n'));
    ASSERT_TRUE(longest.ok()) << longest.status();
    EXPECT_TRUE((*longest)->barrier().ok());
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, NamesTest, testing::ValuesIn(testBackends()),
                         [](const auto &test) { return test.param.name; });

//===----------------------------------------------------------------------===//
// Forked processes
//===----------------------------------------------------------------------===//

// As a worker that loads data does which looks at a param.
TEST_F(LimitsTest, forked_processes_see_memory_and_change_nothing) {
  auto region = SharedRegion::create(2, 1 << 20);
  ASSERT_TRUE(region.ok()) << region.status();
  auto memory = (*region)->allocate(1 << 16);
  ASSERT_TRUE(memory.ok()) << memory.status();
  std::memset(*memory, 7, 1 << 16);
  const std::string said =
      Child([&] {
        const bool isSeen = (*memory)[9999] == std::byte{7};
        std::memset(*memory, 8, 1 << 16);
        const bool isWritten = (*memory)[9999] == std::byte{8};
        // Of its own children, too.
        const std::string grandchild =
            Child([&] {
              return std::string((*memory)[1] == std::byte{8} ? "sees" : "no");
            }).await();
        return absl::StrCat(isSeen, isWritten, grandchild);
      }).await();
  EXPECT_EQ(said, "11sees");
  for (int i = 0; i < 1 << 16; ++i)
    ASSERT_EQ((*memory)[i], std::byte{7});
}

#ifndef __SANITIZE_THREAD__ // forks no process of several threads
// While other threads of the parent's make and destroy theirs. The first forks
// are those that matter: until then the other thread makes what all worlds
// share.
TEST_F(LimitsTest, forked_processes_make_worlds_of_their_own) {
  std::atomic<bool> isEnough = false;
  std::thread other([&] {
    while (!isEnough)
      createInProcessWorlds(1);
  });
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(Child([] {
                alarm(60); // what hangs is killed
                return absl::StrCat(createInProcessWorlds(2).size());
              }).await(),
              "2");
  isEnough = true;
  other.join();
}
#endif

// What is no more is mapped nowhere: another may be there.
TEST_F(LimitsTest, memory_that_is_gone_is_not_mapped_again) {
  std::byte *gone = nullptr;
  {
    auto region = SharedRegion::create(1, 1 << 20);
    ASSERT_TRUE(region.ok());
    gone = *(*region)->allocate(1);
  }
  const std::string said = Child([&] {
                             *reinterpret_cast<volatile char *>(gone) = 1;
                             return std::string("mapped");
                           }).await();
  EXPECT_THAT(said, AnyOf("killed by Segmentation fault", "")); // by ASan
}

} // namespace
} // namespace bagua::runtime
