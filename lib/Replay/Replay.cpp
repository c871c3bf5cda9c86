//===- Replay.cpp - Runs a plan with synthetic compute --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The work of each rank's thread, and how the errors of ranks are combined.
//
//===----------------------------------------------------------------------===//
#include "bagua/Replay/Replay.h"

#include "Checker.h"
#include "Mishap.h"
#include "Plan/Opcodes.h"
#include "Plan/PhaseTable.h"
#include "RankReport.h"

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Session.h"

#include "absl/strings/str_cat.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

namespace bagua::replay {
namespace {

namespace fb = runtime::fb;
using runtime::TensorId;

/// Each rank is a thread, and each of its streams is another.
constexpr int64_t kMaxRanks = 1024;

/// Memory of a tensor between guard zones that nobody may write to. Pages are
/// touched at the start: otherwise pages that are only read would all be one
/// page of zeros, and much faster than a program's. The pages are huge ones if
/// possible, as those of arenas are, since the speed of small pages differs
/// from process to process.
class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t bytes) : size(bytes) {
    void *pages = mmap(nullptr, total(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
      throw std::bad_alloc();
    madvise(pages, total(), MADV_HUGEPAGE);
    base = static_cast<std::byte *>(pages);
    std::memset(base, 0, total());
    std::memset(base, kGuard, kGuardBytes);
    std::memset(data() + size, kGuard, kGuardBytes);
  }
  GuardedBuffer(GuardedBuffer &&other) noexcept
      : base(std::exchange(other.base, nullptr)), size(other.size) {}
  GuardedBuffer &operator=(GuardedBuffer &&) = delete;
  ~GuardedBuffer() {
    if (base)
      munmap(base, total());
  }

  std::byte *data() const { return base + kGuardBytes; }
  bool isIntact() const {
    auto isGuard = [](std::byte byte) { return byte == std::byte{kGuard}; };
    return std::all_of(base, base + kGuardBytes, isGuard) &&
           std::all_of(data() + size, data() + size + kGuardBytes, isGuard);
  }

private:
  static constexpr size_t kGuardBytes = 4096;
  static constexpr unsigned char kGuard = 0x5a;
  size_t total() const { return size + 2 * kGuardBytes; }

  std::byte *base;
  size_t size;
};

/// One rank: its session, its memory, its measurements.
class Rank {
public:
  Rank(std::shared_ptr<const Plan> loaded, const ReplayOptions &replayOptions,
       int rank)
      : plan(std::move(loaded)), options(replayOptions), number(rank),
        checker(*plan, rank), random(rank),
        isPending(plan->root().tensors()->size(), false),
        isChanged(isPending.size(), false) {
    for (uint32_t state : checker.changedStates())
      isChanged[state] = true;
    for (uint32_t i = 0; i < isPending.size(); ++i)
      if (isArgument(i))
        arguments.push_back(i);
  }

  absl::Status run(std::shared_ptr<runtime::World> world);
  /// Ends the session, since otherwise the other ranks may wait for this one.
  void endSession() { session.reset(); }

  /// May be called after run().
  RankReport report() const;

private:
  absl::Status bindAll();
  absl::Status runSteps(int64_t count, bool checks);
  absl::Status runStep(int64_t step, bool checks);
  absl::Status runProgramOp(const fb::ProgramOp &op, int64_t step, bool checks);
  absl::Status runProgram(const fb::Step &planned, int64_t step, bool checks);
  absl::Status runLateOps(const fb::Step &planned, int64_t step, bool checks);
  absl::Status runWithoutProgram(const fb::Step &planned, int64_t step,
                                 bool checks);
  absl::Status runOnServer(int64_t step, bool checks);
  const fb::Step &stepAt(int64_t iteration) const {
    return *plan->root().steps()->Get(runtime::stepOf(plan->root(), iteration));
  }
  absl::Status give(uint32_t tensor, int64_t step, bool checks);
  absl::Status wait(uint32_t tensor, bool checks);
  absl::Status drain(bool checks);
  void compute(const fb::ProgramOp &op);
  bool isHere(uint32_t tensor) const {
    return runtime::hasTensor(tensorAt(tensor), plan->cluster(), number);
  }
  bool isArgument(uint32_t tensor) const;
  bool isUsedByRuntime(uint32_t tensor, int64_t step) const;
  std::byte *dataOf(uint32_t tensor) const {
    return static_cast<std::byte *>(*session->address(
        TensorId(tensor),
        static_cast<size_t>(session->localBytes(TensorId(tensor)))));
  }
  const fb::Tensor &tensorAt(uint32_t tensor) const {
    return *plan->root().tensors()->Get(tensor);
  }

  std::shared_ptr<const Plan> plan;
  const ReplayOptions &options;
  const int number;
  RankChecker checker;
  std::mt19937_64 random;
  /// Everything except the findings of the check.
  RankReport measured;
  /// The buffers outlive the session, whose threads write to them.
  std::vector<GuardedBuffer> buffers;
  std::unique_ptr<runtime::Session> session;
  /// By tensor: whether it is given and not taken back.
  std::vector<bool> isPending;
  /// By tensor: whether it is a state that the contract says is changed.
  std::vector<bool> isChanged;
  /// The tensors that the program has from the start of a step.
  std::vector<uint32_t> arguments;
  int64_t stepCount = 0;
  /// Whether late ops of a step are still to be run.
  bool owesLateOps = false;
  int64_t blockedNs = 0;
  /// A wait counts as blocked if it takes longer than this.
  static constexpr int64_t kBlockedNs = 5000;
  /// When the virtual device finishes the work that it was given so far.
  int64_t deviceNs = 0;
};

bool Rank::isArgument(uint32_t tensor) const {
  fb::Role role = tensorAt(tensor).role();
  return tensorAt(tensor).given_by_program() &&
         (role == fb::Role::Batch || role == fb::Role::Input);
}

/// Whether the tensor is an argument, or a gradient of an update that the
/// contract of the iteration doesn't know.
bool Rank::isUsedByRuntime(uint32_t tensor, int64_t step) const {
  if (isArgument(tensor))
    return true;
  const fb::Step &planned = stepAt(step);
  auto *users = runtime::usersOf(planned, tensor);
  if (checker.hasUpdate(tensor, step) || !users ||
      tensorAt(tensor).role() != fb::Role::Gradient)
    return false;
  return std::any_of(users->begin(), users->end(), [&](uint32_t user) {
    fb::Opcode opcode = planned.instructions()->Get(user)->opcode();
    return runtime::kindOf(opcode) == runtime::InstructionKind::Update;
  });
}

/// Binds memory to tensors that instructions touch, that the program gives or
/// that the contract names.
absl::Status Rank::bindAll() {
  std::vector<bool> isNeeded = isChanged;
  for (const fb::Step *planned : *plan->root().steps()) {
    for (const fb::Relation *relation : *planned->contract())
      isNeeded[relation->tensor()] = isNeeded[relation->of()] = true;
    for (const fb::TensorUse *use : *planned->uses())
      isNeeded[use->tensor()] = true;
  }
  for (uint32_t i = 0; i < isNeeded.size(); ++i) {
    const fb::Tensor &tensor = tensorAt(i);
    // The program of a replay updates nothing; its params may have any value.
    session->programUpdates(tensor.name()->str());
    if (tensor.arena() >= 0) {
      dataOf(i);
      continue;
    }
    if (!isNeeded[i] && !tensor.given_by_program())
      continue;
    int64_t bytes = session->localBytes(TensorId(i));
    buffers.emplace_back(bytes);
    if (options.check) // NaNs, or wrong values
      std::memset(buffers.back().data(), 0xff, bytes);
    absl::Status status =
        session->bind(TensorId(i), buffers.back().data(), bytes);
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status Rank::give(uint32_t tensor, int64_t step, bool checks) {
  if (!isHere(tensor))
    return absl::OkStatus();
  // The program may not write to a tensor that is in use, even if it never
  // takes it back.
  if (isPending[tensor])
    if (absl::Status status = session->wait(TensorId(tensor)); !status.ok())
      return status;
  isPending[tensor] = true;
  if (checks && !checker.fill(tensor, step, dataOf(tensor)))
    return session->markAbsent(TensorId(tensor));
  return session->markReady(TensorId(tensor));
}

absl::Status Rank::wait(uint32_t tensor, bool checks) {
  if (!isHere(tensor))
    return absl::OkStatus();
  int64_t begin = TraceWriter::nowNs();
  absl::Status status = session->wait(TensorId(tensor));
  int64_t end = TraceWriter::nowNs();
  blockedNs += end - begin;
  if (end - begin > kBlockedNs)
    deviceNs = std::max(deviceNs, end);
  if (!status.ok())
    return status;
  auto data = session->address(
      TensorId(tensor),
      static_cast<size_t>(session->localBytes(TensorId(tensor))));
  if (checks && data.ok() && isChanged[tensor]) {
    checker.checkState(tensor, session->step(), /*isInNext=*/true,
                       static_cast<std::byte *>(*data));
    return absl::OkStatus();
  }
  bool isResult = isPending[tensor] || !tensorAt(tensor).given_by_program();
  isPending[tensor] = false;
  if (checks && isResult && data.ok())
    checker.check(tensor, static_cast<std::byte *>(*data));
  return absl::OkStatus();
}

/// Sleeps until the op ends on a virtual device, so that oversleeping does not
/// add up. A wait that blocks moves the device's clock on, since the device
/// would have been idle.
void Rank::compute(const fb::ProgramOp &op) {
  double factor = options.timeScale;
  if (options.jitter > 0)
    factor *=
        std::max(0.2, std::normal_distribution<>(1, options.jitter)(random));
  auto ns = static_cast<int64_t>(static_cast<double>(op.cost_ns()) * factor);
  if (ns == 0)
    return;
  int64_t begin = TraceWriter::nowNs();
  deviceNs += ns;
  if (deviceNs > begin)
    std::this_thread::sleep_for(std::chrono::nanoseconds(deviceNs - begin));
  if (options.trace)
    options.trace->add({op.name()->str(),
                        number,
                        0,
                        begin,
                        TraceWriter::nowNs() - begin,
                        {{"cost_ns", op.cost_ns()}}});
}

absl::Status Rank::runProgramOp(const fb::ProgramOp &op, int64_t step,
                                bool checks) {
  if (op.waits())
    for (uint32_t tensor : *op.waits())
      if (absl::Status status = wait(tensor, checks); !status.ok())
        return status;
  compute(op);
  if (op.gives())
    for (uint32_t tensor : *op.gives())
      if (absl::Status status = give(tensor, step, checks); !status.ok())
        return status;
  return absl::OkStatus();
}

/// Gives everything at once, then takes everything back.
absl::Status Rank::runWithoutProgram(const fb::Step &planned, int64_t step,
                                     bool checks) {
  for (uint32_t i = 0; i < isPending.size(); ++i)
    if (tensorAt(i).given_by_program() && session->stepUses(TensorId(i)))
      if (absl::Status status = give(i, step, checks); !status.ok())
        return status;
  for (uint32_t i = 0; i < isPending.size(); ++i)
    if (tensorAt(i).given_by_program())
      if (absl::Status status = wait(i, checks); !status.ok())
        return status;
  // States are still being changed here; they are checked after the last step.
  for (const fb::Relation *relation : *planned.contract())
    if (!isChanged[relation->tensor()])
      if (absl::Status status = wait(relation->tensor(), checks); !status.ok())
        return status;
  return absl::OkStatus();
}

absl::Status Rank::runStep(int64_t step, bool checks) {
  blockedNs = 0;
  int64_t begin = TraceWriter::nowNs();
  if (absl::Status status = session->beginStep(); !status.ok())
    return status;
  int64_t end = TraceWriter::nowNs();
  blockedNs += end - begin;
  // Filling and checking take no time of the device.
  if (checks || deviceNs == 0 || end - begin > kBlockedNs)
    deviceNs = std::max(deviceNs, end);
  if (number == options.throwOnRank && step > 0)
    throw std::runtime_error("asked to throw");
  const fb::Step &planned = stepAt(step);
  absl::Status status;
  if (!planned.program() || planned.program()->size() == 0)
    status = runWithoutProgram(planned, step, checks);
  else if (plan->cluster().isWorker(number))
    status = runProgram(planned, step, checks);
  else
    status = runOnServer(step, checks);
  return status.ok() ? session->endStep() : status;
}

absl::Status Rank::runProgram(const fb::Step &planned, int64_t step,
                              bool checks) {
  for (uint32_t argument : arguments)
    if (absl::Status status = give(argument, step, checks); !status.ok())
      return status;
  // Late ops stand among those of the next iteration if that is of their step.
  const bool isChange = step > 0 && &stepAt(step - 1) != &planned;
  if (isChange)
    if (absl::Status status = runLateOps(stepAt(step - 1), step, checks);
        !status.ok())
      return status;
  for (const fb::ProgramOp *op : *planned.program()) {
    if (op->late() && !owesLateOps)
      continue;
    if (absl::Status status = runProgramOp(*op, step, checks); !status.ok())
      return status;
  }
  owesLateOps = true;
  // The program does not take back what only the runtime uses, but a check
  // does.
  for (uint32_t i = 0; checks && i < isPending.size(); ++i)
    if (isPending[i] && !checker.isTakenBack(i, step) &&
        isUsedByRuntime(i, step))
      if (absl::Status status = wait(i, checks); !status.ok())
        return status;
  return absl::OkStatus();
}

absl::Status Rank::runOnServer(int64_t step, bool checks) {
  for (uint32_t i = 0; i < isPending.size(); ++i)
    if (tensorAt(i).given_by_program() && session->stepUses(TensorId(i)))
      if (absl::Status status = give(i, step, checks); !status.ok())
        return status;
  for (uint32_t i = 0; i < isPending.size(); ++i)
    if (absl::Status status = wait(i, checks); !status.ok())
      return status;
  return absl::OkStatus();
}

/// Runs the late ops of the step of the last iteration, if they are due.
absl::Status Rank::runLateOps(const fb::Step &planned, int64_t step,
                              bool checks) {
  if (std::exchange(owesLateOps, false) && planned.program())
    for (const fb::ProgramOp *op : *planned.program())
      if (op->late())
        if (absl::Status status = runProgramOp(*op, step, checks); !status.ok())
          return status;
  return absl::OkStatus();
}

/// Runs what the program would run late in the next step, and takes back what
/// it would take back then.
absl::Status Rank::drain(bool checks) {
  const int64_t last = stepCount - 1;
  if (absl::Status status = runLateOps(stepAt(last), stepCount, checks);
      !status.ok())
    return status;
  for (uint32_t i = 0; i < isPending.size(); ++i)
    if (isPending[i] && checker.isTakenBack(i, last))
      if (absl::Status status = wait(i, checks); !status.ok())
        return status;
  return absl::OkStatus();
}

absl::Status Rank::runSteps(int64_t count, bool checks) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t begin = TraceWriter::nowNs();
    if (absl::Status status = runStep(stepCount++, checks); !status.ok())
      return status;
    if (i + 1 == count) {
      // The last step includes the waits that later steps would have had.
      absl::Status status = drain(checks);
      if (status.ok())
        status = session->finish();
      if (!status.ok())
        return status;
    }
    measured.stepNs.push_back(TraceWriter::nowNs() - begin);
    measured.exposedNs.push_back(blockedNs);
  }
  return absl::OkStatus();
}

absl::Status Rank::run(std::shared_ptr<runtime::World> world) {
  runtime::SessionOptions sessionOptions;
  sessionOptions.timeout = options.timeout;
  sessionOptions.trace = options.trace;
  sessionOptions.checksMemory = options.check || options.checksMemory;
  sessionOptions.onWarning = options.onWarning;
  const std::optional<Mishap> &mishap = options.mishap;
  if (mishap && mishap->rank == number)
    sessionOptions.onInstruction = [&](int64_t step, uint32_t instruction) {
      if (step == mishap->step && instruction == mishap->instruction)
        happen(mishap->kind, options.onWarning);
    };
  auto created = runtime::Session::create(plan, std::move(world),
                                          std::move(sessionOptions));
  if (!created.ok())
    return created.status();
  session = *std::move(created);
  absl::Status status = bindAll();
  if (status.ok())
    status = session->start();
  if (!status.ok())
    return status;
  std::vector<uint32_t> states;
  if (options.check)
    states = checker.changedStates();
  for (uint32_t state : states)
    checker.fillState(state, dataOf(state));
  const int64_t checked = checkedSteps(*plan, options);
  status = runSteps(options.check ? checked : 1, options.check);
  if (!status.ok())
    return status;
  for (uint32_t state : states)
    checker.checkState(state, checked, /*isInNext=*/false, dataOf(state));
  int64_t before = session->bytesSent();
  measured.stepNs.clear();
  measured.exposedNs.clear();
  status = runSteps(options.steps, /*checks=*/false);
  if (!status.ok())
    return status;
  measured.bytesSent = (session->bytesSent() - before) / options.steps;
  measured.arenaBytes = session->arenaBytes();
  session.reset();
  for (const GuardedBuffer &buffer : buffers)
    if (!buffer.isIntact())
      return absl::InternalError(absl::StrCat(
          "rank ", number, ": bytes round a bound tensor were overwritten"));
  return absl::OkStatus();
}

RankReport Rank::report() const {
  RankReport report = measured;
  report.check = checker.findings();
  return report;
}

/// Runs a rank to its end, whatever happens. If the rank fails, its error
/// aborts the world.
absl::Status runGuarded(Rank &rank, std::shared_ptr<runtime::World> world,
                        int number) {
  absl::Status status;
  try {
    status = rank.run(world);
  } catch (const std::exception &exception) {
    status = absl::UnknownError(
        absl::StrCat("rank ", number, " threw: ", exception.what()));
  } catch (...) {
    status = absl::UnknownError(absl::StrCat("rank ", number, " threw"));
  }
  if (!status.ok())
    world->abort(status);
  rank.endSession();
  return status;
}

} // namespace

absl::StatusOr<ReplayResult> replayPlan(const std::shared_ptr<const Plan> &plan,
                                        const ReplayOptions &options) {
  if (plan->topology().ranks() > kMaxRanks)
    return absl::FailedPreconditionError(
        absl::StrCat("the plan is for ", plan->topology().ranks(),
                     " ranks, one process runs at most ", kMaxRanks));
  auto size = static_cast<int>(plan->topology().ranks());
  std::vector<std::shared_ptr<runtime::World>> worlds;
  for (auto &world : runtime::createInProcessWorlds(size, options.timeout))
    worlds.push_back(std::move(world));
  const std::shared_ptr<runtime::World> first = worlds[0];
  std::vector<std::unique_ptr<Rank>> ranks;
  ranks.reserve(size);
  for (int i = 0; i < size; ++i)
    ranks.push_back(std::make_unique<Rank>(plan, options, i));
  std::vector<absl::Status> statuses(size);
  std::vector<std::thread> threads;
  threads.reserve(size);
  try {
    for (int i = 0; i < size; ++i)
      threads.emplace_back([&, i] {
        statuses[i] = runGuarded(*ranks[i], std::move(worlds[i]), i);
      });
  } catch (const std::system_error &error) {
    first->abort(absl::ResourceExhaustedError(absl::StrCat(
        "no thread for rank ", threads.size(), ": ", error.what())));
  }
  for (std::thread &thread : threads)
    thread.join();
  // The errors of the other ranks are consequences of this one.
  if (absl::Status cause = first->status(); !cause.ok())
    return cause;
  std::vector<RankReport> reports;
  for (auto &rank : ranks)
    reports.push_back(rank->report());
  return mergeReports(*plan, options, reports);
}

absl::StatusOr<std::optional<ReplayResult>>
replayRank(const std::shared_ptr<const Plan> &plan,
           const std::shared_ptr<runtime::World> &world,
           const ReplayOptions &options) {
  Rank rank(plan, options, world->rank());
  absl::Status status = runGuarded(rank, world, world->rank());
  if (!status.ok())
    return status;
  auto reports = gatherReports(*world, rank.report());
  if (!reports.ok())
    return reports.status();
  if (world->rank() > 0)
    return std::nullopt;
  ReplayResult result = mergeReports(*plan, options, *reports);
  result.hosts = world->hostCount();
  return result;
}

} // namespace bagua::replay
