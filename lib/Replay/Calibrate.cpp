//===- Calibrate.cpp - What a step's work takes on this machine -----------===//
//
// A plan of messages of all sizes is replayed, whose program sleeps and wakes
// up as a training step's does: on few cores that delays messages.
//
//===----------------------------------------------------------------------===//
#include "bagua/Replay/Calibrate.h"

#include "bagua/Replay/Replay.h"

#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/Parts.h"
#include "bagua/Support/TraceWriter.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace bagua::replay {
namespace {

namespace fb = runtime::fb;

constexpr int64_t kLeastBytes = 1024;
/// How many messages of kLeastBytes, four times as many, and so on a step has:
/// small and large ones as gradients are, and more bytes than caches hold.
constexpr std::array<int, 9> kCounts = {32, 32, 32, 32, 32, 16, 4, 2, 1};
constexpr int64_t kSteps = 11;
/// Of sessions, each with the messages in another order: in one, threads may be
/// badly placed. Their mean counts.
constexpr int kRounds = 4;
/// Of a rank's own work, in which nobody waits for others.
constexpr int kWorkRounds = 2;
/// Compute behind the gift of a message, as a share of what the message takes
/// alone: it goes on until the message is there.
constexpr double kComputeShare = 2;
/// An op of that compute: so short that messages are disturbed all the while,
/// and so long that they are for a part of it.
constexpr int64_t kShortOpNs = 50'000, kLongOpNs = 300'000;
/// As many as strategies with credit have.
constexpr int kStreams = 4;
/// Messages in flight at once: so many of a size, alike so that all streams
/// have something to the end. From small ones comes the gap, from ones of the
/// size of parts the rate.
constexpr std::array<size_t, 4> kSmallSizes = {1, 2, 3, 4};
constexpr size_t kSmallCount = 64;
constexpr std::array<size_t, 2> kPartSizes = {5, 6};
constexpr size_t kPartCount = 16;
/// From this size on messages tell what compute leaves of a link's rate.
constexpr size_t kLargeSize = 5;

struct Kind {
  const char *name;
  fb::Opcode opcode;
  /// Of a collective: how the result, or the operand, is distributed.
  bool hasPart = false;
  bool isPartTheResult = false;
  fb::LayoutKind layout = {};
  /// Of a rank's own work: the states that it updates, and how many tensors it
  /// reads and writes; 0 is a collective.
  int states = 0;
  int moved = 0;
  std::array<float, 4> constants = {};
  size_t constantCount = 0;

  constexpr bool isWork() const { return moved > 0; }
};

constexpr Kind makeWork(const char *name, fb::Opcode opcode, int states,
                        int moved, const std::array<float, 4> &constants,
                        size_t constantCount) {
  return {name,   opcode, false,     false,        {},
          states, moved,  constants, constantCount};
}

/// By name, which is the order in the texts of tables: collectives, then work.
constexpr std::array<Kind, 9> kKinds = {
    {{"all_gather", fb::Opcode::AllGather, true, false, fb::LayoutKind::Shard},
     {"all_reduce", fb::Opcode::AllReduce},
     {"broadcast", fb::Opcode::Broadcast, true, false, fb::LayoutKind::Root},
     {"reduce", fb::Opcode::Reduce, true, true, fb::LayoutKind::Root},
     {"reduce_scatter", fb::Opcode::ReduceScatter, true, true,
      fb::LayoutKind::Shard},
     makeWork("adam", fb::Opcode::Adam, 3, 7, {0.9f, 0.999f, 1e-8f, 0}, 4),
     makeWork("linear", fb::Opcode::Linear, 0, 2, {0.5f}, 1),
     makeWork("momentum", fb::Opcode::Sgd, 2, 5, {0.9f}, 1),
     makeWork("sgd", fb::Opcode::Sgd, 1, 3, {}, 0)}};

/// Bytes that cross a rank's link at least, per byte of the tensor.
double trafficOf(const Kind &kind, int ranks) {
  double part = (ranks - 1.0) / ranks;
  if (kind.opcode == fb::Opcode::AllReduce)
    return 2 * part;
  return kind.layout == fb::LayoutKind::Root ? 1 : part;
}

/// By size, from kLeastBytes on.
using Times = std::array<int64_t, kCounts.size()>;

int64_t bytesOf(size_t size) { return kLeastBytes << (2 * size); }

/// The sizes of a step's messages, mixed: a small one takes longer after a
/// large one, during which threads go to sleep, than after another small one.
std::vector<size_t> makeSizes(int round) {
  std::vector<size_t> sizes;
  for (size_t size = 0; size < kCounts.size(); ++size)
    sizes.insert(sizes.end(), kCounts[size], size);
  std::shuffle(sizes.begin(), sizes.end(), std::mt19937(round));
  return sizes;
}

/// What goes on beside a message.
struct Surroundings {
  /// Compute behind the message's gift, by its size, in ops of at most opNs.
  Times computeNs = {};
  int64_t opNs = 0;
  /// Messages that may be in flight at once.
  int streams = 1;
};

/// Makes a step of messages of these sizes. The program gives each and
/// computes, then takes all of them back.
class PlanMaker {
public:
  PlanMaker(const Kind &kind, int ranks, const std::vector<size_t> &sizes,
            const Surroundings &beside)
      : kind(kind), ranks(ranks), sizes(sizes), beside(beside) {}

  absl::StatusOr<std::shared_ptr<const Plan>> make();

private:
  uint32_t addValue(int64_t tensor, int64_t count);
  int64_t addTensor(const std::string &name, int64_t count, uint32_t user);
  void addWork(fb::InstructionT &op, uint32_t number, int64_t count);
  void addMessage(uint32_t number);
  void addProgramOp(const char *name, int64_t costNs);

  const Kind &kind;
  const int ranks;
  const std::vector<size_t> &sizes;
  const Surroundings &beside;
  fb::PlanT plan;
  /// Their tensors.
  std::vector<uint32_t> messages;
};

/// `tensor` -1: a part, in the arena.
uint32_t PlanMaker::addValue(int64_t tensor, int64_t count) {
  plan.values.push_back(std::make_unique<fb::ValueT>());
  fb::ValueT &value = *plan.values.back();
  value.count = count;
  value.tensor = static_cast<int32_t>(tensor);
  if (tensor < 0) {
    fb::ArenaT &arena = *plan.arenas[0];
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
}

/// That the program doesn't give. Returns its number.
int64_t PlanMaker::addTensor(const std::string &name, int64_t count,
                             uint32_t user) {
  plan.tensors.push_back(std::make_unique<fb::TensorT>());
  fb::TensorT &tensor = *plan.tensors.back();
  tensor.role = fb::Role::Value;
  tensor.name = name;
  tensor.shape = {count};
  tensor.users = {user};
  return static_cast<int64_t>(plan.tensors.size()) - 1;
}

/// A rank's own work on a message's tensor. What it writes besides stays the
/// runtime's.
void PlanMaker::addWork(fb::InstructionT &op, uint32_t number, int64_t count) {
  for (int state = 0; state < kind.states; ++state) {
    int64_t tensor =
        addTensor(absl::StrCat("state", state, ".", number), count, number);
    plan.tensors.back()->role =
        state == 0 ? fb::Role::Param : fb::Role::Optimizer;
    op.inputs.push_back(addValue(tensor, count));
  }
  op.outputs = op.inputs;
  if (kind.states == 0)
    op.outputs.push_back(addValue(
        addTensor(absl::StrCat("result", number), count, number), count));
  op.constants.assign(kind.constants.begin(),
                      kind.constants.begin() + kind.constantCount);
  op.has_learning_rate = kind.states > 0;
  op.learning_rate = 0.1f;
}

void PlanMaker::addMessage(uint32_t number) {
  int64_t count = bytesOf(sizes[number]) / int64_t{sizeof(float)};
  int64_t tensor = addTensor(absl::StrCat("message", number), count, number);
  plan.tensors.back()->given_by_program = true;
  messages.push_back(static_cast<uint32_t>(tensor));
  uint32_t whole = addValue(tensor, count);
  plan.instructions.push_back(std::make_unique<fb::InstructionT>());
  fb::InstructionT &op = *plan.instructions.back();
  op.name = absl::StrCat(kind.name, number);
  op.opcode = kind.opcode;
  op.ready = {messages.back()};
  op.stream = number % static_cast<uint32_t>(beside.streams);
  if (kind.isWork()) {
    addWork(op, number, count);
    op.inputs.push_back(whole);
    return;
  }
  uint32_t part = kind.hasPart ? addValue(-1, count) : whole;
  op.inputs = {kind.isPartTheResult ? whole : part};
  op.outputs = {kind.isPartTheResult ? part : whole};
  op.axes = {0};
}

void PlanMaker::addProgramOp(const char *name, int64_t costNs) {
  plan.program.push_back(std::make_unique<fb::ProgramOpT>());
  plan.program.back()->name = name;
  plan.program.back()->cost_ns = costNs;
}

absl::StatusOr<std::shared_ptr<const Plan>> PlanMaker::make() {
  plan.name = "calibrate";
  for (int stream = 0; stream < beside.streams; ++stream)
    plan.streams.push_back(absl::StrCat("comm", stream));
  plan.cluster = std::make_unique<fb::ClusterT>();
  plan.cluster->axes.push_back(std::make_unique<fb::AxisT>());
  plan.cluster->axes[0]->name = "rank";
  plan.cluster->axes[0]->size = ranks;
  plan.arenas.push_back(std::make_unique<fb::ArenaT>());
  plan.arenas[0]->name = "parts";
  for (uint32_t i = 0; i < sizes.size(); ++i)
    addMessage(i);
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    addProgramOp("give", 0);
    plan.program.back()->gives = {messages[i]};
    for (int64_t leftNs = beside.computeNs[sizes[i]]; leftNs > 0;
         leftNs -= beside.opNs)
      addProgramOp("compute", std::min(leftNs, beside.opNs));
  }
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    addProgramOp("update", 0);
    plan.program.back()->waits = {messages[i]};
  }
  return Plan::fromBytes(runtime::writePlan(plan));
}

template <typename T> T medianOf(std::vector<T> samples) {
  auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// What messages of a size take in a step of a replay, the mean of them: the
/// median of all steps but the first. A message takes from its gift, or the end
/// of the one before it, to its own end.
Times timesOf(const std::vector<TraceWriter::Event> &events,
              const std::vector<size_t> &sizes) {
  std::vector<int64_t> gifts, ends;
  for (const TraceWriter::Event &event : events) {
    if (event.process != 0)
      continue;
    if (event.thread != 0)
      ends.push_back(event.startNs + event.durationNs);
    else if (absl::StartsWith(event.name, "give "))
      gifts.push_back(event.startNs);
  }
  std::array<int, kCounts.size()> counts = {};
  for (size_t size : sizes)
    ++counts[size];
  std::array<std::vector<int64_t>, kCounts.size()> samples;
  for (size_t step = 1; step <= kSteps; ++step) {
    Times sums = {};
    for (size_t i = 0; i < sizes.size(); ++i) {
      size_t at = step * sizes.size() + i;
      sums[sizes[i]] += ends[at] - std::max(ends[at - 1], gifts[at]);
    }
    for (size_t size = 0; size < sums.size(); ++size)
      samples[size].push_back(sums[size] / std::max(counts[size], 1));
  }
  Times times;
  for (size_t size = 0; size < times.size(); ++size)
    times[size] = medianOf(samples[size]);
  return times;
}

struct Measured {
  /// Of messages one behind the other, on one stream.
  Times ns = {};
  int64_t stepNs = 0;
};

absl::StatusOr<Measured> measure(const Kind &kind, int ranks,
                                 const std::vector<size_t> &sizes,
                                 const Surroundings &beside,
                                 std::chrono::nanoseconds timeout) {
  auto plan = PlanMaker(kind, ranks, sizes, beside).make();
  if (!plan.ok())
    return plan.status();
  TraceWriter trace;
  ReplayOptions options;
  options.timeout = timeout;
  options.steps = kSteps;
  options.trace = &trace;
  options.checksMemory = true;
  auto result = replayPlan(*plan, options);
  if (!result.ok())
    return result.status();
  return Measured{timesOf(trace.sortedEvents(), sizes),
                  medianOf(result->stepNs)};
}

/// The part of large messages' rate that they have beside compute.
double rateBeside(const Measured &alone, const Measured &beside) {
  double sum = 0;
  for (size_t size = kLargeSize; size < kCounts.size(); ++size)
    sum += static_cast<double>(alone.ns[size]) /
           static_cast<double>(beside.ns[size]);
  return sum / (kCounts.size() - kLargeSize);
}

using Tables = std::array<Times, kKinds.size()>;

void addTo(Times &sums, const Times &times) {
  for (size_t size = 0; size < sums.size(); ++size)
    sums[size] += times[size];
}

/// The median, as a part.
double partOf(const std::vector<double> &samples) {
  return std::clamp(medianOf(samples), 0.001, 1.0);
}

/// What compute leaves of an axis's rate, and for how long of each op; what
/// messages in flight at once have of it, and each takes besides; what a stream
/// takes that slept.
struct Surcharges {
  double overlappedRate;
  int64_t overlappedNs;
  double concurrentRate;
  int64_t gapNs;
  int64_t wakeNs;
};

/// How long an op disturbs messages, if it does so for all of a short one; 0:
/// for all of a long one, too.
int64_t overlappedNs(double besideShortOps, double besideLongOps) {
  double part =
      besideShortOps < 1 ? (1 - besideLongOps) / (1 - besideShortOps) : 1;
  return part < 1 ? std::max<int64_t>(1, std::llround(part * kLongOpNs)) : 0;
}

/// What small messages take longer beside compute than one behind the other,
/// besides what compute takes of their rate: between the ops of a step they
/// come to a stream that has gone to sleep.
int64_t wakeNs(const Tables &alone, const Tables &beside, double rate,
               int64_t gapNs) {
  double sum = 0;
  int count = 0;
  for (size_t kind = 0; kind < kKinds.size(); ++kind)
    for (size_t size = 0; size < kLargeSize && !kKinds[kind].isWork(); ++size) {
      auto latencyNs = static_cast<double>(
          std::max<int64_t>(0, alone[kind].front() - gapNs));
      auto flowsNs = static_cast<double>(alone[kind][size]) - latencyNs;
      sum +=
          static_cast<double>(beside[kind][size]) - latencyNs - flowsNs / rate;
      ++count;
    }
  return std::max<int64_t>(0, std::llround(sum / count));
}

std::string print(const Tables &tables, const Surcharges &charges, int ranks) {
  // No time may be shorter than a latency and the traffic at the rate: the
  // lower bound goes by these two.
  int64_t least = INT64_MAX;
  for (size_t kind = 0; kind < kKinds.size(); ++kind)
    if (!kKinds[kind].isWork())
      least = std::min(
          least, *std::min_element(tables[kind].begin(), tables[kind].end()));
  int64_t latencyNs = least / 2;
  double rate = 1;
  std::vector<std::string> collectives, work;
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    bool isWork = kKinds[kind].isWork();
    std::vector<int64_t> numbers;
    for (size_t size = 0; size < kCounts.size(); ++size) {
      int64_t bytes = bytesOf(size), ns = tables[kind][size];
      numbers.push_back(isWork ? kKinds[kind].moved * bytes : bytes);
      numbers.push_back(ns);
      if (!isWork)
        rate = std::max(rate, trafficOf(kKinds[kind], ranks) *
                                  static_cast<double>(bytes) * 1e9 /
                                  static_cast<double>(ns - latencyNs));
    }
    (isWork ? work : collectives)
        .push_back(absl::StrCat("    ", kKinds[kind].name, " = array<i64: ",
                                absl::StrJoin(numbers, ", "), ">"));
  }
  return absl::StrCat(
      "// In-process ranks of one machine, measured by bagua-run --calibrate.\n"
      "bagua.cluster @calibrated axes [#bagua.axis<\"rank\", size = ",
      ranks, ", latency_ns = ", latencyNs,
      ", bytes_per_s = ", std::llround(std::ceil(rate)),
      ", overlapped_rate = ", absl::StrFormat("%.3f", charges.overlappedRate),
      ", overlapped_ns = ", charges.overlappedNs,
      ", concurrent_rate = ", absl::StrFormat("%.3f", charges.concurrentRate),
      ", gap_ns = ", charges.gapNs, ", table = {\n",
      absl::StrJoin(collectives, ",\n"), "}>] host #bagua.host<{\n",
      absl::StrJoin(work, ",\n"), "}> wake_ns ", charges.wakeNs, "\n");
}

/// All kinds in turns, each with all that goes on beside it, so that what
/// changes meanwhile changes all times.
class Calibration {
public:
  Calibration(int ranks, std::chrono::nanoseconds timeout)
      : ranks(ranks), timeout(timeout) {}

  absl::Status addRound(int round);
  std::string result();

private:
  absl::Status addMessages(const Kind &kind, int round, const Measured &alone,
                           Times &besideSums);
  absl::Status addMessagesInFlight(const Kind &kind, const Times &aloneNow);

  const int ranks;
  const std::chrono::nanoseconds timeout;
  /// Sums over rounds, of messages alone and beside compute, and how many.
  Tables alone = {}, beside = {};
  std::array<int, kKinds.size()> rounds = {};
  /// Of all rounds and kinds of messages.
  std::vector<double> besideShortOps, besideLongOps, concurrent;
  /// Of small messages: what each takes in flight, and what its bytes take.
  std::vector<std::pair<double, double>> inFlight;
};

absl::Status Calibration::addRound(int round) {
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    if (kKinds[kind].isWork() && round >= kWorkRounds)
      continue;
    auto measured = measure(kKinds[kind], ranks, makeSizes(round), {}, timeout);
    if (!measured.ok())
      return measured.status();
    addTo(alone[kind], measured->ns);
    ++rounds[kind];
    // A rank's own work shares its time with compute.
    if (kKinds[kind].isWork())
      continue;
    absl::Status status =
        addMessages(kKinds[kind], round, *measured, beside[kind]);
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status Calibration::addMessages(const Kind &kind, int round,
                                      const Measured &aloneNow,
                                      Times &besideSums) {
  auto measureBeside = [&](int64_t opNs) {
    Surroundings beside;
    beside.opNs = opNs;
    for (size_t size = 0; size < kCounts.size(); ++size)
      beside.computeNs[size] =
          std::llround(kComputeShare * static_cast<double>(aloneNow.ns[size]));
    return measure(kind, ranks, makeSizes(round), beside, timeout);
  };
  auto shortOps = measureBeside(kShortOpNs);
  if (!shortOps.ok())
    return shortOps.status();
  besideShortOps.push_back(rateBeside(aloneNow, *shortOps));
  auto longOps = measureBeside(kLongOpNs);
  if (!longOps.ok())
    return longOps.status();
  besideLongOps.push_back(rateBeside(aloneNow, *longOps));
  addTo(besideSums, longOps->ns);
  return addMessagesInFlight(kind, aloneNow.ns);
}

/// The program gives all of them, then takes all of them back, as it does with
/// gradients in the next step's forward.
absl::Status Calibration::addMessagesInFlight(const Kind &kind,
                                              const Times &aloneNow) {
  Surroundings together;
  together.streams = kStreams;
  double gapNs = 0;
  for (size_t size : kSmallSizes) {
    std::vector<size_t> small(kSmallCount, size);
    auto several = measure(kind, ranks, small, together, timeout);
    if (!several.ok())
      return several.status();
    inFlight.emplace_back(
        static_cast<double>(several->stepNs) / kSmallCount,
        static_cast<double>(aloneNow[size] - aloneNow.front()));
    gapNs +=
        (inFlight.back().first - inFlight.back().second) / kSmallSizes.size();
  }
  std::vector<size_t> parts;
  for (size_t size : kPartSizes)
    parts.insert(parts.end(), kPartCount, size);
  auto several = measure(kind, ranks, parts, together, timeout);
  if (!several.ok())
    return several.status();
  together.streams = 1;
  auto one = measure(kind, ranks, parts, together, timeout);
  if (!one.ok())
    return one.status();
  // Of several, one hides the latency of the next.
  double hiddenNs = std::max(0.0, static_cast<double>(aloneNow.front()) -
                                      std::max(0.0, gapNs));
  concurrent.push_back((static_cast<double>(one->stepNs) -
                        static_cast<double>(parts.size()) * hiddenNs) /
                       static_cast<double>(several->stepNs));
  return absl::OkStatus();
}

/// A message in four parts, one behind the other, takes no less than in one
/// piece. Where it was measured so, by chance or as small ones stay in caches,
/// all would be cut, which executed plans are not faster by.
void raiseParts(Times &ns) {
  for (size_t size = ns.size() - 1; size-- > 0;)
    ns[size] = std::max(ns[size], (ns[size + 1] + 3) / 4);
}

std::string Calibration::result() {
  double besideShort = partOf(besideShortOps),
         besideLong = partOf(besideLongOps);
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    for (size_t size = 0; size < kCounts.size(); ++size) {
      alone[kind][size] /= rounds[kind];
      beside[kind][size] /= rounds[kind];
    }
    raiseParts(alone[kind]);
  }
  double concurrentRate = partOf(concurrent);
  // A gap has the rate of messages in flight, as bytes have.
  std::vector<double> gaps;
  for (auto [ns, bytesNs] : inFlight)
    gaps.push_back(concurrentRate * ns - bytesNs);
  auto gapNs = std::max<int64_t>(0, std::llround(medianOf(gaps)));
  return print(alone,
               {besideShort, overlappedNs(besideShort, besideLong),
                concurrentRate, gapNs,
                wakeNs(alone, beside, besideShort, gapNs)},
               ranks);
}

} // namespace

absl::StatusOr<std::string> calibrate(int ranks,
                                      std::chrono::nanoseconds timeout) {
  if (ranks < 2)
    return absl::InvalidArgumentError(
        absl::StrCat("--calibrate needs --ranks of at least 2, found ", ranks));
  Calibration calibration(ranks, timeout);
  for (int round = 0; round < kRounds; ++round)
    if (absl::Status status = calibration.addRound(round); !status.ok())
      return status;
  return calibration.result();
}

} // namespace bagua::replay
