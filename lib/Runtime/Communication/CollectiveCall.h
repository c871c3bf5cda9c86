//===- CollectiveCall.h - One member's call of a collective ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of one call on a Communicator, as the other members see them,
// and the two checks that every backend makes before any data moves: of each
// call by itself, and of all members' calls against each other.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_COLLECTIVECALL_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_COLLECTIVECALL_H

#include "bagua/Support/DataType.h"
#include "bagua/Support/Parts.h"
#include "bagua/Support/ReduceKind.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bagua::runtime {

enum class CollectiveOp : uint8_t {
  AllReduce,
  ReduceToOwners,
  GatherFromOwners,
  AllToAll,
  Exchange,
  Barrier,
};

/// The name in messages: all_reduce, reduce_to_owners, ...
std::string_view collectiveOpName(CollectiveOp op);

/// The caller's own buffers, as it passed them.
struct CallBuffers {
  const void *input = nullptr;
  void *output = nullptr;
  /// For exchange.
  absl::Span<void *const> outputs;
};

/// One member's call. It lies in memory that members share and may see at
/// different addresses, so it has no pointers; its lists follow it (see
/// CallTable). It shares no cache line with the next member's call.
struct alignas(64) CollectiveCall {
  CollectiveOp op;
  DataType type;
  ReduceKind kind;
  /// The contributors of reduceToOwners, or the receivers of gatherFromOwners.
  int32_t endpoints;
  /// Elements of the whole tensor; for allToAll the bytes of a block, for
  /// exchange those of the message.
  int64_t count;
  /// The word of the facts that this member states (Agreement.h); 0 if none.
  uint64_t agreement;
  /// The offsets of the buffers in the members' address space (AddressSpace.h).
  /// Without meaning if other members can't reach one of them.
  uint64_t input;
  uint64_t output;
  bool isReachable;

  /// Whether this could be a call in a group of `size` members. For calls that
  /// arrive from elsewhere.
  bool isPossible(int size) const;

  /// Starts a new call, without lists.
  void reset(CollectiveOp newOp);

  /// The owners, or the sources of exchange, as members.
  absl::Span<const int32_t> ranks() const { return {lists(), rankCount}; }
  /// The destinations of exchange, as members.
  absl::Span<const int32_t> destinations() const {
    return {lists() + rankCount, destinationCount};
  }
  /// Sets the lists, in a group of `size` members. Refuses lists longer than 2
  /// * size, which would not fit.
  void setLists(absl::Span<const int> ranks, absl::Span<const int> destinations,
                int size);

  /// Why the caller's own arguments are wrong; empty if they are right.
  absl::string_view refusal() const { return {refusalText, refusalSize}; }
  bool isRefused() const { return refusalSize > 0; }
  /// Sets the refusal; a long text is cut.
  void refuse(absl::string_view why);

  /// Whether the fields that all members must agree on are the same.
  bool agreesWith(const CollectiveCall &other) const;

  /// Bytes of one element; 1 if `count` is in bytes.
  int64_t elementBytes() const;

  /// The part of owner ranks()[index].
  ElementRange part(int64_t index) const {
    return partRange(count, static_cast<int64_t>(rankCount), index);
  }

  /// The part of the owner `member`; empty if it is none.
  ElementRange partOf(int member) const {
    int index = indexOf(member);
    return index < 0 ? ElementRange() : part(index);
  }

  /// The position of `member` in ranks(), or -1.
  int indexOf(int member) const;

  /// Bytes of a member's input. For member -1, the most that any of `size`
  /// members has.
  int64_t inputBytes(int member, int size) const;
  /// Bytes of the output for a combination or a whole; 0 if results are blocks
  /// or messages.
  int64_t outputBytes(int member) const;

private:
  int32_t *lists() { return reinterpret_cast<int32_t *>(this + 1); }
  const int32_t *lists() const {
    return reinterpret_cast<const int32_t *>(this + 1);
  }

  uint32_t rankCount;
  uint32_t destinationCount;
  uint32_t refusalSize;
  char refusalText[192];
};

/// The calls of several members of one group, such as all of them.
class CallTable {
public:
  CallTable() = default;
  /// `entries` calls in a group of `members`. `memory` has bytesFor() bytes,
  /// begins at a multiple of 64, and is zero before its first user constructs a
  /// table.
  CallTable(std::byte *memory, int entries, int members);
  static size_t bytesFor(int entries, int members);

  int size() const { return count; }
  CollectiveCall &operator[](int entry) const {
    return *reinterpret_cast<CollectiveCall *>(begin + entry * stride);
  }

private:
  std::byte *begin = nullptr;
  size_t stride = 0;
  int count = 0;
};

/// Describes what is wrong with the arguments of member `rank` of `size`; empty
/// if nothing is. Allocates only if something is.
std::string refusalOf(const CollectiveCall &call, const CallBuffers &buffers,
                      int rank, int size);

/// InvalidArgument if a member's call was refused or members' calls differ; all
/// members get the same status. Names the communicator, and the members by
/// `worldRanks`. Allocates only for an error.
absl::Status checkCalls(const CallTable &calls,
                        absl::Span<const int> worldRanks,
                        std::string_view communicator);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_COLLECTIVECALL_H
