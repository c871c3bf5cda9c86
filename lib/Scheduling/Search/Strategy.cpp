//===- Strategy.cpp - Published systems as rows of decisions --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of strategies.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Strategy.h"

#include <algorithm>
#include <array>

using namespace bagua;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

using Bucketing = BucketPolicy;
using Policy = SchedulePolicy;

// Options, under the names that each system has for them.
static constexpr StrategyOption kAllowedUpdates{"updates",
                                                Setting::AllowedUpdates};
static constexpr StrategyOption kBuckets{"buckets", Setting::Buckets};
static constexpr StrategyOption kBuffer{"buffer-bytes", Setting::CapBytes};
static constexpr StrategyOption kCap{"cap-bytes", Setting::CapBytes};
static constexpr StrategyOption kCredit{"credit-bytes", Setting::CreditBytes};
static constexpr StrategyOption kCycle{"cycle-ns", Setting::CycleNs};
static constexpr StrategyOption kEvaluations{"evaluations",
                                             Setting::Evaluations};
static constexpr StrategyOption kFirst{"first-bytes", Setting::FirstBytes};
static constexpr StrategyOption kForm{"form", Setting::Form};
static constexpr StrategyOption kFusion{"fusion", Setting::BucketPolicy};
static constexpr StrategyOption kMemory{"memory", Setting::MemoryBytes};
static constexpr StrategyOption kOthers{"others", Setting::Others};
static constexpr StrategyOption kOverlap{"overlap", Setting::Schedule};
static constexpr StrategyOption kPartition{"partition-bytes",
                                           Setting::PartitionBytes};
static constexpr StrategyOption kPolicy{"policy", Setting::Schedule};
static constexpr StrategyOption kServers{"servers", Setting::Servers};
static constexpr StrategyOption kUpdate{"update", Setting::ShardedUpdate};
static constexpr StrategyOption kUpdates{"updates", Setting::UpdatesBy};
static constexpr StrategyOption kWire{"wire", Setting::WireType};

static constexpr Strategy kStrategies[] = {
    {.name = "auto",
     .paper = "a search over all other strategies and their options, by "
              "simulation; of equally fast plans it takes the one with the "
              "fewest collectives",
     .options = {kEvaluations, kWire, kAllowedUpdates, kMemory},
     .use = Strategy::Use::Search},
    {.name = "bagua-allreduce",
     .paper = "Gan et al., BAGUA, VLDB 2021",
     .buckets = {.policy = Bucketing::Size, .capBytes = 10485760},
     .form = FormKind::Leader,
     .options = {kFusion, kCap, kWire, kForm, kOverlap, kUpdates, kMemory}},
    {.name = "blueconnect",
     .paper = "Cho et al., BlueConnect, MLSys 2019",
     .form = FormKind::Multilevel,
     .options = {kWire, kForm, kUpdates, kMemory}},
    {.name = "bsp-a2a",
     .paper = "Valiant, CACM 1990: one all_reduce a gradient, after backward",
     .schedule = {.policy = Policy::Bsp},
     .options = {kWire, kForm, kUpdates, kMemory}},
    {.name = "bsp-ps",
     .paper = "Li et al., Parameter Server, OSDI 2014, without overlap",
     .form = FormKind::Servers,
     .schedule = {.policy = Policy::Bsp},
     .options = {kWire, kServers, kUpdates, kMemory}},
    {.name = "byteps",
     .paper = "Jiang et al., BytePS, OSDI 2020",
     .buckets = {.partitionBytes = 4096000},
     .form = FormKind::RailServers,
     .schedule = {.policy = Policy::Priority, .creditBytes = 8192000},
     .options = {kPartition, kWire, kForm, kServers, kCredit, kUpdates,
                 kMemory}},
    {.name = "bytescheduler-a2a",
     .paper = "Peng et al., ByteScheduler, SOSP 2019",
     .buckets = {.partitionBytes = 4096000},
     .schedule = {.policy = Policy::Priority, .creditBytes = 8192000},
     .isUpdatedByRuntime = true,
     .options = {kPartition, kWire, kForm, kCredit, kUpdates, kMemory}},
    {.name = "bytescheduler-ps",
     .paper = "Peng et al., ByteScheduler, SOSP 2019, with a parameter server",
     .buckets = {.partitionBytes = 4096000},
     .form = FormKind::Servers,
     .schedule = {.policy = Policy::Priority, .creditBytes = 8192000},
     .isUpdatedByRuntime = true,
     .options = {kPartition, kWire, kServers, kCredit, kUpdates, kMemory}},
    {.name = "custom",
     .paper = "a decision for each bucket, as auto writes them",
     .buckets = {.policy = Bucketing::List},
     .options = {kBuckets, kOthers, kPolicy, kCredit, kServers, kUpdate,
                 kUpdates, kWire, kMemory},
     .use = Strategy::Use::Explicit},
    {.name = "ddp",
     .paper = "Li et al., PyTorch Distributed, VLDB 2020",
     .buckets = {.policy = Bucketing::Ddp,
                 .firstBytes = kDdpFirstBytes,
                 .capBytes = kDdpCapBytes},
     .options = {kFirst, kCap, kWire, kForm, kUpdates, kMemory}},
    {.name = "dear",
     .paper = "Zhang et al., DeAR, ICDCS 2023",
     .buckets = {.policy = Bucketing::Size, .capBytes = 25000000},
     .form = FormKind::Halves,
     .schedule = {.policy = Policy::Decoupled},
     .isUpdatedByRuntime = true,
     .options = {kCap, kWire, kUpdate, kForm, kUpdates, kMemory}},
    {.name = "horovod",
     .paper = "Sergeev and Del Balso, Horovod, 2018",
     .buckets = {.policy = Bucketing::Cycle,
                 .capBytes = 134217728,
                 .cycleNs = kHorovodCycleNs},
     .options = {kBuffer, kCycle, kWire, kForm, kUpdates, kMemory}},
    {.name = "mg-wfbp",
     .paper = "Shi et al., MG-WFBP, INFOCOM 2019",
     .buckets = {.policy = Bucketing::MgWfbp},
     .options = {kForm, kWire, kUpdates, kMemory}},
    {.name = "p3",
     .paper =
         "Jayarajan et al., Priority-based Parameter Propagation, SysML 2019",
     .buckets = {.partitionBytes = 200000},
     .form = FormKind::Servers,
     .schedule = {.policy = Policy::Priority},
     .isUpdatedByRuntime = true,
     .options = {kPartition, kWire, kServers, kCredit, kUpdates, kMemory}},
    {.name = "wfbp-a2a",
     .paper = "Zhang et al., Poseidon, ATC 2017",
     .options = {kWire, kForm, kUpdates, kMemory}},
    {.name = "wfbp-ps",
     .paper = "Zhang et al., Poseidon, ATC 2017, with a parameter server",
     .form = FormKind::Servers,
     .options = {kWire, kServers, kUpdates, kMemory}},
};

StrategyList bagua::getStrategies() {
  return {std::begin(kStrategies), std::end(kStrategies)};
}

const Strategy *bagua::findStrategy(std::string_view name) {
  for (const Strategy &strategy : kStrategies)
    if (strategy.name == name)
      return &strategy;
  return nullptr;
}

const StrategyOption *Strategy::findOption(Setting setting) const {
  for (const StrategyOption &option : options)
    if (option.setting == setting)
      return &option;
  return nullptr;
}
