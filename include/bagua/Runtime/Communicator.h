//===- Communicator.h - Collectives over a group of ranks -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A World is one rank's membership in a set of ranks that can reach each other.
// A Communicator is this rank's handle on a group of them, for one stream (as
// ncclComm_t is). Backends (Backend.h) make communicators; one conformance
// suite runs on all backends.
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
#include "absl/strings/string_view.h"
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
/// counts, types and kinds. A call is enqueued on `queue`, a queue of the
/// backend's device. When the call is done, this rank's result is complete and
/// its buffers are its own again. On the CPU's queue, and wherever
/// communicators work by the host's threads, the call is done when it returns.
/// `count` is in elements of the whole logical tensor unless said otherwise,
/// and may be any number from 0. Lists are read before the call returns. Parts
/// are those of Support/Parts.h over the
/// members (or over the owners, where given).
///
/// All members that get an element of a result get the same bits. `Mean`
/// divides after the sum. The backend's traits say in which order and type sums
/// are computed, and whether calls that differ are found. On the host's
/// backends sums are in member order, ((x0 + x1) + x2) + ..., in the
/// accumulation type of docs/Semantics.md, section "Collectives", and calls
/// that differ are an error on every member, never a wrong number.
///
/// Errors: if the call is done when it returns, the call returns them.
/// Otherwise they may come later, as errors of the queue. They are
/// DeadlineExceeded if this member has waited for others longer than
/// its timeout, counted from its own call (the message names the missing ranks
/// and what they say they are busy with). Unavailable, at once, if a missing
/// member has left by destroying its Communicator (it is named).
/// InvalidArgument if members' calls differ or a `Mean` of integers is asked
/// for. The first two abort the world, whose status every later call returns.
/// The outputs of a failed call are unspecified. Between hosts the timeout
/// bounds first the wait for all members, then each message (there at least 10
/// s). There also, a lost connection is Unavailable, and lack of memory for
/// copies is ResourceExhausted; both abort the world.
class Communicator {
public:
  virtual ~Communicator() = default;

  /// This rank's number among the members.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// output = combination of all members' inputs. `input` and `output` may be
  /// equal.
  virtual absl::Status allReduce(const void *input, void *output, int64_t count,
                                 DataType type, ReduceKind kind,
                                 Queue &queue = cpuQueue()) = 0;

  /// Part i of the combination goes to member owners[i], which gets only that
  /// part in `output`; other members pass null. Only members [0, contributors)
  /// have an input, and `Mean` divides by their number. There is at least one
  /// owner, and owners are distinct. An owner may work in place: `output` may
  /// be the address of its part inside `input`. In a reduce_scatter all members
  /// contribute and own, in a reduce there is one owner, in a push the owners
  /// are servers.
  virtual absl::Status reduceToOwners(const void *input, void *output,
                                      int64_t count, DataType type,
                                      ReduceKind kind, int contributors,
                                      absl::Span<const int> owners,
                                      Queue &queue = cpuQueue()) = 0;

  /// The inverse of reduceToOwners: owners[i] has only part i in `input`
  /// (others pass null); members [0, receivers) get the whole in `output`. An
  /// owner may work in place: `input` may be the address of its part inside
  /// `output`. Serves all_gather, broadcast and pull.
  virtual absl::Status gatherFromOwners(const void *input, void *output,
                                        int64_t count, DataType type,
                                        int receivers,
                                        absl::Span<const int> owners,
                                        Queue &queue = cpuQueue()) = 0;

  /// Sends block j of `input` to member j, which stores it as block `rank()`.
  /// Both buffers hold size() blocks of `blockBytes`; they must not overlap.
  virtual absl::Status allToAll(const void *input, void *output,
                                int64_t blockBytes,
                                Queue &queue = cpuQueue()) = 0;

  /// Sends `input` to each of `destinations`, and stores what sources[i] sends
  /// in outputs[i]. Either list may be empty. If a lists b as a destination, b
  /// lists a as a source the same number of times. A member may be listed twice
  /// and may be this rank. Outputs overlap neither the input nor each other.
  /// `bytes` is the same on all members.
  virtual absl::Status exchange(const void *input, int64_t bytes,
                                absl::Span<const int> destinations,
                                absl::Span<const int> sources,
                                absl::Span<void *const> outputs,
                                Queue &queue = cpuQueue()) = 0;

  /// Returns when all members have called it.
  virtual absl::Status barrier(Queue &queue = cpuQueue()) = 0;

  /// Makes this member's later calls carry `word` (Agreement.h), which must be
  /// equal in the calls of all members. If words differ and none is 0, the
  /// error says which of `facts` differ. `facts` must outlive the calls. 0 and
  /// null state nothing, which is the initial state.
  virtual void agreeOn(uint64_t word, const AgreedFacts *facts) = 0;
};

class Backend;
class WorkWatch;

/// How one rank uses a communicator; members may differ.
struct CommunicatorOptions {
  /// How long a call, or the creation, waits for other members.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  /// Called on the waiting thread at a tenth of the timeout, with a text that
  /// names the missing members. May be empty.
  std::function<void(const std::string &)> onWarning;
  /// Returns what the call in progress is for, which messages to all members
  /// then say. Called on the waiting thread. The function may be empty, and so
  /// may its result.
  std::function<std::string()> describeCall;
};

/// One rank's membership in a run, which several sessions may share. A rank
/// leaves the run by destroying its World: others then don't wait for it in
/// communicators that it has not joined.
class World {
public:
  virtual ~World() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// The number of each rank's host. Hosts are numbered from 0 in the order of
  /// their first ranks.
  virtual std::vector<int> hosts() const = 0;
  int hostCount() const {
    const std::vector<int> of = hosts();
    return *std::max_element(of.begin(), of.end()) + 1;
  }

  /// The number that the launcher gave to `rank`. It differs from `rank` if
  /// ranks were renumbered host by host.
  virtual int startedAs(int rank) const { return rank; }

  /// The timeout of communicators that are created without options.
  virtual std::chrono::nanoseconds timeout() const = 0;

  /// The backend of this name, which the world owns; null if this run has none.
  virtual Backend *backend(absl::string_view name) = 0;
  /// The names of the backends that this run has.
  virtual std::vector<std::string> backends() const = 0;

  /// The backend of the host's memory, which reaches all ranks: what ranks tell
  /// each other about a run goes this way, whatever the device of its tensors.
  /// A group uses the first of the table's backends of the host that reaches
  /// all its members, so groups within one host share memory.
  virtual Backend &control() = 0;

  /// A communicator of control(), and memory for it.
  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const std::vector<int> &members, const std::string &name,
                     const CommunicatorOptions &options);
  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const std::vector<int> &members, const std::string &name) {
    return createCommunicator(members, name, {timeout(), {}, {}});
  }
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(size_t bytes);

  /// The watch that notices hanging threads of this rank; null if there is
  /// none.
  virtual WorkWatch *workWatch() { return nullptr; }

  /// Sets what this rank is busy with, for the messages of ranks that wait for
  /// it. Empty: nothing.
  virtual void note(const std::string &what) = 0;

  /// Limits how long rank 0's process waits for others to leave, after its
  /// world is destroyed, to the patience. By default it waits until all have
  /// left, which is too long if the program ends after a failure.
  virtual void limitStay() {}

  /// Makes every pending and later call on every rank return `why`. If there
  /// are several calls, the first one wins. Never blocks.
  virtual void abort(const absl::Status &why) = 0;

  /// The status of the first abort, on any rank; Ok before.
  virtual absl::Status status() const = 0;

  /// Registers `handler`, which is called once when the world is aborted, by
  /// the aborting thread; at once if the world is aborted already. Replaces the
  /// handler that `owner` registered before, which is not running any more when
  /// this returns. `handler` must be quick and must not call the world; an
  /// empty one unregisters.
  virtual void onAbort(const void *owner, std::function<void()> handler) = 0;

  /// The number of the next object that all ranks create, such as a session,
  /// from 0. Names of communicators are made from it.
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
