//===- LaunchTest.cpp - Ranks as a launcher started them ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each launcher by its environment alone.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Launch.h"

#include "Communication/Rendezvous/Sockets.h"
#include "CommunicatorBackends.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>
#include <string>
#include <unistd.h>

namespace bagua::runtime {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

absl::StatusOr<std::optional<Launch>> find(const Variables &variables) {
  return findLaunch([&](const char *name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Launch launchOf(const Variables &variables) {
  auto found = find(variables);
  EXPECT_TRUE(found.ok() && *found) << found.status();
  return found.ok() && *found ? **found : Launch();
}

std::string refusalOf(const Variables &variables) {
  absl::Status status = find(variables).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(LaunchTest, nobody_has_launched) {
  auto found = find({{"HOME", "/root"}, {"RANK", "3"}});
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

// Its agents keep the port.
TEST(LaunchTest, torchrun) {
  Variables variables = {{"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"LOCAL_WORLD_SIZE", "4"},
                         {"MASTER_ADDR", "node17"},
                         {"MASTER_PORT", "29500"},
                         {"TORCHELASTIC_RUN_ID", "none"},
                         {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  Launch launch = launchOf(variables);
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.localSize, 4);
  EXPECT_EQ(launch.address, "node17:29501-29516");
  EXPECT_EQ(launch.job, "none-29500");
  EXPECT_TRUE(launch.isJobNamed);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  variables["MASTER_ADDR"] = "fe80::1";
  EXPECT_EQ(launchOf(variables).address, "[fe80::1]:29500");
}

TEST(LaunchTest, open_mpi) {
  Launch launch = launchOf({{"OMPI_COMM_WORLD_RANK", "3"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"PMIX_NAMESPACE", "3104964609"}});
  EXPECT_EQ(launch.launcher, "Open MPI");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.localSize, 4);
  EXPECT_EQ(launch.address, "");
  EXPECT_EQ(launch.job, "3104964609");
}

// Who says nothing of the run is told from others by the parent process.
TEST(LaunchTest, mpich) {
  Launch launch = launchOf(
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}});
  EXPECT_EQ(launch.launcher, "MPICH");
  EXPECT_EQ(launch.size, 2);
  EXPECT_THAT(launch.job, testing::MatchesRegex("[0-9]+-[0-9]+"));
  EXPECT_FALSE(launch.isJobNamed);
}

TEST(LaunchTest, slurm) {
  Variables variables = {{"SLURM_PROCID", "2"},
                         {"SLURM_STEP_NUM_TASKS", "16"},
                         {"SLURM_STEP_NUM_NODES", "4"},
                         {"SLURM_JOB_ID", "4711"},
                         {"SLURM_STEP_ID", "0"}};
  Launch launch = launchOf(variables);
  EXPECT_EQ(launch.launcher, "Slurm");
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 16);
  EXPECT_EQ(launch.localSize, 0);
  EXPECT_EQ(launch.job, "4711-0");
  variables["SLURM_STEP_NUM_NODES"] = "1";
  EXPECT_EQ(launchOf(variables).localSize, 16);
  // srun may speak PMI with its tasks; mpiexec's own may run in a step.
  variables["PMI_RANK"] = "2";
  variables["PMI_SIZE"] = "16";
  EXPECT_EQ(launchOf(variables).launcher, "Slurm");
  variables["MPI_LOCALNRANKS"] = "4";
  EXPECT_EQ(launchOf(variables).launcher, "MPICH");
  // A batch script is no task of srun's.
  auto script = find({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}});
  EXPECT_TRUE(script.ok() && !*script);
}

TEST(LaunchTest, wrong_values_are_named) {
  EXPECT_THAT(refusalOf({{"RANK", "x"}, {"WORLD_SIZE", "2"}}),
              HasSubstr("torchrun has started this process, but RANK is 'x', "
                        "expected a number from 0 to 1"));
  EXPECT_THAT(refusalOf({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
              HasSubstr("RANK is '2', expected a number from 0 to 1"));
  EXPECT_THAT(refusalOf({{"RANK", "0"}, {"WORLD_SIZE", "0"}}),
              HasSubstr("WORLD_SIZE is '0', expected a number from 1"));
  EXPECT_THAT(
      refusalOf(
          {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "3"}}),
      HasSubstr("LOCAL_WORLD_SIZE is '3', expected a number from 1"));
  EXPECT_THAT(
      refusalOf({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}),
      HasSubstr("MASTER_PORT is not set"));
  EXPECT_THAT(refusalOf({{"RANK", "0"},
                         {"WORLD_SIZE", "2"},
                         {"MASTER_ADDR", ""},
                         {"MASTER_PORT", "29500"}}),
              HasSubstr("MASTER_ADDR is '', expected an address"));
}

TEST(LaunchTest, somewhere_to_meet_must_be_said) {
  Launch launch;
  launch.launcher = "Slurm";
  launch.size = 16;
  absl::Status status = connectLaunched(launch, "", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("Slurm names no address at which the run's 16 "
                        "processes can meet"));
  EXPECT_THAT(
      std::string(connectLaunched(launch, "here", {}).status().message()),
      HasSubstr("expected an address and a port, such as 10.0.0.1:29500, "
                "10.0.0.1:29500-29509 or [::1]:29500, found 'here'"));
}

// An address that the program says goes before the launcher's, which somebody
// else has; and two jobs may have the same ports.
TEST(LaunchTest, jobs_meet_at_an_address_of_the_programs) {
  auto taken = listenOn({"127.0.0.1", 0});
  ASSERT_TRUE(taken.ok()) << taken.status();
  const TcpAddress first = *addressOf(taken->number());
  const std::string range = toString({first.host, first.port, 24});
  onEachRank(8, [&](int thread) {
    Launch launch;
    launch.launcher = "Slurm";
    launch.rank = thread / 2;
    launch.size = 4;
    launch.job = thread % 2 ? "1-0" : "2-0";
    launch.isJobNamed = true;
    launch.address = toString(first);
    ProcessOptions options;
    options.timeout = kLongTime;
    const bool isOption = launch.rank % 2 == 0;
    options.address = isOption ? range : "";
    auto world = connectLaunched(launch, isOption ? "" : range, options);
    ASSERT_TRUE(world.ok()) << world.status();
    auto all = (*world)->createCommunicator(firstMembers(4), "all");
    ASSERT_TRUE(all.ok()) << all.status();
    const int64_t own = thread % 2;
    std::vector<int64_t> found(4);
    ASSERT_TRUE((*all)
                    ->gatherFromOwners(&own, found.data(), 4, DataType::Int64,
                                       4, firstMembers(4))
                    .ok());
    EXPECT_EQ(found, std::vector<int64_t>(4, own));
  });
}

TEST(LaunchTest, one_rank_meets_nobody) {
  Launch launch;
  launch.launcher = "Slurm";
  auto world = connectLaunched(launch, "", {});
  EXPECT_TRUE(world.ok()) << world.status();
}

// Ranks meet by the program's store, at the address of rank 0's launcher, but
// not at its port, which may be taken; each host's ranks come one after the
// other.
TEST(LaunchTest, a_store_of_the_programs_goes_before_the_launchers_address) {
  const std::string path =
      testing::TempDir() + "/bagua-launch-" + std::to_string(getpid());
  onEachRank(4, [&](int rank) {
    Launch launch;
    launch.launcher = "torchrun";
    launch.rank = rank;
    launch.size = 4;
    launch.address = "127.0.0.1:1";
    ProcessOptions options;
    options.store = createFileStore(path);
    options.host = rank % 2 ? "b" : "a";
    auto world = connectLaunched(launch, "", options);
    ASSERT_TRUE(world.ok()) << world.status();
    EXPECT_EQ((*world)->rank(), rank % 2 * 2 + rank / 2);
    EXPECT_EQ((*world)->hosts(), (std::vector<int>{0, 0, 1, 1}));
  });
  unlink(path.c_str());
}

} // namespace
} // namespace bagua::runtime
