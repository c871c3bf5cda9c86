//===- CollectiveCall.cpp - What one member asks of a collective ----------===//
//
// Checks of arguments, and the messages that say which members disagree.
//
//===----------------------------------------------------------------------===//
#include "Communication/CollectiveCall.h"

#include "Kernels/ReduceKernels.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace bagua::runtime {
namespace {

/// Abseil as Debian builds it has a string_view of its own.
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

/// Bytes from `buffer`, for checks of overlap.
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
  for (const std::vector<int> *members : {&call.ranks, &call.destinations})
    for (int member : *members)
      if (member < 0 || member >= size)
        return absl::StrCat("member ", member, " is not in [0, ", size, ")");
  for (size_t i = 0; i < call.ranks.size(); ++i) {
    int member = call.ranks[i];
    if (hasOwners(call.op) &&
        std::count(call.ranks.begin(), call.ranks.begin() + i, member) > 0)
      return absl::StrCat("member ", member, " is an owner twice");
  }
  if (!hasOwners(call.op))
    return {};
  if (call.ranks.empty())
    return "there are no owners";
  if (call.endpoints < 1 || call.endpoints > size)
    return absl::StrCat(call.op == CollectiveOp::ReduceToOwners ? "contributors"
                                                                : "receivers",
                        " must be in [1, ", size, "], got ", call.endpoints);
  return {};
}

/// Checks the one buffer of `whole` elements against the one of an owner's
/// part.
std::string refusalOfOwnerBuffers(const CollectiveCall &call, const void *whole,
                                  bool hasWhole, const void *owned, int rank) {
  int64_t bytes = call.elementBytes();
  int index = call.indexOf(rank);
  ElementRange part = index < 0 ? ElementRange() : call.part(index);
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

std::string refusalOfExchange(const CollectiveCall &call) {
  if (call.ranks.size() != call.outputs.size())
    return absl::StrCat("there are ", call.ranks.size(), " sources and ",
                        call.outputs.size(), " outputs");
  if (call.count == 0)
    return {};
  if (!call.input && !call.destinations.empty())
    return "the input is null";
  Extent input(call.input, call.destinations.empty() ? 0 : call.count);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.outputs[i])
      return absl::StrCat("output ", i, " is null");
    Extent output(call.outputs[i], call.count);
    bool overlaps = output.overlaps(input);
    for (size_t j = 0; j < i; ++j)
      overlaps |= output.overlaps(Extent(call.outputs[j], call.count));
    if (overlaps)
      return absl::StrCat("output ", i, " overlaps another buffer");
  }
  return {};
}

std::string refusalOfBuffers(const CollectiveCall &call, int rank, int size) {
  switch (call.op) {
  case CollectiveOp::AllReduce: {
    if (call.count == 0)
      return {};
    if (!call.input || !call.output)
      return call.input ? "the output is null" : "the input is null";
    Extent input(call.input, call.count * call.elementBytes());
    Extent output(call.output, call.count * call.elementBytes());
    return input.overlaps(output) && input.begin != output.begin ? kOverlap
                                                                 : "";
  }
  case CollectiveOp::ReduceToOwners:
    return refusalOfOwnerBuffers(call, call.input, rank < call.endpoints,
                                 call.output, rank);
  case CollectiveOp::GatherFromOwners:
    return refusalOfOwnerBuffers(call, call.output, rank < call.endpoints,
                                 call.input, rank);
  case CollectiveOp::AllToAll: {
    if (call.count == 0)
      return {};
    if (!call.input || !call.output)
      return call.input ? "the output is null" : "the input is null";
    Extent input(call.input, call.count * size);
    return input.overlaps(Extent(call.output, call.count * size)) ? kOverlap
                                                                  : "";
  }
  case CollectiveOp::Exchange:
    return refusalOfExchange(call);
  case CollectiveOp::Barrier:
    return {};
  }
  return {};
}

/// "1000 on ranks 0, 1, 3; 999 on rank 2"
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
  return absl::StrCat("[", absl::StrJoin(call.ranks, ", "), "]");
}

/// The first field in which the calls differ, with each member's value.
std::string describeDifference(absl::Span<const CollectiveCall> calls,
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
  };
  for (auto [name, print] : fields) {
    std::vector<std::string> values;
    for (const CollectiveCall &call : calls)
      values.push_back(print(call));
    if (std::any_of(values.begin(), values.end(),
                    [&](auto &value) { return value != values[0]; }))
      return absl::StrCat(name, " is ", listByValue(values, worldRanks));
  }
  return "calls differ";
}

/// The lowest member that sends to one which does not expect it as often, or
/// expects something of one which does not send it.
std::string describeOneSidedExchange(absl::Span<const CollectiveCall> calls,
                                     absl::Span<const int> worldRanks) {
  auto count = [](const std::vector<int> &members, size_t member) {
    return std::count(members.begin(), members.end(), static_cast<int>(member));
  };
  for (size_t member = 0; member < calls.size(); ++member) {
    for (int to : calls[member].destinations)
      if (count(calls[member].destinations, to) !=
          count(calls[to].ranks, member))
        return absl::StrCat("rank ", worldRanks[member], " sends to rank ",
                            worldRanks[to], ", which does not expect it");
    for (int from : calls[member].ranks)
      if (count(calls[from].destinations, member) == 0)
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

bool CollectiveCall::agreesWith(const CollectiveCall &other) const {
  return op == other.op && type == other.type && kind == other.kind &&
         endpoints == other.endpoints && count == other.count &&
         (!hasOwners(op) || ranks == other.ranks);
}

int64_t CollectiveCall::elementBytes() const {
  return hasTypedElements(op) ? dataTypeBytes(type) : 1;
}

int CollectiveCall::indexOf(int member) const {
  auto found = std::find(ranks.begin(), ranks.end(), member);
  return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

std::string refusalOf(const CollectiveCall &call, int rank, int size) {
  // Bytes of all members' blocks together must be countable.
  int64_t limit =
      std::numeric_limits<int64_t>::max() / call.elementBytes() / size;
  if (call.count < 0 || call.count > limit)
    return absl::StrCat("count must be in [0, ", limit, "], got ", call.count);
  if (reduces(call.op) && !isReducible(call.type, call.kind))
    return absl::StrCat(view(reduceKindName(call.kind)), " of ",
                        view(dataTypeName(call.type)), " is not defined");
  std::string refusal = refusalOfMembers(call, size);
  return refusal.empty() ? refusalOfBuffers(call, rank, size) : refusal;
}

absl::Status checkCalls(absl::Span<const CollectiveCall> calls,
                        absl::Span<const int> worldRanks,
                        std::string_view communicator) {
  bool isGood = true;
  for (const CollectiveCall &call : calls)
    isGood &= call.refusal.empty() && call.agreesWith(calls[0]);
  bool isExchange = isGood && calls[0].op == CollectiveOp::Exchange;
  if (isGood && !isExchange)
    return absl::OkStatus();

  std::string what;
  for (size_t i = 0; i < calls.size() && what.empty(); ++i)
    if (!calls[i].refusal.empty())
      what = absl::StrCat("rank ", worldRanks[i], " called ",
                          view(collectiveOpName(calls[i].op)), " but ",
                          calls[i].refusal);
  if (what.empty())
    what = isExchange ? describeOneSidedExchange(calls, worldRanks)
                      : absl::StrCat("members' calls differ: ",
                                     describeDifference(calls, worldRanks));
  if (what.empty())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("communicator '", view(communicator), "': ", what));
}

} // namespace bagua::runtime
