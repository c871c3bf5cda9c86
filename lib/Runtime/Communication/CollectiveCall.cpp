//===- CollectiveCall.cpp - One member's call of a collective -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks arguments, and makes the messages that say which members disagree.
//
//===----------------------------------------------------------------------===//
#include "Communication/CollectiveCall.h"

#include "Communication/Disagreement.h"
#include "Kernels/ReduceKernels.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace bagua::runtime {
namespace {

/// Debian builds Abseil with its own string_view.
absl::string_view view(std::string_view text) {
  return {text.data(), text.size()};
}

bool hasTypedElements(CollectiveOp op) {
  return op == CollectiveOp::AllReduce || op == CollectiveOp::ReduceToOwners ||
         op == CollectiveOp::GatherFromOwners;
}

bool reduces(CollectiveOp op) {
  return op == CollectiveOp::AllReduce || op == CollectiveOp::ReduceToOwners;
}

bool hasOwners(CollectiveOp op) {
  return op == CollectiveOp::ReduceToOwners ||
         op == CollectiveOp::GatherFromOwners;
}

/// The bytes of a buffer, for checks of overlap.
struct Extent {
  const std::byte *begin;
  const std::byte *end;

  Extent(const void *buffer, int64_t bytes)
      : begin(static_cast<const std::byte *>(buffer)), end(begin + bytes) {}
  bool overlaps(const Extent &other) const {
    return begin < other.end && other.begin < end;
  }
};

constexpr char kOverlap[] =
    "output overlaps input other than in the place that the op allows";

std::string refusalOfMembers(const CollectiveCall &call, int size) {
  absl::Span<const int32_t> ranks = call.ranks();
  for (absl::Span<const int32_t> members : {ranks, call.destinations()})
    for (int member : members)
      if (member < 0 || member >= size)
        return absl::StrCat("member ", member, " is not in [0, ", size, ")");
  for (size_t i = 0; i < ranks.size(); ++i)
    if (hasOwners(call.op) &&
        std::count(ranks.begin(), ranks.begin() + i, ranks[i]) > 0)
      return absl::StrCat("member ", ranks[i], " is an owner twice");
  if (!hasOwners(call.op))
    return {};
  if (ranks.empty())
    return "there are no owners";
  if (call.endpoints < 1 || call.endpoints > size)
    return absl::StrCat(call.op == CollectiveOp::ReduceToOwners ? "contributors"
                                                                : "receivers",
                        " must be in [1, ", size, "], got ", call.endpoints);
  return {};
}

/// Checks the buffer of the whole against the buffer of an owner's part.
std::string refusalOfOwnerBuffers(const CollectiveCall &call, const void *whole,
                                  bool hasWhole, const void *owned, int rank) {
  int64_t bytes = call.elementBytes();
  ElementRange part = call.partOf(rank);
  bool isOwner = part.size() > 0;
  if (isOwner && !owned)
    return "the owner's buffer is null";
  if (hasWhole && !whole && call.count > 0)
    return "the buffer of the whole tensor is null";
  if (!isOwner || !hasWhole)
    return {};
  Extent all(whole, call.count * bytes);
  Extent own(owned, part.size() * bytes);
  if (all.overlaps(own) && own.begin != all.begin + part.begin * bytes)
    return kOverlap;
  return {};
}

std::string refusalOfExchange(const CollectiveCall &call,
                              const CallBuffers &buffers) {
  if (call.ranks().size() != buffers.outputs.size())
    return absl::StrCat("there are ", call.ranks().size(), " sources and ",
                        buffers.outputs.size(), " outputs");
  if (call.count == 0)
    return {};
  bool sends = !call.destinations().empty();
  if (!buffers.input && sends)
    return "the input is null";
  Extent input(buffers.input, sends ? call.count : 0);
  for (size_t i = 0; i < buffers.outputs.size(); ++i) {
    if (!buffers.outputs[i])
      return absl::StrCat("output ", i, " is null");
    Extent output(buffers.outputs[i], call.count);
    bool overlaps = output.overlaps(input);
    for (size_t j = 0; j < i; ++j)
      overlaps |= output.overlaps(Extent(buffers.outputs[j], call.count));
    if (overlaps)
      return absl::StrCat("output ", i, " overlaps another buffer");
  }
  return {};
}

std::string refusalOfBuffers(const CollectiveCall &call,
                             const CallBuffers &buffers, int rank, int size) {
  switch (call.op) {
  case CollectiveOp::AllReduce: {
    if (call.count == 0)
      return {};
    if (!buffers.input || !buffers.output)
      return buffers.input ? "the output is null" : "the input is null";
    Extent input(buffers.input, call.count * call.elementBytes());
    Extent output(buffers.output, call.count * call.elementBytes());
    return input.overlaps(output) && input.begin != output.begin ? kOverlap
                                                                 : "";
  }
  case CollectiveOp::ReduceToOwners:
    return refusalOfOwnerBuffers(call, buffers.input, rank < call.endpoints,
                                 buffers.output, rank);
  case CollectiveOp::GatherFromOwners:
    return refusalOfOwnerBuffers(call, buffers.output, rank < call.endpoints,
                                 buffers.input, rank);
  case CollectiveOp::AllToAll: {
    if (call.count == 0)
      return {};
    if (!buffers.input || !buffers.output)
      return buffers.input ? "the output is null" : "the input is null";
    Extent input(buffers.input, call.count * size);
    return input.overlaps(Extent(buffers.output, call.count * size)) ? kOverlap
                                                                     : "";
  }
  case CollectiveOp::Exchange:
    return refusalOfExchange(call, buffers);
  case CollectiveOp::Barrier:
    return {};
  }
  return {};
}

/// "1000 on ranks 0, 1, 3; 999 on rank 2".
std::string listByValue(absl::Span<const std::string> values,
                        absl::Span<const int> worldRanks) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (size_t i = 0; i < values.size(); ++i) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](auto &known) {
      return known.first == values[i];
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), {values[i], {}});
    group->second.push_back(worldRanks[i]);
  }
  return absl::StrJoin(groups, "; ", [](std::string *out, const auto &group) {
    absl::StrAppend(out, group.first,
                    group.second.size() == 1 ? " on rank " : " on ranks ",
                    absl::StrJoin(group.second, ", "));
  });
}

std::string ownersOf(const CollectiveCall &call) {
  return absl::StrCat("[", absl::StrJoin(call.ranks(), ", "), "]");
}

/// The first field in which the calls differ, with each member's value.
std::string describeDifference(const CallTable &calls,
                               absl::Span<const int> worldRanks) {
  using Field =
      std::pair<const char *, std::string (*)(const CollectiveCall &)>;
  const Field fields[] = {
      {"op",
       [](const CollectiveCall &call) {
         return std::string(collectiveOpName(call.op));
       }},
      {"count",
       [](const CollectiveCall &call) { return absl::StrCat(call.count); }},
      {"type",
       [](const CollectiveCall &call) {
         return std::string(dataTypeName(call.type));
       }},
      {"kind",
       [](const CollectiveCall &call) {
         return std::string(reduceKindName(call.kind));
       }},
      {"contributors or receivers",
       [](const CollectiveCall &call) { return absl::StrCat(call.endpoints); }},
      {"owners", ownersOf},
      {"the list of facts to compare",
       [](const CollectiveCall &call) {
         return std::string(call.agreement ? "stated" : "not stated");
       }},
  };
  for (auto [name, print] : fields) {
    std::vector<std::string> values;
    for (int member = 0; member < calls.size(); ++member)
      values.push_back(print(calls[member]));
    if (std::any_of(values.begin(), values.end(),
                    [&](auto &value) { return value != values[0]; }))
      return absl::StrCat(name, " is ", listByValue(values, worldRanks));
  }
  return "calls differ";
}

/// The lowest member whose sends don't match: it sends to a member that does
/// not expect it as often, or expects a message from a member that does not
/// send to it.
std::string describeOneSidedExchange(const CallTable &calls,
                                     absl::Span<const int> worldRanks) {
  auto count = [](absl::Span<const int32_t> members, int member) {
    return std::count(members.begin(), members.end(), member);
  };
  for (int member = 0; member < calls.size(); ++member) {
    for (int to : calls[member].destinations())
      if (count(calls[member].destinations(), to) !=
          count(calls[to].ranks(), member))
        return absl::StrCat("rank ", worldRanks[member], " sends to rank ",
                            worldRanks[to], ", which does not expect it");
    for (int from : calls[member].ranks())
      if (count(calls[from].destinations(), member) == 0)
        return absl::StrCat("rank ", worldRanks[member],
                            " expects something of rank ", worldRanks[from],
                            ", which does not send to it");
  }
  return {};
}

} // namespace

std::string_view collectiveOpName(CollectiveOp op) {
  switch (op) {
  case CollectiveOp::AllReduce:
    return "all_reduce";
  case CollectiveOp::ReduceToOwners:
    return "reduce_to_owners";
  case CollectiveOp::GatherFromOwners:
    return "gather_from_owners";
  case CollectiveOp::AllToAll:
    return "all_to_all";
  case CollectiveOp::Exchange:
    return "exchange";
  case CollectiveOp::Barrier:
    return "barrier";
  }
  return "unknown";
}

//===----------------------------------------------------------------------===//
// CollectiveCall
//===----------------------------------------------------------------------===//

void CollectiveCall::reset(CollectiveOp newOp) {
  op = newOp;
  type = DataType::Float32;
  kind = ReduceKind::Sum;
  endpoints = 0;
  count = 0;
  agreement = 0;
  input = output = 0;
  isReachable = true;
  rankCount = destinationCount = refusalSize = 0;
}

bool CollectiveCall::isPossible(int size) const {
  const auto most = 2 * static_cast<uint32_t>(size);
  return op <= CollectiveOp::Barrier &&
         static_cast<int>(type) < kDataTypeCount &&
         static_cast<int>(kind) < kReduceKindCount && rankCount <= most &&
         destinationCount <= most && refusalSize <= sizeof(refusalText);
}

void CollectiveCall::setLists(absl::Span<const int> ranks,
                              absl::Span<const int> destinations, int size) {
  const auto most = 2 * static_cast<size_t>(size);
  for (absl::Span<const int> list : {ranks, destinations})
    if (list.size() > most)
      return refuse(absl::StrCat("it lists ", list.size(), " members, at most ",
                                 most, " are allowed"));
  std::copy(ranks.begin(), ranks.end(), lists());
  rankCount = static_cast<uint32_t>(ranks.size());
  std::copy(destinations.begin(), destinations.end(), lists() + rankCount);
  destinationCount = static_cast<uint32_t>(destinations.size());
}

void CollectiveCall::refuse(absl::string_view why) {
  refusalSize = std::min(why.size(), sizeof(refusalText));
  std::copy_n(why.data(), refusalSize, refusalText);
}

bool CollectiveCall::agreesWith(const CollectiveCall &other) const {
  return op == other.op && type == other.type && kind == other.kind &&
         endpoints == other.endpoints && count == other.count &&
         agreement == other.agreement &&
         (!hasOwners(op) || ranks() == other.ranks());
}

int64_t CollectiveCall::elementBytes() const {
  return hasTypedElements(op) ? dataTypeBytes(type) : 1;
}

int CollectiveCall::indexOf(int member) const {
  absl::Span<const int32_t> list = ranks();
  auto found = std::find(list.begin(), list.end(), member);
  return found == list.end() ? -1 : static_cast<int>(found - list.begin());
}

int64_t CollectiveCall::inputBytes(int member, int size) const {
  switch (op) {
  case CollectiveOp::AllReduce:
    return count * elementBytes();
  case CollectiveOp::ReduceToOwners:
    return member < endpoints ? count * elementBytes() : 0;
  case CollectiveOp::GatherFromOwners:
    return (member < 0 ? part(0) : partOf(member)).size() * elementBytes();
  case CollectiveOp::AllToAll:
    return count * size;
  case CollectiveOp::Exchange:
    // A member that sends to nobody has no input.
    return member < 0 || !destinations().empty() ? count : 0;
  case CollectiveOp::Barrier:
    return 0;
  }
  return 0;
}

int64_t CollectiveCall::outputBytes(int member) const {
  switch (op) {
  case CollectiveOp::AllReduce:
    return count * elementBytes();
  case CollectiveOp::ReduceToOwners:
    return partOf(member).size() * elementBytes();
  case CollectiveOp::GatherFromOwners:
    return member < endpoints ? count * elementBytes() : 0;
  case CollectiveOp::AllToAll:
  case CollectiveOp::Exchange:
  case CollectiveOp::Barrier:
    return 0;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// CallTable
//===----------------------------------------------------------------------===//

namespace {

/// Bytes of a call with its lists, in whole cache lines.
size_t callBytes(int members) {
  constexpr size_t kLine = alignof(CollectiveCall);
  size_t bytes = sizeof(CollectiveCall) +
                 4 * static_cast<size_t>(members) * sizeof(int32_t);
  return (bytes + kLine - 1) / kLine * kLine;
}

} // namespace

CallTable::CallTable(std::byte *memory, int entries, int members)
    : begin(memory), stride(callBytes(members)), count(entries) {}

size_t CallTable::bytesFor(int entries, int members) {
  return static_cast<size_t>(entries) * callBytes(members);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

std::string refusalOf(const CollectiveCall &call, const CallBuffers &buffers,
                      int rank, int size) {
  // The number of bytes of all members' blocks together must not overflow.
  int64_t limit =
      std::numeric_limits<int64_t>::max() / call.elementBytes() / size;
  if (call.count < 0 || call.count > limit)
    return absl::StrCat("count must be in [0, ", limit, "], got ", call.count);
  if (reduces(call.op) && !isReducible(call.type, call.kind))
    return absl::StrCat(view(reduceKindName(call.kind)), " of ",
                        view(dataTypeName(call.type)), " is not defined");
  std::string refusal = refusalOfMembers(call, size);
  return refusal.empty() ? refusalOfBuffers(call, buffers, rank, size)
                         : refusal;
}

/// Whether all members have stated facts, but not the same ones.
static bool isDisagreementOf(const CallTable &calls) {
  bool isAlike = true;
  for (int member = 0; member < calls.size(); ++member) {
    if (calls[member].isRefused() || calls[member].agreement == 0)
      return false;
    isAlike &= calls[member].agreement == calls[0].agreement;
  }
  return !isAlike;
}

absl::Status checkCalls(const CallTable &calls,
                        absl::Span<const int> worldRanks,
                        std::string_view communicator) {
  bool isGood = true;
  for (int member = 0; member < calls.size(); ++member)
    isGood &= !calls[member].isRefused() && calls[member].agreesWith(calls[0]);
  bool isExchange = isGood && calls[0].op == CollectiveOp::Exchange;
  if (isGood && !isExchange)
    return absl::OkStatus();

  std::string what;
  for (int member = 0; member < calls.size() && what.empty(); ++member)
    if (calls[member].isRefused())
      what = absl::StrCat("rank ", worldRanks[member], " called ",
                          view(collectiveOpName(calls[member].op)), " but ",
                          calls[member].refusal());
  if (what.empty())
    what = isExchange ? describeOneSidedExchange(calls, worldRanks)
                      : absl::StrCat("members' calls differ: ",
                                     describeDifference(calls, worldRanks));
  if (what.empty())
    return absl::OkStatus();
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat("communicator '", view(communicator), "': ", what));
  if (isDisagreementOf(calls))
    markDisagreement(status);
  return status;
}

} // namespace bagua::runtime
