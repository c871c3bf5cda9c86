//===- CollectiveCall.h - What one member asks of a collective ------------===//
//
// The arguments of one call on a Communicator, and the two checks every backend
// owes its callers before any data moves: each call by itself, and all members'
// calls against each other.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_COLLECTIVECALL_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_COLLECTIVECALL_H

#include "bagua/Support/DataType.h"
#include "bagua/Support/Parts.h"
#include "bagua/Support/ReduceKind.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bagua::runtime {

enum class CollectiveOp : uint8_t {
  AllReduce,
  ReduceToOwners,
  GatherFromOwners,
  AllToAll,
  Exchange,
  Barrier,
};

/// As in messages: all_reduce, reduce_to_owners, ...
std::string_view collectiveOpName(CollectiveOp op);

/// One member's call. Made to be filled again and again: the vectors keep their
/// memory, and cache lines are not shared with the next member's call.
struct alignas(64) CollectiveCall {
  CollectiveOp op = CollectiveOp::Barrier;
  DataType type = DataType::Float32;
  ReduceKind kind = ReduceKind::Sum;
  /// Contributors of reduceToOwners, receivers of gatherFromOwners.
  int endpoints = 0;
  /// Elements of the whole tensor; bytes of a block for allToAll, of the
  /// message for exchange.
  int64_t count = 0;
  const void *input = nullptr;
  void *output = nullptr;
  /// Of exchange, the caller's: valid while the caller is inside the call.
  absl::Span<void *const> outputs;
  /// Members: the owners, or the sources of exchange.
  std::vector<int> ranks;
  /// Members: of exchange.
  std::vector<int> destinations;
  /// Why the caller's own arguments are wrong; empty when they are right.
  std::string refusal;

  /// Whether the fields that all members must agree on are the same.
  bool agreesWith(const CollectiveCall &other) const;

  /// Bytes of one element, 1 where `count` is in bytes.
  int64_t elementBytes() const;

  /// The part of owner ranks[index].
  ElementRange part(int64_t index) const {
    return partRange(count, static_cast<int64_t>(ranks.size()), index);
  }

  /// Position of `member` in `ranks`, -1 when it is not there.
  int indexOf(int member) const;
};

/// What is wrong with the arguments of member `rank` of `size`; empty if
/// nothing. Allocates only then.
std::string refusalOf(const CollectiveCall &call, int rank, int size);

/// InvalidArgument when a member's call was refused or members' calls differ:
/// the same status whichever member asks. Names the communicator and the
/// members by `worldRanks`. Allocates only for an error.
absl::Status checkCalls(absl::Span<const CollectiveCall> calls,
                        absl::Span<const int> worldRanks,
                        std::string_view communicator);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_COLLECTIVECALL_H
