//===- CalibrationPlan.cpp - Steps whose messages are measured ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds are rows of a table; PlanMaker makes a plan for each step.
//
//===----------------------------------------------------------------------===//
#include "CalibrationPlan.h"

#include "Plan/PhaseTable.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/Parts.h"
#include "bagua/Support/UpdateRules.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace bagua::replay {
namespace {

namespace fb = runtime::fb;

struct Kind {
  std::string name;
  fb::Opcode opcode;
  /// For a collective: how the result, or the operand, is distributed.
  bool hasPart = false;
  bool isPartTheResult = false;
  fb::LayoutKind layout = {};
  /// For a rank's own work: the number of states that it updates, and of
  /// tensors that it reads and writes; 0 marks a collective.
  size_t states = 0;
  int moved = 0;
  std::vector<float> constants = {};
};

/// The works of optimizers whose update is one instruction, and of linear.
std::vector<Kind> worksOfRanks() {
  std::vector<Kind> works;
  works.push_back({.name = "linear",
                   .opcode = fb::Opcode::Linear,
                   .moved = 2,
                   .constants = {0.5f}});
  for (const UpdateRow &row : getUpdateRules())
    for (size_t i = 0; row.isPromised && row.hasOwnOp() && i < row.works.size();
         ++i) {
      size_t states = row.leastStates + i;
      Kind work{.name = std::string(row.works[i]),
                .opcode = static_cast<fb::Opcode>(row.opcode),
                .states = states,
                .moved = static_cast<int>(2 * states + row.inputs)};
      for (const UpdateConstant *constant :
           constantsOf(row, states, BiasCorrection::None))
        work.constants.push_back(constant->usual);
      works.push_back(work);
    }
  std::sort(works.begin(), works.end(),
            [](const Kind &a, const Kind &b) { return a.name < b.name; });
  return works;
}

const std::vector<Kind> &kinds() {
  static const std::vector<Kind> kKinds = [] {
    std::vector<Kind> kinds = {
        {"all_gather", fb::Opcode::AllGather, true, false,
         fb::LayoutKind::Shard},
        {"all_reduce", fb::Opcode::AllReduce},
        {"broadcast", fb::Opcode::Broadcast, true, false, fb::LayoutKind::Root},
        {"reduce", fb::Opcode::Reduce, true, true, fb::LayoutKind::Root},
        {"reduce_scatter", fb::Opcode::ReduceScatter, true, true,
         fb::LayoutKind::Shard}};
    std::vector<Kind> works = worksOfRanks();
    kinds.insert(kinds.end(), works.begin(), works.end());
    return kinds;
  }();
  return kKinds;
}

class PlanMaker {
public:
  PlanMaker(size_t kindNumber, const CalibrationPlace &where,
            const std::vector<size_t> &messageSizes,
            const Surroundings &surroundings)
      : kind(kinds()[kindNumber]), place(where), sizes(messageSizes),
        beside(surroundings) {}

  absl::StatusOr<std::shared_ptr<const Plan>> make();

private:
  uint32_t addValue(int64_t tensor, int64_t count);
  int64_t addTensor(const std::string &name, int64_t count, uint32_t user);
  void addWork(fb::InstructionT &op, uint32_t number, int64_t count);
  void addMessage(uint32_t number);
  void addProgramOp(const char *name, int64_t costNs);

  const Kind &kind;
  const CalibrationPlace &place;
  const std::vector<size_t> &sizes;
  const Surroundings &beside;
  fb::PlanT plan;
  fb::StepT &step() { return *plan.steps[0]; }
  /// The tensors of the messages.
  std::vector<uint32_t> messages;
};

/// `tensor` -1 stands for a part, which lives in the arena.
uint32_t PlanMaker::addValue(int64_t tensor, int64_t count) {
  plan.values.push_back(std::make_unique<fb::ValueT>());
  fb::ValueT &value = *plan.values.back();
  value.count = count;
  value.tensor = static_cast<int32_t>(tensor);
  if (tensor < 0) {
    fb::ArenaT &arena = *plan.arenas[0];
    value.arena = 0;
    value.offset = arena.bytes;
    int64_t part = kind.layout == fb::LayoutKind::Root
                       ? count
                       : partSize(count, place.axes[place.axis].size);
    arena.bytes += arenaAligned(part * int64_t{sizeof(float)});
    value.layout.push_back(std::make_unique<fb::LayoutEntryT>());
    value.layout[0]->kind = kind.layout;
    value.layout[0]->axes = {static_cast<uint32_t>(place.axis)};
  }
  return static_cast<uint32_t>(plan.values.size() - 1);
}

/// Adds a tensor that the program doesn't give. Returns its number.
int64_t PlanMaker::addTensor(const std::string &name, int64_t count,
                             uint32_t user) {
  plan.tensors.push_back(std::make_unique<fb::TensorT>());
  fb::TensorT &tensor = *plan.tensors.back();
  tensor.role = fb::Role::Value;
  tensor.name = name;
  tensor.shape = {count};
  runtime::addUse(step(), static_cast<uint32_t>(plan.tensors.size()) - 1, user);
  return static_cast<int64_t>(plan.tensors.size()) - 1;
}

/// Adds a rank's own work on a message's tensor. Its other results stay with
/// the runtime.
void PlanMaker::addWork(fb::InstructionT &op, uint32_t number, int64_t count) {
  for (size_t state = 0; state < kind.states; ++state) {
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
  op.constants = kind.constants;
  op.has_learning_rate = kind.states > 0;
  op.learning_rate = 0.1f;
}

void PlanMaker::addMessage(uint32_t number) {
  int64_t count = bytesOfSize(sizes[number]) / int64_t{sizeof(float)};
  int64_t tensor = addTensor(absl::StrCat("message", number), count, number);
  plan.tensors.back()->given_by_program = true;
  messages.push_back(static_cast<uint32_t>(tensor));
  uint32_t whole = addValue(tensor, count);
  step().instructions.push_back(std::make_unique<fb::InstructionT>());
  fb::InstructionT &op = *step().instructions.back();
  op.name = absl::StrCat(kind.name, number);
  op.opcode = kind.opcode;
  op.ready = {messages.back()};
  op.stream = number % static_cast<uint32_t>(beside.streams);
  if (kind.moved > 0) {
    addWork(op, number, count);
    op.inputs.push_back(whole);
    return;
  }
  uint32_t part = kind.hasPart ? addValue(-1, count) : whole;
  op.inputs = {kind.isPartTheResult ? whole : part};
  op.outputs = {kind.isPartTheResult ? part : whole};
  op.axes = {static_cast<uint32_t>(place.axis)};
}

void PlanMaker::addProgramOp(const char *name, int64_t costNs) {
  step().program.push_back(std::make_unique<fb::ProgramOpT>());
  step().program.back()->name = name;
  step().program.back()->cost_ns = costNs;
}

absl::StatusOr<std::shared_ptr<const Plan>> PlanMaker::make() {
  plan.name = "calibrate";
  plan.steps.push_back(std::make_unique<fb::StepT>());
  step().name = plan.name;
  plan.phases.push_back(std::make_unique<fb::PhaseT>());
  for (int stream = 0; stream < beside.streams; ++stream)
    plan.streams.push_back(absl::StrCat("comm", stream));
  plan.cluster = std::make_unique<fb::ClusterT>();
  for (const CalibratedAxis &axis : place.axes) {
    plan.cluster->axes.push_back(std::make_unique<fb::AxisT>());
    plan.cluster->axes.back()->name = axis.name;
    plan.cluster->axes.back()->size = axis.size;
  }
  plan.arenas.push_back(std::make_unique<fb::ArenaT>());
  plan.arenas[0]->name = "parts";
  for (uint32_t i = 0; i < sizes.size(); ++i)
    addMessage(i);
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    addProgramOp("give", 0);
    step().program.back()->gives = {messages[i]};
    int64_t leftNs = beside.computeNs.empty() ? 0 : beside.computeNs[sizes[i]];
    for (; leftNs > 0; leftNs -= beside.opNs)
      addProgramOp("compute", std::min(leftNs, beside.opNs));
  }
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    addProgramOp("update", 0);
    step().program.back()->waits = {messages[i]};
  }
  return Plan::fromBytes(runtime::writePlan(plan));
}

/// The number of messages of a size that have `bytes` together.
int countWithin(double bytes, size_t size, int least, int most) {
  double count = bytes / static_cast<double>(bytesOfSize(size));
  return static_cast<int>(
      std::clamp<double>(count, static_cast<double>(least), most));
}

} // namespace

size_t kindCount() { return kinds().size(); }

std::string kindName(size_t kind) { return kinds()[kind].name; }

bool isRooted(size_t kind) {
  return kinds()[kind].hasPart && kinds()[kind].layout == fb::LayoutKind::Root;
}

bool getsResult(size_t kind, const CalibrationPlace &place, int64_t rank) {
  if (!isRooted(kind))
    return true;
  int64_t inner = 1;
  for (size_t axis = place.axis + 1; axis < place.axes.size(); ++axis)
    inner *= place.axes[axis].size;
  const bool isRoot = rank / inner % place.axes[place.axis].size == 0;
  return isRoot == kinds()[kind].isPartTheResult;
}

int movedBy(size_t kind) { return kinds()[kind].moved; }

double trafficOf(size_t kind, int64_t ranks) {
  double part = (static_cast<double>(ranks) - 1) / static_cast<double>(ranks);
  if (kinds()[kind].opcode == fb::Opcode::AllReduce)
    return 2 * part;
  return isRooted(kind) ? 1 : part;
}

absl::StatusOr<std::shared_ptr<const Plan>>
makeCalibrationPlan(size_t kind, const CalibrationPlace &place,
                    const std::vector<size_t> &sizes,
                    const Surroundings &beside) {
  return PlanMaker(kind, place, sizes, beside).make();
}

Effort fullEffort() {
  Effort effort;
  effort.counts = {32, 32, 32, 32, 32, 16, 4, 2, 1};
  effort.smallCounts = {64, 64, 64, 64};
  effort.parts = {{5, 16}, {6, 16}};
  effort.steps = 11;
  effort.rounds = 4;
  return effort;
}

Effort effortAt(double bytesPerS) {
  constexpr double kSecondsOfStep = 0.25;
  constexpr size_t kLeastSizes = 5;
  const Effort full = fullEffort();
  const double bytes = bytesPerS * kSecondsOfStep;
  size_t sizes = kLeastSizes;
  while (sizes < kSizeCount &&
         2 * static_cast<double>(bytesOfSize(sizes)) <= bytes)
    ++sizes;
  Effort effort;
  for (size_t size = 0; size < sizes; ++size)
    effort.counts.push_back(countWithin(bytes / static_cast<double>(sizes),
                                        size, 1, full.counts[size]));
  for (size_t i = 0; i < full.smallCounts.size(); ++i)
    effort.smallCounts.push_back(
        countWithin(bytes / 2, i + 1, 4, full.smallCounts[i]));
  size_t part = std::min(sizes - 1, full.parts.back().first);
  for (size_t size : {part - 1, part})
    effort.parts.emplace_back(
        size, countWithin(bytes, size, 4, full.parts[0].second));
  effort.steps = 5;
  effort.rounds = 3;
  effort.takesTurns = true;
  return effort;
}

std::vector<size_t> mixSizes(const std::vector<int> &counts, int round) {
  std::vector<size_t> sizes;
  for (size_t size = 0; size < counts.size(); ++size)
    sizes.insert(sizes.end(), counts[size], size);
  std::shuffle(sizes.begin(), sizes.end(), std::mt19937(round));
  return sizes;
}

} // namespace bagua::replay
