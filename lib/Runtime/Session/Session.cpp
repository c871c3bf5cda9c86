//===- Session.cpp - A training program's view of a plan ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Connecting, names and bindings: everything before the first step.
//
//===----------------------------------------------------------------------===//
#include "Session/PlanSession.h"

#include "Communication/DurationToString.h"
#include "Communication/StatusCopy.h"
#include "Communication/Timeout.h"
#include "Plan/PhaseTable.h"
#include "Plan/Roles.h"
#include "Session/HostFit.h"
#include "Session/Operation.h"
#include "Session/OwnSession.h"
#include "Session/StreamPrograms.h"
#include "Session/TensorOwners.h"
#include "bagua/Runtime/Device.h"

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Support/Advice.h"
#include "bagua/Support/TraceWriter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <numeric>
#include <random>
#include <utility>

namespace bagua::runtime {

using absl::StrCat;

PlanSession::~PlanSession() {
  if (!hasEnded)
    end();
}

bool PlanSession::end() {
  hasEnded = true;
  if (!isFinished && !executor.hasFailed())
    executor
        .fail(withPlace(
            absl::AbortedError(StrCat(
                "rank ", rank(), ": its session was destroyed ",
                now < 0 ? "before its first step"
                        : StrCat("in step ", step(), ", before finish()"))),
            {rank()}))
        .IgnoreError();
  executor.stopThreads();
  // The session's queue signals the executor's timelines.
  absl::Status drained =
      queue ? queue->drain(options.timeout) : absl::OkStatus();
  if (!absl::IsDeadlineExceeded(drained))
    drained = executor.stop();
  if (trace && !isFinished)
    trace->write();
  if (!absl::IsDeadlineExceeded(drained))
    return true;
  if (options.onWarning)
    options.onWarning(
        StrCat("rank ", rank(), ": the device has not ended its work within ",
               durationToString(options.timeout),
               " of the session's end: the session's memory is kept for it"));
  return false;
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

CommunicatorOptions PlanSession::optionsOf(uint32_t stream) {
  return {options.timeout,
          [this, stream](const std::string &text) {
            executor.warnOfStream(stream, text);
          },
          [this, stream] { return executor.describeCall(stream); }};
}

absl::Status PlanSession::meetEverybody(const std::string &prefix) {
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

/// Gathers `own` of all ranks, in the order of ranks.
absl::StatusOr<std::vector<int64_t>>
PlanSession::gatherFromAll(const std::vector<int64_t> &own) {
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

/// Every rank sees all fingerprints, so that all fail alike. Rank 0 draws the
/// session's number.
absl::Status PlanSession::meetPlans() {
  std::random_device device;
  const int64_t drawn = static_cast<int64_t>(device()) << 32 | device();
  auto found =
      gatherFromAll({static_cast<int64_t>(plan->fingerprint()), drawn});
  if (!found.ok())
    return found.status();
  number = (*found)[1];
  for (size_t i = 0; i < found->size(); i += 2)
    if ((*found)[i] != (*found)[0])
      return withPlace(
          absl::FailedPreconditionError(absl::StrFormat(
              "rank %d holds a plan of fingerprint %016x, rank 0 one of %016x",
              i / 2, static_cast<uint64_t>((*found)[i]),
              static_cast<uint64_t>((*found)[0]))),
          {static_cast<int64_t>(i / 2)});
  return absl::OkStatus();
}

absl::Status PlanSession::connect() {
  if (absl::Status status = checkTimeout(options.timeout); !status.ok())
    return status;
  if (firstStep < 0 || firstStep > kMaxSteps)
    return absl::InvalidArgumentError(StrCat("expected a first step of 0 to ",
                                             kMaxSteps, ", found ", firstStep));
  if (absl::Status status = updates.start(updates.expectBefore(firstStep));
      !status.ok())
    return status;
  if (world->size() != plan->topology().ranks())
    return absl::FailedPreconditionError(
        adviseOnRanks(plan->topology().ranks(), plan->topology().servers(),
                      "the world", world->size()));
  if (absl::Status status = checkHostFit(*plan, world->hosts()); !status.ok())
    return status;
  // Memory comes first, so that other ranks wait for a slow allocation here,
  // within the timeout, and not in the first step.
  absl::Status status = makeQueue();
  if (status.ok())
    status = memory.allocate(backend, *queue, options);
  // Names distinguish the sessions of a world.
  int place = world->nextNumber();
  std::string prefix = place > 0 ? StrCat(place, ": ") : "";
  if (status.ok())
    status = meetEverybody(prefix);
  if (status.ok())
    status = meetPlans();
  if (status.ok())
    status = communicators.create(
        *plan, rank(), backend, prefix,
        [this](uint32_t stream) { return optionsOf(stream); });
  if (!status.ok())
    return status;

  std::vector<bool> isMovable = findMovable(*plan);
  isUpdated = findUpdatedByRuntime(*plan);
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const fb::Tensor &tensor = tensorAt(i);
    byName[{tensor.name()->data(), tensor.name()->size()}] = TensorId(i);
    tensors[i].isGivenByProgram = tensor.given_by_program();
    tensors[i].isState = isState(tensor.role());
    tensors[i].isMovable = isMovable[i];
  }
  std::vector<bool> isUsed(tensors.size(), false);
  for (const fb::Step *planned : *plan->root().steps()) {
    needsOf.push_back(findNeeds(*planned));
    for (uint32_t i = 0; i < tensors.size(); ++i)
      isUsed[i] = isUsed[i] || needsOf.back().isUsed[i];
  }
  for (StepNeeds &needs : needsOf)
    needs.isForeign = findForeign(isUsed, needs.isUsed);
  return absl::OkStatus();
}

PlanSession::StepNeeds PlanSession::findNeeds(const fb::Step &planned) const {
  StepNeeds found;
  found.isRequired = findGivenTensors(planned);
  found.isUsed = found.isRequired; // signals have no users
  for (uint32_t i = 0; i < tensors.size(); ++i)
    found.isUsed[i] = found.isUsed[i] || isUsedIn(planned, i);
  found.mustBeRead = findReadByProgram(*plan, planned);
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    found.mustBeRead[i] =
        found.mustBeRead[i] && isUpdated[i] && plan->cluster().isWorker(rank());
    found.requiredCount += found.isRequired[i];
    found.mustReadCount += found.mustBeRead[i];
  }
  return found;
}

std::vector<bool>
PlanSession::findForeign(const std::vector<bool> &isUsed,
                         const std::vector<bool> &isUsedHere) const {
  std::vector<bool> isForeign(tensors.size());
  for (uint32_t i = 0; i < tensors.size(); ++i)
    isForeign[i] = isUsed[i] && !isUsedHere[i] &&
                   tensorAt(i).role() != fb::Role::Batch &&
                   tensorAt(i).role() != fb::Role::Input;
  return isForeign;
}

/// The tensors that an instruction of the step waits for and that this rank
/// has.
std::vector<bool> PlanSession::findGivenTensors(const fb::Step &planned) const {
  std::vector<bool> isGiven(tensors.size(), false);
  for (const fb::Instruction *op : *planned.instructions())
    if (op->ready())
      for (uint32_t tensor : *op->ready())
        isGiven[tensor] = isHere(tensorAt(tensor));
  return isGiven;
}

absl::StatusOr<TensorId> PlanSession::find(absl::string_view name) const {
  auto found = byName.find(name);
  if (found != byName.end())
    return found->second;
  return absl::NotFoundError(
      StrCat("the plan has no tensor named '", name, "'"));
}

absl::Status PlanSession::checkIndex(TensorId tensor) const {
  if (indexOf(tensor) < tensors.size())
    return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("expected a tensor's number below ",
                                           tensors.size(), ", found ",
                                           indexOf(tensor)));
}

/// Checks an address for a tensor that the program has. InvalidArgument,
/// without the tensor's name.
absl::Status PlanSession::checkMemory(uint32_t tensor, const void *data,
                                      size_t bytes) const {
  int64_t expected = memory.tensorBytes(tensor);
  if (static_cast<int64_t>(bytes) != expected)
    return absl::InvalidArgumentError(
        StrCat("expected ", expected, " bytes, got ", bytes));
  int64_t alignment =
      dataTypeBytes(static_cast<DataType>(tensorAt(tensor).type()));
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0)
    return absl::InvalidArgumentError(
        StrCat("expected an address divisible by ", alignment));
  if (!data && expected > 0)
    return absl::InvalidArgumentError("the address is null");
  return backend.device().checkAddress(data, bytes);
}

absl::Status PlanSession::makeQueue() {
  auto made = backend.device().createQueue([this](const absl::Status &why) {
    executor
        .fail(withMessage(why, StrCat("rank ", rank(), ": ", why.message())))
        .IgnoreError();
  });
  if (!made.ok())
    return withMessage(made.status(), StrCat("rank ", rank(), ": no queue: ",
                                             made.status().message()));
  queue = *std::move(made);
  return absl::OkStatus();
}

absl::Status PlanSession::copyNow(void *to, const void *from,
                                  size_t bytes) const {
  absl::Status status = queue->copy(to, from, bytes);
  return status.ok() ? queue->drain(options.timeout) : status;
}

absl::Status PlanSession::bind(TensorId tensor, void *data, size_t bytes) {
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
  if (absl::Status status = checkMemory(index, data, bytes); !status.ok())
    return refuse(status.code(), std::string(status.message()));
  // There is nothing to store, so the address may be null.
  static std::byte nothing;
  memory.bind(index, data ? static_cast<std::byte *>(data) : &nothing);
  tensors[index].isLocated = true;
  if (auto saved = loaded.find(tensorAt(index).name()->str());
      saved != loaded.end()) {
    const std::string bytesOf = std::move(saved->second.bytes);
    loaded.erase(saved);
    return copyNow(data, bytesOf.data(), bytesOf.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<void *> PlanSession::address(TensorId tensor, size_t bytes) {
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return status;
  uint32_t index = indexOf(tensor);
  if (static_cast<int64_t>(bytes) != localBytes(tensor))
    return absl::InvalidArgumentError(
        StrCat("rank ", rank(), ": address of tensor ", nameOf(tensor),
               ": expected ", localBytes(tensor), " bytes, found ", bytes));
  if (tensorAt(index).arena() < 0 && !memory.isBound(index))
    return absl::FailedPreconditionError(
        StrCat("rank ", rank(), ": tensor ", nameOf(tensor), " is not bound"));
  tensors[index].isLocated = true;
  return static_cast<void *>(memory.tensorAddress(index));
}

absl::StatusOr<std::shared_ptr<void>> PlanSession::hold(TensorId tensor,
                                                        size_t bytes) {
  absl::StatusOr<void *> place = address(tensor, bytes);
  if (!place.ok())
    return place.status();
  if (tensorAt(indexOf(tensor)).arena() < 0)
    return absl::FailedPreconditionError(
        StrCat("rank ", rank(), ": hold of tensor ", nameOf(tensor),
               ": its memory is the program's own"));
  return memory.hold(indexOf(tensor));
}

absl::StatusOr<void *> PlanSession::bindOrLocate(TensorId tensor, void *data,
                                                 size_t bytes) {
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return status;
  if (tensorAt(indexOf(tensor)).arena() < 0) {
    absl::Status status = bind(tensor, data, bytes);
    return status.ok() ? absl::StatusOr<void *>(data) : status;
  }
  absl::StatusOr<void *> place = address(tensor, bytes);
  if (place.ok() && data && bytes > 0 && !tensors[indexOf(tensor)].isLoaded)
    if (absl::Status status = copyNow(*place, data, bytes); !status.ok())
      return status;
  return place;
}

bool PlanSession::programUpdates(absl::string_view name) {
  auto found = byName.find(name);
  if (found == byName.end())
    return true;
  tensors[indexOf(found->second)].isAsked = true;
  return !isUpdated[indexOf(found->second)];
}

/// FailedPrecondition with the first few names, if there are any.
absl::Status PlanSession::listTensors(const char *what,
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

absl::Status PlanSession::checkBindings() const {
  const std::vector<bool> isUsed = findUsed(*plan);
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const fb::Tensor &tensor = tensorAt(i);
    if (isUsed[i] && tensor.arena() < 0 && isHere(tensor) &&
        !memory.isBound(i) && !tensors[i].isMovable &&
        memory.tensorBytes(i) > 0)
      missing.push_back(i);
  }
  return listTensors("not bound: ", missing, "");
}

/// Checks that the program knows of the params that instructions update: it
/// must not update them, too, and it must write their first values.
absl::Status PlanSession::checkParams() const {
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
      "the runtime updates ", notAsked,
      ": expected the program to call programUpdates() for each, and to leave "
      "out the updates for which that is false; a plan with updates=program "
      "leaves all updates to the program");
  return status.ok()
             ? listTensors("the program has not set the first values "
                           "of ",
                           notLocated,
                           ", which lie in an arena: expected it to ask for "
                           "their addresses, or to load a state")
             : status;
}

/// Either all ranks continue from the same step of the same session, or all
/// begin.
absl::Status PlanSession::compareStates() {
  auto found = gatherFromAll({hasLoadedState, firstStep, loadedNumber});
  if (!found.ok())
    return executor.fail(found.status());
  std::map<std::string, std::vector<size_t>> ranksByState;
  for (size_t i = 0; i < found->size(); i += 3)
    ranksByState[(*found)[i]
                     ? absl::StrFormat("that of step %d of session %016x",
                                       (*found)[i + 1],
                                       static_cast<uint64_t>((*found)[i + 2]))
                 : (*found)[i + 1] > 0
                     ? StrCat("none, with a first step of ", (*found)[i + 1])
                     : std::string("none")]
        .push_back(i / 3);
  if (ranksByState.size() == 1)
    return absl::OkStatus();
  // A rank that destroys its session now must not end the run before others
  // have seen the reason.
  everybody->barrier().IgnoreError();
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

IterationPrograms
PlanSession::makePrograms(const std::vector<bool> &hasWork) const {
  const fb::Plan &root = plan->root();
  IterationPrograms made;
  std::vector<StreamPrograms> &programs = made.programs;
  for (uint32_t i = 0; i < root.steps()->size(); ++i)
    programs.push_back(
        makeStreamPrograms(*plan, i, hasWork, needsOf[i].isRequired));
  for (int64_t iteration : iterationsWithStepsBefore(root)) {
    if (iteration < firstStep)
      continue;
    std::vector<const StreamPrograms *> before;
    for (uint32_t number : stepsBefore(root, iteration))
      before.push_back(&programs[number]);
    StreamPrograms joined =
        joinPrograms(before, programs[stepOf(root, iteration)]);
    made.joined[iteration] = static_cast<uint32_t>(programs.size());
    programs.push_back(std::move(joined));
  }
  return made;
}

int64_t PlanSession::firstWaiter(TensorId tensor) const {
  const auto &programs = executor.steps().all();
  if (programs.empty() || indexOf(tensor) >= tensors.size())
    return -1;
  return programs[executor.programAt(step())].firstWaiter[indexOf(tensor)];
}

absl::Status
PlanSession::startStreams(std::vector<std::unique_ptr<Operation>> operations,
                          const std::vector<bool> &hasWork) {
  IterationPrograms made = makePrograms(hasWork);
  if (options.trace)
    nameRank(*options.trace, *plan, rank());
  trace = RunTrace::make({*plan, rank(), number, memory, operations,
                          made.programs, [this](const std::string &text) {
                            if (options.onWarning)
                              options.onWarning(
                                  StrCat("rank ", rank(), ": ", text));
                          }});
  if (trace)
    executor.recordTo(&trace->recorder(),
                      [this] { trace->writeFailure(/*byProgram=*/false); });
  else
    executor.recordTo(nullptr, nullptr);
  return executor.start(std::move(operations), std::move(made), firstStep);
}

/// A run that resumes without a state must have none.
absl::Status PlanSession::checkFirstStep() const {
  if (firstStep == 0 || hasLoadedState)
    return absl::OkStatus();
  const std::vector<bool> isSaved = findSaved(*plan, rank(), isUpdated);
  for (uint32_t i = 0; i < isSaved.size(); ++i)
    if (isSaved[i])
      return absl::FailedPreconditionError(
          StrCat("rank ", rank(), ": first step ", firstStep,
                 ": expected a loaded state, since the runtime keeps ",
                 nameOf(TensorId(i))));
  return absl::OkStatus();
}

absl::Status PlanSession::start() {
  if (executor.hasFailed())
    return executor.failure();
  if (phase != Phase::Binding)
    return absl::FailedPreconditionError("the session has started already");
  // A program that has not asked would not know why to bind params.
  if (absl::Status status = checkParams(); !status.ok())
    return status;
  if (absl::Status status = checkBindings(); !status.ok())
    return status;
  if (absl::Status status = checkFirstStep(); !status.ok())
    return status;
  OperationSource source = {*plan,         rank(),  memory,
                            communicators, backend, updates};
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<bool> hasWork;
  int64_t scratch = 0;
  for (uint32_t i = 0; i < plan->instructionCount(); ++i) {
    auto made = makeOperation(source, i);
    if (!made.ok())
      return made.status();
    operations.push_back(*std::move(made));
    hasWork.push_back(operations.back() != nullptr);
    scratch += hasWork.back() ? operations.back()->scratchBytes : 0;
  }
  absl::Status status = startStreams(std::move(operations), hasWork);
  if (!status.ok())
    return status;
  if (status = compareStates(); !status.ok()) {
    executor.stop().IgnoreError(); // no instruction was enqueued
    return status;
  }
  if (trace) {
    trace->begin(firstStep);
    begunTrace.store(trace.get(), std::memory_order_release);
  }
  scratchBytes = scratch;
  phase = Phase::BetweenSteps;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Plan> plan, std::shared_ptr<World> world,
                SessionOptions options) {
  auto backend = findBackend(*world, options.backend);
  if (!backend.ok()) {
    world->abort(
        withMessage(backend.status(), StrCat("rank ", world->rank(), ": ",
                                             backend.status().message())));
    return world->status();
  }
  auto session = std::make_unique<PlanSession>(
      std::move(plan), std::move(world), **backend, std::move(options));
  if (absl::Status status = session->connect(); !status.ok())
    return session->giveUp(status);
  PlanSession *made = session.get();
  return keepToProcess(
      std::move(session), [made] { made->writeFailure(); },
      [made] { return made->end(); });
}

} // namespace bagua::runtime
