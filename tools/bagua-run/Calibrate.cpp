//===- Calibrate.cpp - What collectives take on this machine --------------===//
//
// A plan of equal messages is replayed; a message's time is the step's by their
// number, with all that a session adds to it.
//
//===----------------------------------------------------------------------===//
#include "Calibrate.h"

#include "Replay.h"

#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/Parts.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace bagua::run {
namespace {

namespace fb = runtime::fb;

constexpr int64_t kLeastBytes = 1024, kMostBytes = int64_t{64} << 20;
/// A step touches so much, so that a buffer has left the caches when it is used
/// again; of small messages there would be too many.
constexpr int64_t kStepBytes = 2 * kMostBytes, kMostMessages = 128;
constexpr int64_t kSteps = 11;
constexpr int kSmallRounds = 7;
/// Large enough for threads that wait for it to go to sleep.
constexpr int64_t kAmongBytes = 1 << 20;

struct Kind {
  const char *name;
  fb::Opcode opcode;
  /// How the result, or the operand, is distributed.
  bool hasPart;
  bool isPartTheResult;
  fb::LayoutKind layout;
};
/// By name, which is the order in the table's text.
constexpr std::array<Kind, 5> kKinds = {
    {{"all_gather", fb::Opcode::AllGather, true, false, fb::LayoutKind::Shard},
     {"all_reduce", fb::Opcode::AllReduce, false, false, {}},
     {"broadcast", fb::Opcode::Broadcast, true, false, fb::LayoutKind::Root},
     {"reduce", fb::Opcode::Reduce, true, true, fb::LayoutKind::Root},
     {"reduce_scatter", fb::Opcode::ReduceScatter, true, true,
      fb::LayoutKind::Shard}}};

constexpr size_t kAllReduce = 1;

/// Bytes that cross a rank's link at least, per byte of the tensor.
double trafficOf(const Kind &kind, int ranks) {
  double part = (ranks - 1.0) / ranks;
  if (kind.opcode == fb::Opcode::AllReduce)
    return 2 * part;
  return kind.layout == fb::LayoutKind::Root ? 1 : part;
}

/// A step of messages of these sizes: all are given, then all are taken back.
absl::StatusOr<std::shared_ptr<const Plan>>
makePlan(const Kind &kind, int ranks, const std::vector<int64_t> &sizes) {
  fb::PlanT plan;
  plan.name = "calibrate";
  plan.streams = {"comm"};
  plan.cluster = std::make_unique<fb::ClusterT>();
  plan.cluster->axes.push_back(std::make_unique<fb::AxisT>());
  plan.cluster->axes[0]->name = "rank";
  plan.cluster->axes[0]->size = ranks;
  plan.arenas.push_back(std::make_unique<fb::ArenaT>());
  fb::ArenaT &arena = *plan.arenas[0];
  arena.name = "parts";
  auto addValue = [&](int64_t tensor, int64_t count) {
    plan.values.push_back(std::make_unique<fb::ValueT>());
    fb::ValueT &value = *plan.values.back();
    value.count = count;
    value.tensor = static_cast<int32_t>(tensor);
    if (tensor < 0) {
      value.arena = 0;
      value.offset = arena.bytes;
      int64_t part =
          kind.layout == fb::LayoutKind::Root ? count : partSize(count, ranks);
      arena.bytes += (part * int64_t{sizeof(float)} + 63) / 64 * 64;
      value.layout.push_back(std::make_unique<fb::LayoutEntryT>());
      value.layout[0]->kind = kind.layout;
      value.layout[0]->axes = {0};
    }
    return static_cast<uint32_t>(plan.values.size() - 1);
  };
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    int64_t count = sizes[i] / int64_t{sizeof(float)};
    plan.tensors.push_back(std::make_unique<fb::TensorT>());
    fb::TensorT &tensor = *plan.tensors.back();
    tensor.role = fb::Role::Value;
    tensor.name = absl::StrCat("message", i);
    tensor.shape = {count};
    tensor.given_by_program = true;
    tensor.users = {i};
    uint32_t whole = addValue(i, count);
    uint32_t part = kind.hasPart ? addValue(-1, count) : whole;
    plan.instructions.push_back(std::make_unique<fb::InstructionT>());
    fb::InstructionT &op = *plan.instructions.back();
    op.name = absl::StrCat(kind.name, i);
    op.opcode = kind.opcode;
    op.inputs = {kind.isPartTheResult ? whole : part};
    op.outputs = {kind.isPartTheResult ? part : whole};
    op.axes = {0};
    op.ready = {i};
  }
  for (const char *name : {"give", "take"})
    for (uint32_t i = 0; i < sizes.size(); ++i) {
      plan.program.push_back(std::make_unique<fb::ProgramOpT>());
      plan.program.back()->name = name;
      bool isGift = name == std::string("give");
      (isGift ? plan.program.back()->gives : plan.program.back()->waits) = {i};
    }
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  return Plan::fromBytes(
      runtime::finishPlan(builder, fb::Plan::Pack(builder, &plan)));
}

int64_t medianOf(std::vector<int64_t> times) {
  auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// The median time of a step.
absl::StatusOr<int64_t> measure(const Kind &kind, int ranks,
                                const std::vector<int64_t> &sizes,
                                std::chrono::nanoseconds timeout) {
  auto plan = makePlan(kind, ranks, sizes);
  if (!plan.ok())
    return plan.status();
  ReplayOptions options;
  options.timeout = timeout;
  options.steps = kSteps;
  auto result = replay(*plan, options);
  if (!result.ok())
    return result.status();
  return medianOf(result->stepNs);
}

/// What a small message takes among large ones, where threads go to sleep and
/// are woken: less is measured of small messages by themselves.
absl::StatusOr<int64_t> measureSmall(int ranks,
                                     std::chrono::nanoseconds timeout) {
  std::vector<int64_t> large(kMostMessages / 2, kAmongBytes), mixed;
  for (int64_t bytes : large) {
    mixed.push_back(bytes);
    mixed.push_back(kLeastBytes);
  }
  // A difference of two, so both are measured several times.
  std::vector<int64_t> differences;
  for (int round = 0; round < kSmallRounds; ++round) {
    auto largeNs = measure(kKinds[kAllReduce], ranks, large, timeout);
    if (!largeNs.ok())
      return largeNs;
    auto mixedNs = measure(kKinds[kAllReduce], ranks, mixed, timeout);
    if (!mixedNs.ok())
      return mixedNs;
    differences.push_back(*mixedNs - *largeNs);
  }
  return std::max<int64_t>(0, medianOf(differences)) /
         static_cast<int64_t>(large.size());
}

/// (bytes, ns) by ascending bytes.
using Table = std::vector<std::pair<int64_t, int64_t>>;

std::string print(const std::array<Table, kKinds.size()> &tables, int ranks) {
  // No time may be shorter than a latency and the traffic at the rate: the
  // lower bound goes by these two.
  int64_t least = INT64_MAX;
  for (const Table &table : tables)
    for (auto [bytes, ns] : table)
      least = std::min(least, ns);
  int64_t latencyNs = least / 2;
  double rate = 1;
  std::vector<std::string> entries;
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    std::vector<int64_t> numbers;
    for (auto [bytes, ns] : tables[kind]) {
      numbers.push_back(bytes);
      numbers.push_back(ns);
      rate = std::max(rate, trafficOf(kKinds[kind], ranks) *
                                static_cast<double>(bytes) * 1e9 /
                                static_cast<double>(ns - latencyNs));
    }
    entries.push_back(absl::StrCat("    ", kKinds[kind].name, " = array<i64: ",
                                   absl::StrJoin(numbers, ", "), ">"));
  }
  return absl::StrCat(
      "// In-process ranks of one machine, measured by bagua-run --calibrate.\n"
      "bagua.cluster @calibrated axes [#bagua.axis<\"rank\", size = ",
      ranks, ", latency_ns = ", latencyNs,
      ", bytes_per_s = ", std::llround(std::ceil(rate)), ", table = {\n",
      absl::StrJoin(entries, ",\n"), "}>]\n");
}

} // namespace

absl::StatusOr<std::string> calibrate(int ranks,
                                      std::chrono::nanoseconds timeout) {
  if (ranks < 2)
    return absl::InvalidArgumentError(
        absl::StrCat("--calibrate needs --ranks of at least 2, found ", ranks));
  auto smallNs = measureSmall(ranks, timeout);
  if (!smallNs.ok())
    return smallNs.status();
  std::array<Table, kKinds.size()> tables;
  for (size_t kind = 0; kind < kKinds.size(); ++kind)
    for (int64_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 4) {
      std::vector<int64_t> sizes(
          std::clamp<int64_t>(kStepBytes / bytes, 1, kMostMessages), bytes);
      auto ns = measure(kKinds[kind], ranks, sizes, timeout);
      if (!ns.ok())
        return ns.status();
      tables[kind].emplace_back(
          bytes, std::max(*smallNs, *ns / static_cast<int64_t>(sizes.size())));
    }
  return print(tables, ranks);
}

} // namespace bagua::run
