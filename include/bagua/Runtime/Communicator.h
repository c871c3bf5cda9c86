//===- Communicator.h - Collectives over a group of ranks -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A World is one rank's membership in a set of ranks that can reach each other;
// a Communicator is its handle on a group of them, for one stream (as
// ncclComm_t is). Backends implement both; one conformance suite runs on all.
//
//   std::vector<std::unique_ptr<World>> worlds = createInProcessWorlds(4);
//   // On the thread of rank r:
//   auto comm = worlds[r]->createCommunicator({0, 1, 2, 3}, "grads");
//   absl::Status ok = (*comm)->allReduce(g, g, count, DataType::Float32,
//                                        ReduceKind::Mean);
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_COMMUNICATOR_H
#define BAGUA_RUNTIME_COMMUNICATOR_H

#include "bagua/Runtime/Agreement.h"
#include "bagua/Runtime/Queue.h"
#include "bagua/Support/DataType.h"
#include "bagua/Support/ReduceKind.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bagua::runtime {

/// Collectives over a group. Members are numbered 0..size-1 in the order given
/// at creation. All members make the same calls in the same order with the same
/// counts, types and kinds; a difference is an error on every member, never a
/// wrong number. A call is enqueued on `queue`, of the world's device; when it
/// is done, this rank's result is complete and its buffers are its own again.
/// On the host's queue, and wherever communicators work by the host's threads,
/// that is when it returns. `count` is in elements of the whole logical
/// tensor unless said otherwise; any count from 0 is right. Parts are those of
/// Support/Parts.h over the members (or over the owners, where given).
///
/// Sums are in member order, ((x0 + x1) + x2) + ..., in the accumulation type
/// of docs/Semantics.md, section "Collectives"; `Mean` divides after the sum.
///
/// Errors: DeadlineExceeded when this member has waited for others longer than
/// its limit, counted from its own call (it names the missing ranks and what
/// they say of themselves); Unavailable at once when a member that is missing
/// has left, by destroying its Communicator (it is named); InvalidArgument when
/// members' calls differ or a `Mean` of integers is asked for. The first two
/// abort the world, whose status every call returns from then on. What a call
/// that failed leaves in its outputs is unspecified. Between hosts the limit is
/// for members to come; then it is for each message, and at least 10 s; a
/// connection that is lost is Unavailable, and where memory for copies is out,
/// ResourceExhausted; each aborts the world.
class Communicator {
public:
  virtual ~Communicator() = default;

  /// This rank's number among the members.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// output = combination of all members' inputs. In place when equal.
  virtual absl::Status allReduce(const void *input, void *output, int64_t count,
                                 DataType type, ReduceKind kind,
                                 Queue &queue = hostQueue()) = 0;

  /// Part i of the combination goes to member owners[i], which gets that part
  /// alone in `output`; other members pass null. Only members
  /// [0, contributors) have an input, and `Mean` divides by their number.
  /// Owners are distinct; there is at least one. In place for an owner:
  /// `output` may be the address of its part inside `input`. reduce_scatter:
  /// all members contribute and own; reduce: one owner; push: the owners are
  /// servers.
  virtual absl::Status reduceToOwners(const void *input, void *output,
                                      int64_t count, DataType type,
                                      ReduceKind kind, int contributors,
                                      absl::Span<const int> owners,
                                      Queue &queue = hostQueue()) = 0;

  /// The inverse: owners[i] has part i alone in `input` (others pass null);
  /// members [0, receivers) get the whole in `output`. In place for an owner:
  /// `input` may be the address of its part inside `output`. all_gather,
  /// broadcast, pull.
  virtual absl::Status gatherFromOwners(const void *input, void *output,
                                        int64_t count, DataType type,
                                        int receivers,
                                        absl::Span<const int> owners,
                                        Queue &queue = hostQueue()) = 0;

  /// Block j of `input` goes to member j, which stores it as block `rank()`.
  /// Both buffers hold size() blocks of `blockBytes`; they must not overlap.
  virtual absl::Status allToAll(const void *input, void *output,
                                int64_t blockBytes,
                                Queue &queue = hostQueue()) = 0;

  /// Sends `input` to each of `destinations` and stores what sources[i] sends
  /// in outputs[i]; either may be empty. If a lists b as a destination, b lists
  /// a as a source, as often. A member may be listed twice and may be this
  /// rank. Outputs overlap neither the input nor each other. `bytes` is the
  /// same on all members.
  virtual absl::Status exchange(const void *input, int64_t bytes,
                                absl::Span<const int> destinations,
                                absl::Span<const int> sources,
                                absl::Span<void *const> outputs,
                                Queue &queue = hostQueue()) = 0;

  /// Returns when all members have called it.
  virtual absl::Status barrier(Queue &queue = hostQueue()) = 0;

  /// Has this member's later calls carry `word` (Agreement.h), which all
  /// members' calls must have alike. Where they differ, and no member's is 0,
  /// the error says in which of `facts`, which outlive the calls. 0 and null:
  /// nothing is stated, as in the beginning.
  virtual void agreeOn(uint64_t word, const AgreedFacts *facts) = 0;
};

class Device;
class WorkWatch;

/// How one rank uses a communicator; members may differ.
struct CommunicatorOptions {
  /// How long a call waits for other members, and so does the creation.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  /// Called on the thread that waits, at a tenth of the limit, with who is
  /// missing. May be empty.
  std::function<void(const std::string &)> onWarning;
  /// Says what the call in progress is for, in messages to all members; called
  /// on the thread that waits. May be empty, and so may what it says.
  std::function<std::string()> describeCall;
};

/// One rank's membership in all ranks of a run, which several sessions may
/// share. Whoever destroys it leaves: others don't wait for it in communicators
/// that it has not joined.
class World {
public:
  virtual ~World() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// By rank: the number of its host. Hosts are numbered from 0 in the order of
  /// their first ranks.
  virtual std::vector<int> hosts() const = 0;
  int hostCount() const {
    const std::vector<int> of = hosts();
    return *std::max_element(of.begin(), of.end()) + 1;
  }

  /// What number a rank was started with, by its launcher: another one where
  /// ranks were numbered anew, host by host.
  virtual int startedAs(int rank) const { return rank; }

  /// The limit of communicators that are created without options.
  virtual std::chrono::nanoseconds timeout() const = 0;

  /// A communicator over `members` (ranks of the world, distinct, this one
  /// among them). Collective over the members: all of them call it with the
  /// same `members` and `name`, from any threads, each pair of a group and a
  /// name once. Communicators of different names are independent of each other.
  /// InvalidArgument for other members, or a group that exists already;
  /// DeadlineExceeded and Unavailable as of calls; ResourceExhausted where
  /// there is no memory or no thread. Between hosts also InvalidArgument for an
  /// interface that is none, and Unimplemented in a library built without Gloo;
  /// any error there aborts the world.
  virtual absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const std::vector<int> &members, const std::string &name,
                     const CommunicatorOptions &options) = 0;
  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const std::vector<int> &members, const std::string &name) {
    return createCommunicator(members, name, {timeout(), {}, {}});
  }

  /// Whose memory its communicators move. By default the host's.
  virtual Device &device() const;

  /// Memory of the device that the other members of this rank's groups reach
  /// without copies in between; zeros. Collectives take any memory, and are
  /// fastest on this. Freed with the last copy of the pointer. A rank that was
  /// lost, and lives, does not reach it once calls on it have returned.
  /// ResourceExhausted where there is none; after an abort its status.
  virtual absl::StatusOr<std::shared_ptr<std::byte>> allocate(size_t bytes) = 0;

  /// Notices threads of this rank's that hang. Null: nobody does.
  virtual WorkWatch *workWatch() { return nullptr; }

  /// Says what this rank is busy with, for messages of ranks that wait for it.
  /// Empty: nothing.
  virtual void note(const std::string &what) = 0;

  /// Limits for how long rank 0's process stays for others once the world is
  /// destroyed, to the patience. Without it, it stays until all have left: too
  /// long where a program ends that may have failed.
  virtual void limitStay() {}

  /// Makes every pending and later call on every rank return `why`. The first
  /// call wins. Never blocks.
  virtual void abort(const absl::Status &why) = 0;

  /// The status given to the first abort, on any rank; Ok before.
  virtual absl::Status status() const = 0;

  /// Has `handler` called once the world is aborted, by whoever aborts it; at
  /// once if it is. Replaces the owner's handler before, which is not running
  /// when this returns. Must be quick, and must not call the world. May be
  /// empty.
  virtual void onAbort(const void *owner, std::function<void()> handler) = 0;

  /// A number for what all ranks make next, from 0, such as sessions: names of
  /// communicators are made of it.
  int nextNumber() { return numbers++; }

private:
  std::atomic<int> numbers{0};
};

/// `size` ranks as threads of this process; element r is rank r's. `timeout` is
/// that of communicators that are created without options.
std::vector<std::unique_ptr<World>> createInProcessWorlds(
    int size, std::chrono::nanoseconds timeout = std::chrono::seconds(600));

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_COMMUNICATOR_H
