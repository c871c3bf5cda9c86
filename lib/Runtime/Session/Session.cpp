//===- Session.cpp - A training program's view of a plan ------------------===//
//
// Names, bindings, ownership and steps: everything the program's thread does.
// What runs beside it is the Executor's.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Session.h"

#include "Communication/StatusCopy.h"
#include "Plan/Roles.h"
#include "Session/Executor.h"
#include "Session/Operation.h"
#include "Session/PlanCommunicators.h"
#include "Session/SessionMemory.h"
#include "Session/SessionState.h"
#include "Session/StreamPrograms.h"
#include "Session/TensorOwners.h"

#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/StepsInFlight.h"
#include "bagua/Support/TraceWriter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace bagua::runtime {
namespace {

using absl::StrCat;

class HostSession final : public Session {
public:
  HostSession(std::shared_ptr<const Plan> loaded, std::shared_ptr<World> ranks,
              SessionOptions sessionOptions)
      : plan(std::move(loaded)), world(std::move(ranks)),
        options(std::move(sessionOptions)), memory(*plan, world->rank()),
        executor(*plan, *world, options),
        tensors(plan->root().tensors()->size()) {}
  ~HostSession() override;

  /// The collective part of create().
  absl::Status connect();
  /// Tells the other ranks.
  absl::Status giveUp(const absl::Status &why) { return executor.fail(why); }

  int rank() const override { return world->rank(); }
  absl::StatusOr<TensorId> find(absl::string_view name) const override;
  int64_t localBytes(TensorId tensor) const override {
    return memory.tensorBytes(indexOf(tensor));
  }
  absl::Status bind(TensorId tensor, void *data, size_t bytes) override;
  absl::StatusOr<void *> address(TensorId tensor, size_t bytes) override;
  absl::StatusOr<void *> bindOrLocate(TensorId tensor, void *data,
                                      size_t bytes) override;
  bool programUpdates(absl::string_view name) override;
  absl::Status start() override;
  absl::Status beginStep() override;
  absl::Status markReady(TensorId tensor) override;
  absl::Status markAbsent(TensorId tensor) override;
  absl::Status wait(TensorId tensor) override;
  bool isReady(TensorId tensor) const override;
  absl::Status endStep() override;
  absl::Status finish() override;
  void abort(const absl::Status &why) override;
  int64_t step() const override {
    return firstStep + std::max<int64_t>(now, 0);
  }
  absl::StatusOr<std::string> saveState() const override;
  absl::Status loadState(absl::string_view bytes) override;
  int64_t bytesSent() const override { return executor.bytesSent(); }
  int64_t arenaBytes() const override {
    return memory.arenaBytes() + scratchBytes;
  }

private:
  enum class Phase { Binding, BetweenSteps, InStep };

  struct TensorState {
    bool isGivenByProgram = false;
    /// Whether this rank's program gives it in every step.
    bool isRequired = false;
    bool isState = false;
    /// Whether the program reads it in every step, and instructions update it.
    bool mustBeRead = false;
    /// Whether its state was loaded; whether the program knows where it is, and
    /// who updates it.
    bool isLoaded = false;
    bool isLocated = false;
    bool isAsked = false;
    bool isOwnedByRuntime = false;
    /// The last step in which it was given, or waited for; -1 before.
    int64_t givenStep = -1;
    int64_t waitedStep = -1;
  };

  static uint32_t indexOf(TensorId tensor) {
    return static_cast<uint32_t>(tensor);
  }
  const fb::Tensor &tensorAt(uint32_t index) const {
    return *plan->root().tensors()->Get(index);
  }
  std::string nameOf(TensorId tensor) const {
    return executor.tensorName(indexOf(tensor));
  }
  CommunicatorOptions optionsOf(uint32_t stream);
  absl::Status meetEverybody(const std::string &prefix);
  absl::Status compareFingerprints();
  absl::StatusOr<std::vector<int64_t>>
  gatherFromAll(const std::vector<int64_t> &own);
  absl::Status compareStates();
  absl::Status checkBindings() const;
  absl::Status checkParams() const;
  absl::Status listTensors(const char *what, const std::vector<uint32_t> &list,
                           const char *why) const;
  std::vector<bool> findGivenTensors() const;
  bool isHere(const fb::Tensor &tensor) const {
    return hasTensor(tensor, plan->cluster(), rank());
  }
  absl::Status give(TensorId tensor);
  absl::Status checkGift(TensorId tensor) const;
  absl::Status missingGift();
  absl::Status missingWait();
  bool isAtRest() const;
  int64_t stepToAwait(const TensorState &state) const;
  absl::Status waitForUsers(TensorId tensor, int64_t step);
  absl::Status refuse(const absl::Status &why);
  absl::Status misuse(const std::string &what);
  absl::Status checkIndex(TensorId tensor) const;
  void record(const char *what, TensorId tensor, int64_t startNs);

  const std::shared_ptr<const Plan> plan;
  const std::shared_ptr<World> world;
  const SessionOptions options;
  SessionMemory memory;
  /// All ranks; null where this is the only one.
  std::unique_ptr<Communicator> everybody;
  PlanCommunicators communicators;
  Executor executor;

  Phase phase = Phase::Binding;
  bool isFinished = false;
  /// Between the begin of a step and finish().
  bool isRunning = false;
  std::vector<TensorState> tensors;
  /// By tensor: whether it is state that instructions update.
  std::vector<bool> isUpdated;
  std::map<absl::string_view, TensorId> byName;
  bool hasLoadedState = false;
  /// State that was loaded for tensors that are not bound yet.
  std::map<std::string, SavedTensor> loaded;
  int64_t firstStep = 0;
  /// Of operations, besides arenas.
  int64_t scratchBytes = 0;
  /// The current step since start(); -1 before the first.
  int64_t now = -1;
  int64_t requiredCount = 0;
  int64_t requiredGiven = 0;
  /// The same for tensors that must be read. They need not where finish() has
  /// waited for the step before.
  int64_t mustReadCount = 0;
  int64_t readCount = 0;
  bool mustRead = false;
};

HostSession::~HostSession() {
  if (!isFinished && !executor.hasFailed())
    executor
        .fail(absl::AbortedError(
            StrCat("rank ", rank(), ": its session was destroyed ",
                   now < 0 ? "before its first step"
                           : StrCat("in step ", step(), ", before finish()"))))
        .IgnoreError();
  executor.stop();
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

CommunicatorOptions HostSession::optionsOf(uint32_t stream) {
  return {options.timeout,
          [this, stream](const std::string &text) {
            executor.warnOfStream(stream, text);
          },
          [this, stream] { return executor.describeCall(stream); }};
}

absl::Status HostSession::meetEverybody(const std::string &prefix) {
  if (world->size() < 2)
    return absl::OkStatus();
  std::vector<int> all(world->size());
  std::iota(all.begin(), all.end(), 0);
  auto made =
      world->createCommunicator(all, prefix + "session", optionsOf(UINT32_MAX));
  if (made.ok()) {
    everybody = *std::move(made);
    return absl::OkStatus();
  }
  if (!absl::IsDeadlineExceeded(made.status()))
    return made.status();
  return withMessage(
      made.status(),
      StrCat("rank ", rank(), ": creating a session of plan '",
             plan->root().name()->str(),
             "', as all ranks do in one order: ", made.status().message()));
}

/// `own` of all ranks, by rank.
absl::StatusOr<std::vector<int64_t>>
HostSession::gatherFromAll(const std::vector<int64_t> &own) {
  if (!everybody)
    return own;
  std::vector<int> all(world->size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<int64_t> found(all.size() * own.size());
  absl::Status status = everybody->gatherFromOwners(
      own.data(), found.data(), static_cast<int64_t>(found.size()),
      DataType::Int64, world->size(), all);
  if (!status.ok())
    return status;
  return found;
}

/// Every rank sees all fingerprints, so that all fail alike.
absl::Status HostSession::compareFingerprints() {
  auto found = gatherFromAll({static_cast<int64_t>(plan->fingerprint())});
  if (!found.ok())
    return found.status();
  for (size_t other = 0; other < found->size(); ++other)
    if ((*found)[other] != (*found)[0])
      return absl::FailedPreconditionError(absl::StrFormat(
          "rank %d holds a plan of fingerprint %016x, rank 0 one of %016x",
          other, static_cast<uint64_t>((*found)[other]),
          static_cast<uint64_t>((*found)[0])));
  return absl::OkStatus();
}

absl::Status HostSession::connect() {
  if (world->size() != plan->topology().ranks())
    return absl::FailedPreconditionError(StrCat(
        "the plan is for ", plan->topology().ranks(), " ranks",
        plan->topology().servers() > 0
            ? StrCat(" (", plan->topology().servers(), " of them servers)")
            : "",
        ", the world has ", world->size()));
  // Memory first: what one rank takes to get it, others wait for here, within
  // the limit, and not in the first step.
  absl::Status status = memory.allocate(*world, options.checksMemory);
  // Names tell the sessions of a world apart.
  int number = world->nextNumber();
  std::string prefix = number > 0 ? StrCat(number, ": ") : "";
  if (status.ok())
    status = meetEverybody(prefix);
  if (status.ok())
    status = compareFingerprints();
  if (status.ok())
    status =
        communicators.create(*plan, *world, prefix, [this](uint32_t stream) {
          return optionsOf(stream);
        });
  if (!status.ok())
    return status;

  std::vector<bool> isGiven = findGivenTensors();
  std::vector<bool> isRead = findReadByProgram(*plan);
  isUpdated = findUpdatedByRuntime(*plan);
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const fb::Tensor &tensor = tensorAt(i);
    byName[{tensor.name()->data(), tensor.name()->size()}] = TensorId(i);
    tensors[i].isGivenByProgram = tensor.given_by_program();
    tensors[i].isRequired = isGiven[i];
    tensors[i].isState = isState(tensor.role());
    tensors[i].mustBeRead =
        isUpdated[i] && isRead[i] && plan->cluster().isWorker(rank());
    requiredCount += isGiven[i];
    mustReadCount += tensors[i].mustBeRead;
  }
  return absl::OkStatus();
}

/// Tensors that some instruction waits for, and that this rank has.
std::vector<bool> HostSession::findGivenTensors() const {
  std::vector<bool> isGiven(tensors.size(), false);
  for (const fb::Instruction *op : *plan->root().instructions())
    if (op->ready())
      for (uint32_t tensor : *op->ready())
        isGiven[tensor] = isHere(tensorAt(tensor));
  return isGiven;
}

absl::StatusOr<TensorId> HostSession::find(absl::string_view name) const {
  auto found = byName.find(name);
  if (found != byName.end())
    return found->second;
  return absl::NotFoundError(
      StrCat("the plan has no tensor named '", name, "'"));
}

absl::Status HostSession::checkIndex(TensorId tensor) const {
  if (indexOf(tensor) < tensors.size())
    return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("tensor number ", indexOf(tensor),
                                           " is not below ", tensors.size()));
}

absl::Status HostSession::bind(TensorId tensor, void *data, size_t bytes) {
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return status;
  uint32_t index = indexOf(tensor);
  auto refuse = [&](absl::StatusCode code, const std::string &why) {
    return absl::Status(code, StrCat("rank ", rank(), ": bind of tensor ",
                                     nameOf(tensor), ": ", why));
  };
  if (phase != Phase::Binding)
    return refuse(absl::StatusCode::kFailedPrecondition,
                  "the session has started");
  if (tensorAt(index).arena() >= 0)
    return refuse(absl::StatusCode::kFailedPrecondition,
                  "it lives in an arena: ask for its address");
  if (memory.isBound(index))
    return refuse(absl::StatusCode::kFailedPrecondition, "it is bound already");
  int64_t expected = localBytes(tensor);
  if (static_cast<int64_t>(bytes) != expected)
    return refuse(absl::StatusCode::kInvalidArgument,
                  StrCat("expected ", expected, " bytes, got ", bytes));
  int64_t alignment =
      dataTypeBytes(static_cast<DataType>(tensorAt(index).type()));
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0)
    return refuse(absl::StatusCode::kInvalidArgument,
                  StrCat("expected an address divisible by ", alignment));
  // Nothing to store, so the address may be null.
  static std::byte nothing;
  if (!data && expected > 0)
    return refuse(absl::StatusCode::kInvalidArgument, "the address is null");
  memory.bind(index, data ? static_cast<std::byte *>(data) : &nothing);
  tensors[index].isLocated = true;
  if (auto saved = loaded.find(tensorAt(index).name()->str());
      saved != loaded.end()) {
    std::memcpy(data, saved->second.bytes.data(), saved->second.bytes.size());
    loaded.erase(saved);
  }
  return absl::OkStatus();
}

absl::StatusOr<void *> HostSession::address(TensorId tensor, size_t bytes) {
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return status;
  uint32_t index = indexOf(tensor);
  if (static_cast<int64_t>(bytes) != localBytes(tensor))
    return absl::InvalidArgumentError(StrCat(
        "rank ", rank(), ": address of tensor ", nameOf(tensor),
        ": the plan has ", localBytes(tensor), " bytes, expected ", bytes));
  if (tensorAt(index).arena() < 0 && !memory.isBound(index))
    return absl::FailedPreconditionError(
        StrCat("rank ", rank(), ": tensor ", nameOf(tensor), " is not bound"));
  tensors[index].isLocated = true;
  return static_cast<void *>(memory.tensorAddress(index));
}

absl::StatusOr<void *> HostSession::bindOrLocate(TensorId tensor, void *data,
                                                 size_t bytes) {
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return status;
  if (tensorAt(indexOf(tensor)).arena() < 0) {
    absl::Status status = bind(tensor, data, bytes);
    return status.ok() ? absl::StatusOr<void *>(data) : status;
  }
  absl::StatusOr<void *> place = address(tensor, bytes);
  if (place.ok() && data && bytes > 0 && !tensors[indexOf(tensor)].isLoaded)
    std::memcpy(*place, data, bytes);
  return place;
}

bool HostSession::programUpdates(absl::string_view name) {
  auto found = byName.find(name);
  if (found == byName.end())
    return true;
  tensors[indexOf(found->second)].isAsked = true;
  return !isUpdated[indexOf(found->second)];
}

/// FailedPrecondition with the first few names, if there are any.
absl::Status HostSession::listTensors(const char *what,
                                      const std::vector<uint32_t> &list,
                                      const char *why) const {
  constexpr size_t kMostNames = 16;
  if (list.empty())
    return absl::OkStatus();
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(list.size(), kMostNames); ++i)
    names.push_back(nameOf(TensorId(list[i])));
  return absl::FailedPreconditionError(
      StrCat("rank ", rank(), ": ", what, absl::StrJoin(names, ", "),
             list.size() > kMostNames
                 ? StrCat(" and ", list.size() - kMostNames, " more")
                 : "",
             why));
}

absl::Status HostSession::checkBindings() const {
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const fb::Tensor &tensor = tensorAt(i);
    bool isUsed = tensor.users() && tensor.users()->size() > 0;
    if (isUsed && tensor.arena() < 0 && isHere(tensor) && !memory.isBound(i) &&
        memory.tensorBytes(i) > 0)
      missing.push_back(i);
  }
  return listTensors("not bound: ", missing, "");
}

/// That the program knows of the params that instructions update: it must not
/// update them, too, and their first values are its to write.
absl::Status HostSession::checkParams() const {
  std::vector<uint32_t> notAsked, notLocated;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensorAt(i).role() != fb::Role::Param || !isUpdated[i] ||
        memory.tensorBytes(i) == 0)
      continue;
    if (!tensors[i].isAsked)
      notAsked.push_back(i);
    if (tensorAt(i).arena() >= 0 && !tensors[i].isLocated)
      notLocated.push_back(i);
  }
  absl::Status status = listTensors(
      "the plan's instructions update ", notAsked,
      ": expected a program that asks programUpdates(), so as not to update "
      "them, too; with updates=program of its strategy the plan leaves updates "
      "to the program");
  return status.ok()
             ? listTensors("nobody has written ", notLocated,
                           ", which live in an arena: expected a program that "
                           "asks for their addresses, or state of theirs")
             : status;
}

/// All ranks go on from the same step, or all begin.
absl::Status HostSession::compareStates() {
  auto found = gatherFromAll({hasLoadedState, firstStep});
  if (!found.ok())
    return executor.fail(found.status());
  std::map<std::string, std::vector<size_t>> ranksByState;
  for (size_t i = 0; i < found->size(); i += 2)
    ranksByState[(*found)[i] ? StrCat("that of step ", (*found)[i + 1])
                             : std::string("none")]
        .push_back(i / 2);
  if (ranksByState.size() == 1)
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      StrCat("ranks have loaded different states: ",
             absl::StrJoin(
                 ranksByState, "; ", [](std::string *out, const auto &entry) {
                   absl::StrAppend(out, entry.first,
                                   entry.second.size() == 1 ? " on rank "
                                                            : " on ranks ",
                                   absl::StrJoin(entry.second, ", "));
                 })));
}

absl::Status HostSession::start() {
  if (executor.hasFailed())
    return executor.failure();
  if (phase != Phase::Binding)
    return absl::FailedPreconditionError("the session has started already");
  // Who has not asked would not know why to bind params.
  if (absl::Status status = checkParams(); !status.ok())
    return status;
  if (absl::Status status = checkBindings(); !status.ok())
    return status;
  const auto &instructions = *plan->root().instructions();
  OperationSource source = {*plan, rank(), memory, communicators};
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<bool> hasWork;
  int64_t scratch = 0;
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    operations.push_back(makeOperation(source, i));
    hasWork.push_back(operations.back() != nullptr);
    scratch += hasWork.back() ? operations.back()->scratchBytes : 0;
  }
  std::vector<bool> isGiven(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    isGiven[i] = tensors[i].isRequired;
  if (options.trace) {
    options.trace->nameProcess(rank(), StrCat("rank ", rank()));
    options.trace->nameThread(rank(), 0, "program");
    for (uint32_t i = 0; i < plan->root().streams()->size(); ++i)
      options.trace->nameThread(rank(), static_cast<int>(i) + 1,
                                plan->root().streams()->Get(i)->str());
  }
  absl::Status status = executor.start(
      std::move(operations), makeStreamPrograms(plan->root(), hasWork, isGiven),
      firstStep);
  if (!status.ok())
    return status;
  if (status = compareStates(); !status.ok()) {
    executor.stop();
    return status;
  }
  scratchBytes = scratch;
  phase = Phase::BetweenSteps;
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// A caller's bug. In a run, other ranks must not wait for this one.
absl::Status HostSession::refuse(const absl::Status &why) {
  return isRunning ? executor.fail(why) : why;
}

absl::Status HostSession::misuse(const std::string &what) {
  return refuse(
      absl::FailedPreconditionError(StrCat("rank ", rank(), ": ", what)));
}

void HostSession::record(const char *what, TensorId tensor, int64_t startNs) {
  options.trace->add({StrCat(what, " ", nameOf(tensor)),
                      rank(),
                      0,
                      startNs,
                      TraceWriter::nowNs() - startNs,
                      {{"step", step()}}});
}

absl::Status HostSession::beginStep() {
  if (executor.hasFailed())
    return executor.failure();
  if (phase != Phase::BetweenSteps)
    return misuse(phase == Phase::InStep ? "beginStep before endStep"
                                         : "beginStep before start");
  if (int64_t before = now + 1 - kStepsInFlight; before >= 0)
    if (absl::Status status = executor.waitForStep(before); !status.ok())
      return status;
  ++now;
  requiredGiven = readCount = 0;
  mustRead = isRunning;
  phase = Phase::InStep;
  isFinished = false;
  isRunning = true;
  executor.openStep();
  return absl::OkStatus();
}

absl::Status HostSession::checkGift(TensorId tensor) const {
  const TensorState &state = tensors[indexOf(tensor)];
  std::string why;
  if (phase != Phase::InStep)
    why = " outside of a step";
  else if (!state.isGivenByProgram)
    why = ", which the plan doesn't have the program give";
  else if (state.givenStep == now)
    why = " for the second time in this step";
  else if (state.isOwnedByRuntime)
    why = StrCat(", which was given in step ", firstStep + state.givenStep,
                 " and not taken back: expected a wait() before");
  if (why.empty())
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      StrCat("rank ", rank(), ": markReady of tensor ", nameOf(tensor), why,
             ", in step ", step()));
}

absl::Status HostSession::give(TensorId tensor) {
  TensorState &state = tensors[indexOf(tensor)];
  state.isOwnedByRuntime = true;
  state.givenStep = now;
  requiredGiven += state.isRequired;
  int64_t startNs = options.trace ? TraceWriter::nowNs() : 0;
  executor.give(indexOf(tensor), now);
  if (options.trace)
    record("give", tensor, startNs);
  return absl::OkStatus();
}

absl::Status HostSession::markReady(TensorId tensor) {
  if (executor.hasFailed())
    return executor.failure();
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return refuse(status);
  const TensorState &state = tensors[indexOf(tensor)];
  if (phase != Phase::InStep || !state.isGivenByProgram ||
      state.givenStep == now || state.isOwnedByRuntime)
    if (absl::Status status = checkGift(tensor); !status.ok())
      return refuse(status);
  return give(tensor);
}

absl::Status HostSession::markAbsent(TensorId tensor) {
  if (executor.hasFailed())
    return executor.failure();
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return refuse(status);
  if (!tensorAt(indexOf(tensor)).optional())
    return misuse(StrCat("markAbsent of tensor ", nameOf(tensor),
                         ", which is not optional"));
  if (absl::Status status = checkGift(tensor); !status.ok())
    return refuse(status);
  if (std::byte *data = memory.tensorAddress(indexOf(tensor)))
    std::memset(data, 0, localBytes(tensor));
  return give(tensor);
}

absl::Status HostSession::waitForUsers(TensorId tensor, int64_t step) {
  for (StreamPoint point : executor.schedule().users[indexOf(tensor)])
    if (absl::Status status = executor.waitFor(point, step, indexOf(tensor));
        !status.ok())
      return status;
  return absl::OkStatus();
}

/// In which step what wait() waits for was given or made; -1: there is nothing
/// to wait for.
int64_t HostSession::stepToAwait(const TensorState &state) const {
  if (!state.isGivenByProgram)
    return state.isState && phase == Phase::InStep ? now - 1 : now;
  return state.isOwnedByRuntime ? state.givenStep : -1;
}

bool HostSession::isReady(TensorId tensor) const {
  if (executor.hasFailed() || !checkIndex(tensor).ok())
    return true;
  int64_t step = stepToAwait(tensors[indexOf(tensor)]);
  if (step < 0)
    return true;
  const auto &users = executor.schedule().users[indexOf(tensor)];
  return std::all_of(users.begin(), users.end(), [&](StreamPoint point) {
    return executor.isReached(point, step);
  });
}

void HostSession::abort(const absl::Status &why) {
  executor
      .fail(
          withMessage(why.ok() ? absl::AbortedError("") : why,
                      StrCat("rank ", rank(), ": aborted",
                             why.message().empty() ? "" : ": ", why.message())))
      .IgnoreError();
}

absl::Status HostSession::wait(TensorId tensor) {
  if (executor.hasFailed())
    return executor.failure();
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return refuse(status);
  TensorState &state = tensors[indexOf(tensor)];
  if (state.mustBeRead && std::exchange(state.waitedStep, now) != now)
    ++readCount;
  int64_t step = stepToAwait(state);
  if (step < 0)
    return absl::OkStatus();
  int64_t startNs = options.trace ? TraceWriter::nowNs() : 0;
  if (absl::Status status = waitForUsers(tensor, step); !status.ok())
    return status;
  if (options.trace)
    record("wait", tensor, startNs);
  state.isOwnedByRuntime = false;
  return absl::OkStatus();
}

absl::Status HostSession::missingGift() {
  constexpr int kShown = 4;
  std::vector<std::string> missing;
  int count = 0;
  for (uint32_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].isRequired && tensors[i].givenStep != now &&
        ++count <= kShown)
      missing.push_back(StrCat(nameOf(TensorId(i)), ", which ",
                               executor.describe(static_cast<uint32_t>(
                                   executor.schedule().firstWaiter[i])),
                               " waits for"));
  if (count > kShown)
    missing.back() += StrCat("; and without ", count - kShown, " more");
  return misuse(StrCat("step ", step(), " ended without tensor ",
                       absl::StrJoin(missing, "; and without tensor ")));
}

/// A program that has not waited may have read what a step was still changing.
absl::Status HostSession::missingWait() {
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].mustBeRead && tensors[i].waitedStep != now)
      missing.push_back(i);
  std::string what = StrCat("step ", step(), " ended without a wait for ");
  return refuse(listTensors(
      what.c_str(), missing,
      ", which the program reads and the plan's instructions update"));
}

absl::Status HostSession::endStep() {
  if (phase != Phase::InStep)
    return executor.hasFailed() ? executor.failure()
                                : misuse("endStep before beginStep");
  // What has ended may be saved, whatever becomes of other ranks.
  bool isComplete = requiredGiven == requiredCount;
  if (executor.hasFailed()) {
    phase = isComplete ? Phase::BetweenSteps : phase;
    return executor.failure();
  }
  if (!isComplete)
    return missingGift();
  if (mustRead && readCount != mustReadCount)
    return missingWait();
  phase = Phase::BetweenSteps;
  return absl::OkStatus();
}

absl::Status HostSession::finish() {
  if (executor.hasFailed())
    return executor.failure();
  if (phase == Phase::InStep)
    return misuse("finish before endStep");
  if (now >= 0)
    if (absl::Status status = executor.waitForStep(now); !status.ok())
      return status;
  if (absl::Status status = memory.checkGuards(); !status.ok())
    return executor.fail(status);
  isFinished = true;
  isRunning = false;
  for (TensorState &state : tensors)
    state.isOwnedByRuntime = false;
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// Whether the state is that of a step's end: after finish(), or after an error
/// that came when this rank's part of its last step was done.
bool HostSession::isAtRest() const {
  return isFinished || (executor.hasFailed() && phase == Phase::BetweenSteps &&
                        now >= 0 && executor.isStepReached(now));
}

absl::StatusOr<std::string> HostSession::saveState() const {
  if (!isAtRest())
    return executor.hasFailed()
               ? executor.failure()
               : absl::FailedPreconditionError(
                     StrCat("rank ", rank(), ": saveState before finish"));
  SavedState state = describeState(*plan, rank(), firstStep + now + 1);
  std::vector<bool> isSaved = findSaved(*plan, rank(), isUpdated);
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const std::byte *data = memory.tensorAddress(i);
    if (!isSaved[i] || !data)
      continue;
    SavedTensor saved = describeTensor(tensorAt(i));
    saved.bytes.assign(reinterpret_cast<const char *>(data),
                       memory.tensorBytes(i));
    state.tensors[tensorAt(i).name()->str()] = std::move(saved);
  }
  return writeState(state);
}

absl::Status HostSession::loadState(absl::string_view bytes) {
  if (phase != Phase::Binding)
    return absl::FailedPreconditionError(
        StrCat("rank ", rank(), ": loadState after start"));
  absl::StatusOr<SavedState> state = readState(bytes);
  if (!state.ok())
    return withMessage(state.status(),
                       StrCat("rank ", rank(), ": ", state.status().message()));
  absl::Status status = adaptState(*plan, rank(), isUpdated, *state);
  if (!status.ok())
    return withMessage(status, StrCat("rank ", rank(), ": ", status.message()));
  for (auto &[name, saved] : state->tensors) {
    uint32_t tensor = indexOf(*find(name));
    tensors[tensor].isLocated = tensors[tensor].isLoaded = true;
    if (std::byte *data = memory.tensorAddress(tensor))
      std::memcpy(data, saved.bytes.data(), saved.bytes.size());
    else
      loaded[name] = std::move(saved);
  }
  firstStep = state->steps;
  hasLoadedState = true;
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Plan> plan, std::shared_ptr<World> world,
                SessionOptions options) {
  auto session = std::make_unique<HostSession>(
      std::move(plan), std::move(world), std::move(options));
  if (absl::Status status = session->connect(); !status.ok())
    return session->giveUp(status);
  return std::unique_ptr<Session>(std::move(session));
}

} // namespace bagua::runtime
