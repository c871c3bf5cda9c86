//===- ControlPlane.h - How the processes of a run hear of each other -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Besides their collectives, all ranks of a run hold a connection to rank 0.
// Rank 0 forwards to all ranks what one of them says: that it gives up, that it
// leaves, or what it is busy with. Both sides of a connection also find out
// whether the other lives. Each process has one thread for this, which wakes a
// few times within the time in which a loss must be noticed.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CONTROLPLANE_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CONTROLPLANE_H

#include "Communication/Control/ControlChannel.h"
#include "Communication/Control/SocketsOfParent.h"
#include "Files/Descriptor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace bagua::runtime {

/// The events of which a rank is told, on the control plane's thread. The
/// functions must be quick; they may call the control plane.
struct ControlEvents {
  std::function<void(const absl::Status &)> onAbort;
  std::function<void(int rank, const std::string &)> onNote;
  std::function<void(int rank)> onLeave;
  /// A rank's process has ended without leaving, or is silent.
  std::function<void(int rank, const absl::Status &)> onLoss;
  /// Called some times within the time in which a loss must be noticed. Returns
  /// what has hung in this process for `limit`; empty if nothing. If something
  /// has, this rank is lost to all ranks, itself included.
  std::function<std::string(std::chrono::nanoseconds limit)> findHanging;
  /// Whether this process waits for others, so that it must hear of a loss.
  std::function<bool()> isWaiting;
};

class ControlPlane : public std::enable_shared_from_this<ControlPlane> {
public:
  using Clock = std::chrono::steady_clock;

  /// On rank 0, `channels` are those to all other ranks, by rank; the first has
  /// no connection. On any other of the `size` ranks, the only channel is that
  /// to rank 0. A rank that is silent for `patience` is lost.
  ControlPlane(int rank, int size, std::vector<ControlChannel> channels,
               std::chrono::nanoseconds patience);
  ~ControlPlane() = default;

  /// Starts the thread; called once. Nothing is heard before. ResourceExhausted
  /// if no thread can be created.
  absl::Status start(ControlEvents handlers);

  // The following functions may be called from any thread.

  void abort(const absl::Status &why);
  void note(const std::string &what);
  void leave();
  /// Limits how long rank 0 goes on after retire() to `patience`.
  void limitStay() { isStayLimited.store(true, std::memory_order_relaxed); }

  /// Asks rank 0 to keep `text` under a key, and returns the text that is kept:
  /// that of the first rank to ask. DeadlineExceeded after `limit`; Cancelled
  /// once `isOver`, which is called now and then; Unavailable if rank 0 has
  /// left and its process has ended.
  absl::StatusOr<std::string> claim(const std::string &key,
                                    const std::string &text,
                                    std::chrono::nanoseconds limit,
                                    const std::function<bool()> &isOver);

  /// Makes rank 0 keep `text` under a key that nobody else uses.
  void publish(const std::string &key, const std::string &text);
  /// The text that is kept under each of `keys`. DeadlineExceeded after
  /// `limit`, Cancelled once `isOver`; then `found` has the texts that came in
  /// time, and nothing for the other keys.
  absl::Status find(const std::vector<std::string> &keys,
                    std::chrono::nanoseconds limit,
                    const std::function<bool()> &isOver,
                    std::vector<std::optional<std::string>> &found);

  /// While the watch exists, `tell` is called once, on some thread, as soon as
  /// a text is kept under `key`. `tell` must be quick and not use the control
  /// plane.
  class Watch {
  public:
    Watch(ControlPlane &control, std::string key, std::function<void()> tell);
    ~Watch();
    Watch(const Watch &) = delete;
    Watch &operator=(const Watch &) = delete;

    bool isKept() const;

  private:
    ControlPlane &control;
    const std::string key;
    std::multimap<std::string, std::function<void()>>::iterator place;
  };

  /// Ends what start() began. Returns when all that was said is sent, or after
  /// `patience`. On rank 0 the thread continues until all other ranks have said
  /// goodbye, since they hear of each other through it, and the process does
  /// not exit before. If the run has failed, or limitStay() was called, the
  /// thread continues for `patience` at most. Does nothing if start() has
  /// failed.
  void retire();

private:
  struct Peer {
    int rank;
    ControlChannel channel;
    Clock::time_point lastHeard;
    bool hasLeft = false;
    bool isOpen = true;
  };

  bool isHub() const { return rank == 0; }
  ControlMessage message(fb::ControlKind kind) const;
  void say(ControlMessage message);
  absl::Status await(const std::vector<std::string> &keys,
                     std::chrono::nanoseconds limit,
                     const std::function<bool()> &isOver,
                     std::vector<std::optional<std::string>> &found);
  void wake();
  void run(std::shared_ptr<ControlPlane> &last);
  bool isDone();
  void sendOutbox();
  void sendToOthers(const ControlMessage &message, int except);
  void handOn(const ControlMessage &message, int except);
  void awaitSockets();
  void flush(Peer &peer);
  void listen(Peer &peer);
  void handle(Peer &peer, const ControlMessage &message);
  void ask(const std::string &key);
  void keep(const std::string &key, const std::string &text);
  void tellWatchers(const std::string &key);
  void answer(Peer &peer, const std::string &key);
  void answerNew();
  void lose(Peer &peer, const std::string &why);
  ControlMessage reportOf(int lost, const std::string &text) const;
  void reportLoss(int lost, const std::string &text);
  void findSilent(Clock::time_point now);
  void findHanging();
  void findDeserted(Clock::time_point now);

  const int rank;
  const int size;
  const std::chrono::nanoseconds patience;
  /// Used by the control plane's thread alone, once it runs.
  std::vector<Peer> peers;
  /// The sockets of the peers.
  std::optional<SocketsOfParent> sockets;
  ControlEvents events;
  Clock::time_point lastRound;
  Clock::time_point lastBeat;
  /// Whether a rank gave up or is lost.
  bool hasFailed = false;
  /// Whether this rank is lost, because it hangs.
  bool isLost = false;

  std::mutex mutex;
  std::condition_variable changed;
  /// When the process of a rank 0 that had left was found to have ended.
  std::optional<Clock::time_point> desertedAt;
  std::vector<ControlMessage> outbox;
  /// The texts that are kept, as far as this rank knows.
  std::map<std::string, std::string> texts;
  /// The functions that watch each key.
  std::multimap<std::string, std::function<void()>> watchers;
  /// On rank 0: new keys whose askers must still be told; and by key, the ranks
  /// that asked before a text was kept.
  std::vector<std::string> newKeys;
  std::map<std::string, std::set<int>> askers;
  std::atomic<bool> isStayLimited{false};
  bool isRetired = false;
  Clock::time_point retiredAt;
  /// Whether all that was said before is sent.
  bool isQuiet = false;
  /// A retired control plane keeps itself alive until its thread ends.
  std::shared_ptr<ControlPlane> keptAlive;

  /// An eventfd that is signalled when the outbox has messages.
  Descriptor alarm;
  /// Whether the thread runs and must be retired.
  bool isStarted = false;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CONTROLPLANE_H
