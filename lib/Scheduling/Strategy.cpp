//===- Strategy.cpp - Published systems as rows of decisions --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table, and what is made from a row but for passes.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Strategy.h"

#include <algorithm>
#include <array>

using namespace bagua;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

using Bucketing = BucketPolicy;
using Policy = SchedulePolicy;

static constexpr auto kLossless = StrategyClass::Lossless;
static constexpr Wire kAsIs;

// Options, under the names that the systems have for them.
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
static constexpr StrategyOption kOverlap{"overlap", Setting::Schedule};
static constexpr StrategyOption kPartition{"partition-bytes",
                                           Setting::PartitionBytes};
static constexpr StrategyOption kPolicy{"policy", Setting::Schedule};
static constexpr StrategyOption kServers{"servers", Setting::Servers};
static constexpr StrategyOption kUpdate{"update", Setting::ShardedUpdate};
static constexpr StrategyOption kUpdates{"updates", Setting::UpdatesBy};
static constexpr StrategyOption kWire{"wire", Setting::WireType};

static constexpr Strategy kStrategies[] = {
    {"auto",
     "the best of all others and of their options, by simulation; of equals "
     "the one of fewest collectives",
     kLossless,
     kDataParallel,
     {},
     kAsIs,
     FormKind::Flat,
     {},
     /*isUpdatedByRuntime=*/false,
     {kEvaluations, kWire, kAllowedUpdates, kMemory},
     Strategy::Use::Search},
    {"bagua-allreduce",
     "Gan et al., BAGUA, VLDB 2021",
     kLossless,
     kDataParallel,
     {Bucketing::Size, 0, 10485760},
     kAsIs,
     FormKind::Leader,
     {Policy::Wfbp},
     /*isUpdatedByRuntime=*/false,
     {kFusion, kCap, kWire, kForm, kOverlap, kUpdates, kMemory}},
    {"blueconnect",
     "Cho et al., BlueConnect, MLSys 2019",
     kLossless,
     kDataParallel,
     {Bucketing::None},
     kAsIs,
     FormKind::Multilevel,
     {Policy::Wfbp},
     /*isUpdatedByRuntime=*/false,
     {kWire, kForm, kUpdates, kMemory}},
    {"bsp-a2a",
     "Valiant, CACM 1990: one all_reduce a gradient, after backward",
     kLossless,
     kDataParallel,
     {Bucketing::None},
     kAsIs,
     FormKind::Flat,
     {Policy::Bsp},
     /*isUpdatedByRuntime=*/false,
     {kWire, kForm, kUpdates, kMemory}},
    {"bsp-ps",
     "Li et al., Parameter Server, OSDI 2014, without overlap",
     kLossless,
     kDataParallel,
     {Bucketing::None},
     kAsIs,
     FormKind::Servers,
     {Policy::Bsp},
     /*isUpdatedByRuntime=*/false,
     {kWire, kServers, kUpdates, kMemory}},
    {"byteps",
     "Jiang et al., BytePS, OSDI 2020",
     kLossless,
     kDataParallel,
     {Bucketing::None, 0, 0, 0, 4096000},
     kAsIs,
     FormKind::RailServers,
     {Policy::Priority, 8192000},
     /*isUpdatedByRuntime=*/false,
     {kPartition, kWire, kForm, kServers, kCredit, kUpdates, kMemory}},
    {"bytescheduler-a2a",
     "Peng et al., ByteScheduler, SOSP 2019",
     kLossless,
     kDataParallel,
     {Bucketing::None, 0, 0, 0, 4096000},
     kAsIs,
     FormKind::Flat,
     {Policy::Priority, 8192000},
     /*isUpdatedByRuntime=*/true,
     {kPartition, kWire, kForm, kCredit, kUpdates, kMemory}},
    {"bytescheduler-ps",
     "Peng et al., ByteScheduler, SOSP 2019, with a parameter server",
     kLossless,
     kDataParallel,
     {Bucketing::None, 0, 0, 0, 4096000},
     kAsIs,
     FormKind::Servers,
     {Policy::Priority, 8192000},
     /*isUpdatedByRuntime=*/true,
     {kPartition, kWire, kServers, kCredit, kUpdates, kMemory}},
    {"custom",
     "every bucket by itself: what auto finds",
     kLossless,
     kDataParallel,
     {Bucketing::List},
     kAsIs,
     FormKind::Flat,
     {Policy::Wfbp},
     /*isUpdatedByRuntime=*/false,
     {kBuckets, kWire, kPolicy, kCredit, kUpdates, kMemory},
     Strategy::Use::Explicit},
    {"ddp",
     "Li et al., PyTorch Distributed, VLDB 2020",
     kLossless,
     kDataParallel,
     {Bucketing::Ddp, kDdpFirstBytes, kDdpCapBytes},
     kAsIs,
     FormKind::Flat,
     {Policy::Wfbp},
     /*isUpdatedByRuntime=*/false,
     {kFirst, kCap, kWire, kForm, kUpdates, kMemory}},
    {"dear",
     "Zhang et al., DeAR, ICDCS 2023",
     kLossless,
     kDataParallel,
     {Bucketing::Size, 0, 25000000},
     kAsIs,
     FormKind::Halves,
     {Policy::Decoupled, 0},
     /*isUpdatedByRuntime=*/true,
     {kCap, kWire, kUpdate, kForm, kUpdates, kMemory}},
    {"horovod",
     "Sergeev and Del Balso, Horovod, 2018",
     kLossless,
     kDataParallel,
     {Bucketing::Cycle, 0, 134217728, kHorovodCycleNs},
     kAsIs,
     FormKind::Flat,
     {Policy::Wfbp},
     /*isUpdatedByRuntime=*/false,
     {kBuffer, kCycle, kWire, kForm, kUpdates, kMemory}},
    {"mg-wfbp",
     "Shi et al., MG-WFBP, INFOCOM 2019",
     kLossless,
     kDataParallel,
     {Bucketing::MgWfbp},
     kAsIs,
     FormKind::Flat,
     {Policy::Wfbp},
     /*isUpdatedByRuntime=*/false,
     {kForm, kWire, kUpdates, kMemory}},
    {"p3",
     "Jayarajan et al., Priority-based Parameter Propagation, SysML 2019",
     kLossless,
     kDataParallel,
     {Bucketing::None, 0, 0, 0, 200000},
     kAsIs,
     FormKind::Servers,
     {Policy::Priority, 0},
     /*isUpdatedByRuntime=*/true,
     {kPartition, kWire, kServers, kCredit, kUpdates, kMemory}},
    {"wfbp-a2a",
     "Zhang et al., Poseidon, ATC 2017",
     kLossless,
     kDataParallel,
     {Bucketing::None},
     kAsIs,
     FormKind::Flat,
     {Policy::Wfbp},
     /*isUpdatedByRuntime=*/false,
     {kWire, kForm, kUpdates, kMemory}},
    {"wfbp-ps",
     "Zhang et al., Poseidon, ATC 2017, with a parameter server",
     kLossless,
     kDataParallel,
     {Bucketing::None},
     kAsIs,
     FormKind::Servers,
     {Policy::Wfbp},
     /*isUpdatedByRuntime=*/false,
     {kWire, kServers, kUpdates, kMemory}},
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

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

const StrategyOption *Strategy::findOption(Setting setting) const {
  for (const StrategyOption &option : options)
    if (option.setting == setting)
      return &option;
  return nullptr;
}

static std::string updatesWord(bool isUpdatedByRuntime,
                               const UserChoices &choices) {
  UpdatesBy byProgram =
      choices.allows(UpdatesBy::Late) ? UpdatesBy::Late : UpdatesBy::Program;
  return std::string(
      wordOf(isUpdatedByRuntime ? UpdatesBy::Runtime : byProgram));
}

std::string Strategy::defaultOf(Setting setting) const {
  switch (setting) {
  case Setting::BucketPolicy:
    return std::string(wordOf(buckets.policy));
  case Setting::FirstBytes:
    return std::to_string(buckets.firstBytes);
  case Setting::CapBytes:
    return std::to_string(buckets.capBytes);
  case Setting::CycleNs:
    return std::to_string(buckets.cycleNs);
  case Setting::PartitionBytes:
    return std::to_string(buckets.partitionBytes);
  case Setting::Buckets:
    return "";
  case Setting::WireType:
    return std::string(wordOf(wire.type));
  case Setting::Form:
    return std::string(wordOf(hierarchyOf(form)));
  case Setting::Servers:
    return std::string(wordOf(formBit(form) & kServerForms ? ServerUse::Spread
                                                           : ServerUse::None));
  case Setting::ShardedUpdate:
    return std::string(wordOf(UpdatedPart::Whole));
  case Setting::Schedule:
    return std::string(wordOf(schedule.policy));
  case Setting::CreditBytes:
    return std::to_string(schedule.creditBytes);
  case Setting::UpdatesBy:
    return updatesWord(isUpdatedByRuntime, {});
  case Setting::AllowedUpdates:
    return std::string(wordOf(AllowedUpdates::Any));
  case Setting::MemoryBytes:
    return "0";
  case Setting::Evaluations:
    return std::to_string(kDefaultEvaluations);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Plans and texts
//===----------------------------------------------------------------------===//

static bool isUpdatedByRuntime(const Strategy &strategy,
                               const UserChoices &choices) {
  return choices.updates == AllowedUpdates::Any
             ? strategy.isUpdatedByRuntime
             : choices.allows(UpdatesBy::Runtime);
}

std::optional<CommunicationPlan>
bagua::planOf(const Strategy &strategy, const CommunicationProblem &problem,
              const UserChoices &choices) {
  bool isOwnWire = choices.wire == strategy.wire;
  bool needsServers = (formBit(strategy.form) & kServerForms) != 0;
  if (strategy.use != Strategy::Use::Published ||
      strategy.relaxation != kDataParallel ||
      (!isOwnWire && !strategy.findOption(Setting::WireType)) ||
      (needsServers && !problem.canServeAll()))
    return std::nullopt;
  CommunicationPlan plan;
  plan.buckets = planBuckets(problem, strategy.buckets, formBit(strategy.form),
                             choices.wire);
  plan.scheduling = strategy.schedule;
  plan.isUpdatedByRuntime = isUpdatedByRuntime(strategy, choices);
  return plan;
}

/// ` option=value` where the value is not what the row says anyway.
static std::string changeOf(const Strategy &strategy, Setting setting,
                            const std::string &value) {
  const StrategyOption *option = strategy.findOption(setting);
  if (!option || value == strategy.defaultOf(setting))
    return "";
  return " " + std::string(option->name) + "=" + value;
}

static std::string textOf(const Strategy &strategy,
                          const std::string &changes) {
  std::string name(strategy.name);
  return changes.empty() ? name : name + "{" + changes.substr(1) + "}";
}

std::string bagua::textOf(const Strategy &strategy,
                          const UserChoices &choices) {
  return ::textOf(
      strategy, changeOf(strategy, Setting::WireType,
                         std::string(wordOf(choices.wire.type))) +
                    changeOf(strategy, Setting::UpdatesBy,
                             updatesWord(isUpdatedByRuntime(strategy, choices),
                                         choices)) +
                    changeOf(strategy, Setting::MemoryBytes,
                             std::to_string(choices.memoryBytes)));
}

/// The wire of all buckets, if they have one; else none.
static Wire commonWire(const std::vector<PlannedBucket> &buckets) {
  bool isCommon = std::all_of(buckets.begin(), buckets.end(),
                              [&](const PlannedBucket &bucket) {
                                return bucket.wire == buckets.front().wire;
                              });
  return isCommon && !buckets.empty() ? buckets.front().wire : Wire();
}

std::string bagua::textOf(const CommunicationPlan &plan,
                          const UserChoices &choices) {
  const Strategy &row =
      *std::find_if(std::begin(kStrategies), std::end(kStrategies),
                    [](const Strategy &entry) {
                      return entry.use == Strategy::Use::Explicit;
                    });
  Wire wire = commonWire(plan.buckets);
  std::string changes;
  auto change = [&](Setting setting, const std::string &value) {
    changes += changeOf(row, setting, value);
  };
  change(Setting::Buckets, printBuckets(plan.buckets, wire));
  change(Setting::Schedule, std::string(wordOf(plan.scheduling.policy)));
  if (plan.scheduling.policy == SchedulePolicy::Priority)
    changes += " " + std::string(row.findOption(Setting::CreditBytes)->name) +
               "=" + std::to_string(plan.scheduling.creditBytes);
  change(Setting::UpdatesBy, updatesWord(plan.isUpdatedByRuntime, choices));
  change(Setting::WireType, std::string(wordOf(wire.type)));
  change(Setting::MemoryBytes, std::to_string(choices.memoryBytes));
  return ::textOf(row, changes);
}
