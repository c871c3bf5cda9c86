//===- Worlds.cpp - Worlds and collectives in C ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How ranks find each other, and how they communicate outside a plan.
//
//===----------------------------------------------------------------------===//
#include "Errors.h"
#include "Handles.h"
#include "ProgramStore.h"

#include "bagua/Runtime/Launch.h"
#include "bagua/Runtime/Processes.h"
#include "bagua/Runtime/Waits.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

using namespace bagua;
using capi::guard;
using capi::requireAll;

namespace {

/// A null text is empty.
std::string text(const char *given) { return given ? given : ""; }

absl::Status readOptions(const bagua_world_options *given,
                         runtime::ProcessOptions &options,
                         std::string &rendezvous) {
  bagua_world_options known = {};
  if (given)
    if (absl::Status status = capi::readStruct("bagua_world_options", given,
                                               &known, sizeof(known));
        !status.ok())
      return status;
  options.rank = known.rank;
  options.size = known.size;
  rendezvous = text(known.rendezvous);
  options.address = text(known.address);
  options.host = text(known.host);
  options.interface = text(known.interface_name);
  options.sharedBytes = known.shared_bytes;
  if (!known.store_set != !known.store_get)
    return absl::InvalidArgumentError(
        "bagua_world_options: expected store_set and store_get, found one");
  if (known.store_set && !rendezvous.empty())
    return absl::InvalidArgumentError(
        "bagua_world_options: expected a rendezvous or a store, found both");
  if (known.store_set)
    options.store = std::make_shared<capi::ProgramStore>(known);
  absl::Status status = capi::readSeconds(
      "timeout_seconds", known.timeout_seconds, options.timeout);
  options.communicatorTimeout = options.timeout;
  return status.ok()
             ? capi::readSeconds("patience_seconds", known.patience_seconds,
                                 options.patience)
             : status;
}

absl::Status keep(absl::StatusOr<std::unique_ptr<runtime::World>> made,
                  bagua_world **world) {
  if (!made.ok())
    return made.status();
  *world = new bagua_world{*std::move(made)};
  return absl::OkStatus();
}

absl::Status checkElements(const char *call, int64_t count, bagua_type type) {
  if (count < 0)
    return absl::InvalidArgumentError(
        absl::StrCat(call, ": expected a count from 0, found ", count));
  if (type < 0 || type >= kDataTypeCount)
    return absl::InvalidArgumentError(
        absl::StrCat(call, ": ", type, " is no type"));
  return absl::OkStatus();
}

} // namespace

bagua_code bagua_world_connect(const bagua_world_options *options,
                               bagua_world **world) {
  return guard([&]() -> absl::Status {
    runtime::ProcessOptions process;
    std::string rendezvous;
    absl::Status status = requireAll("bagua_world_connect",
                                     {{"options", options}, {"world", world}});
    if (status.ok())
      status = readOptions(options, process, rendezvous);
    if (!status.ok())
      return status;
    if (!rendezvous.empty())
      process.store = runtime::createFileStore(rendezvous);
    return keep(runtime::connectProcesses(process), world);
  });
}

/// Variables that don't fit are a launcher's, too; creating the world reports
/// them.
int bagua_is_launched(void) {
  bool isLaunched = true;
  guard([&]() -> absl::Status {
    auto launch = runtime::findLaunch(std::getenv);
    isLaunched = !launch.ok() || launch->has_value();
    return absl::OkStatus();
  });
  return isLaunched;
}

bagua_code bagua_world_launched(const bagua_world_options *options,
                                bagua_world **world) {
  return guard([&]() -> absl::Status {
    runtime::ProcessOptions process;
    std::string rendezvous;
    absl::Status status =
        requireAll("bagua_world_launched", {{"world", world}});
    if (status.ok())
      status = readOptions(options, process, rendezvous);
    if (!status.ok())
      return status;
    auto launch = runtime::findLaunch(std::getenv);
    if (!launch.ok())
      return launch.status();
    if (!launch->has_value())
      return absl::FailedPreconditionError(
          "bagua_world_launched: expected a launcher's variables: those of "
          "torchrun, mpirun or srun");
    return keep(runtime::connectLaunched(**launch, rendezvous, process), world);
  });
}

bagua_code bagua_worlds_in_process(int size, double timeout_seconds,
                                   bagua_world **worlds) {
  return guard([&]() -> absl::Status {
    std::chrono::nanoseconds timeout = runtime::ProcessOptions().timeout;
    absl::Status status =
        requireAll("bagua_worlds_in_process", {{"worlds", worlds}});
    if (status.ok())
      status = capi::readSeconds("timeout_seconds", timeout_seconds, timeout);
    if (status.ok() && size < 1)
      status = absl::InvalidArgumentError(absl::StrCat(
          "bagua_worlds_in_process: expected a size from 1, found ", size));
    if (!status.ok())
      return status;
    auto made = runtime::createInProcessWorlds(size, timeout);
    std::vector<std::unique_ptr<bagua_world>> handles;
    for (auto &world : made)
      handles.push_back(
          std::make_unique<bagua_world>(bagua_world{std::move(world)}));
    for (int rank = 0; rank < size; ++rank)
      worlds[rank] = handles[rank].release();
    return absl::OkStatus();
  });
}

void bagua_world_free(bagua_world *world) { delete world; }

int bagua_world_rank(const bagua_world *world) {
  return world ? world->world->rank() : -1;
}

int bagua_world_size(const bagua_world *world) {
  return world ? world->world->size() : -1;
}

int bagua_world_hosts(const bagua_world *world) {
  return world ? world->world->hostCount() : -1;
}

int bagua_world_next_number(bagua_world *world) {
  return world ? world->world->nextNumber() : -1;
}

bagua_code bagua_describe_waits(void **text, size_t *size) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll("bagua_describe_waits", {{"text", text}, {"size", size}});
    if (!status.ok())
      return status;
    const std::string found = runtime::describeWaits();
    void *copy = std::malloc(found.size() + 1);
    if (!copy)
      return absl::ResourceExhaustedError("");
    std::memcpy(copy, found.data(), found.size());
    *text = copy;
    *size = found.size();
    return absl::OkStatus();
  });
}

void bagua_world_limit_stay(bagua_world *world) {
  guard([&] {
    if (world)
      world->world->limitStay();
    return absl::OkStatus();
  });
}

void bagua_world_abort(bagua_world *world, const char *why) {
  guard([&] {
    if (world)
      world->world->abort(absl::AbortedError(
          absl::StrCat("rank ", world->world->rank(), ": aborted",
                       text(why).empty() ? "" : ": ", text(why))));
    return absl::OkStatus();
  });
}

bagua_code bagua_communicator_create(bagua_world *world, const int *members,
                                     int count, const char *name,
                                     bagua_communicator **communicator) {
  return bagua_communicator_create_with(world, members, count, name,
                                        /*options=*/nullptr, communicator);
}

bagua_code
bagua_communicator_create_with(bagua_world *world, const int *members,
                               int count, const char *name,
                               const bagua_communicator_options *options,
                               bagua_communicator **communicator) {
  return guard([&]() -> absl::Status {
    absl::Status status = requireAll(
        "bagua_communicator_create",
        {{"world", world}, {"name", name}, {"communicator", communicator}});
    runtime::CommunicatorOptions read;
    bagua_communicator_options known = {};
    if (status.ok()) {
      read.timeout = world->world->timeout();
      status =
          capi::readWaiting("bagua_communicator_options", options, known, read);
    }
    if (!status.ok())
      return status;
    std::vector<int> ranks(members ? std::max(count, 0) : world->world->size());
    if (members)
      ranks.assign(members, members + ranks.size());
    else
      std::iota(ranks.begin(), ranks.end(), 0);
    auto made = world->world->createCommunicator(ranks, name, read);
    if (!made.ok())
      return made.status();
    *communicator = new bagua_communicator{world->world, {}, *std::move(made)};
    return absl::OkStatus();
  });
}

void bagua_communicator_free(bagua_communicator *communicator) {
  delete communicator;
}

bagua_code bagua_communicator_agree_on(bagua_communicator *communicator,
                                       const char *fact, uint64_t value,
                                       const char *meaning) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll("bagua_communicator_agree_on",
                   {{"communicator", communicator}, {"fact", fact}});
    if (!status.ok())
      return status;
    runtime::Agreement &agreement = communicator->agreement;
    agreement.set(fact, value, text(meaning));
    communicator->communicator->agreeOn(agreement.word(), &agreement);
    return absl::OkStatus();
  });
}

bagua_code bagua_all_reduce(bagua_communicator *communicator, const void *input,
                            void *output, int64_t count, bagua_type type,
                            bagua_reduce_kind kind) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll("bagua_all_reduce", {{"communicator", communicator}});
    if (status.ok())
      status = checkElements("bagua_all_reduce", count, type);
    if (status.ok() && (kind < 0 || kind >= kReduceKindCount))
      status = absl::InvalidArgumentError(
          absl::StrCat("bagua_all_reduce: ", kind, " is no kind"));
    if (status.ok() && count > 0)
      status = requireAll("bagua_all_reduce",
                          {{"input", input}, {"output", output}});
    return status.ok() ? communicator->communicator->allReduce(
                             input, output, count, static_cast<DataType>(type),
                             static_cast<ReduceKind>(kind))
                       : status;
  });
}

bagua_code bagua_all_gather(bagua_communicator *communicator, const void *input,
                            void *output, int64_t count, bagua_type type) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll("bagua_all_gather", {{"communicator", communicator}});
    if (status.ok())
      status = checkElements("bagua_all_gather", count, type);
    if (status.ok() && count > 0)
      status = requireAll("bagua_all_gather",
                          {{"input", input}, {"output", output}});
    if (!status.ok())
      return status;
    runtime::Communicator &group = *communicator->communicator;
    if (count > std::numeric_limits<int64_t>::max() / group.size())
      return absl::InvalidArgumentError(
          absl::StrCat("bagua_all_gather: ", count, " elements of ",
                       group.size(), " members are too many"));
    std::vector<int> owners(group.size());
    std::iota(owners.begin(), owners.end(), 0);
    return group.gatherFromOwners(input, output, count * group.size(),
                                  static_cast<DataType>(type), group.size(),
                                  owners);
  });
}

bagua_code bagua_broadcast(bagua_communicator *communicator, void *data,
                           int64_t count, bagua_type type, int root) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll("bagua_broadcast", {{"communicator", communicator}});
    if (status.ok())
      status = checkElements("bagua_broadcast", count, type);
    if (status.ok() && count > 0)
      status = requireAll("bagua_broadcast", {{"data", data}});
    if (!status.ok())
      return status;
    runtime::Communicator &group = *communicator->communicator;
    if (root < 0 || root >= group.size())
      return absl::InvalidArgumentError(
          absl::StrCat("bagua_broadcast: expected a root in [0, ", group.size(),
                       "), found ", root));
    return group.gatherFromOwners(group.rank() == root ? data : nullptr, data,
                                  count, static_cast<DataType>(type),
                                  group.size(), {root});
  });
}

bagua_code bagua_barrier(bagua_communicator *communicator) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll("bagua_barrier", {{"communicator", communicator}});
    return status.ok() ? communicator->communicator->barrier() : status;
  });
}
