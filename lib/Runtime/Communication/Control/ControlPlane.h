//===- ControlPlane.h - How processes know of each other ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beside their collectives all ranks of a run hold one connection to rank 0,
// which hands on what one of them says to all: that it gives up, leaves, or
// what it is busy with. Each side also hears whether the other lives. One
// thread a process, which wakes a few times in the time that a loss may take to
// be noticed.
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

/// What a rank is told, on the control plane's thread. Must be quick; may call
/// the control plane.
struct ControlEvents {
  std::function<void(const absl::Status &)> onAbort;
  std::function<void(int rank, const std::string &)> onNote;
  std::function<void(int rank)> onLeave;
  /// A rank's process has ended without leaving, or is not heard of.
  std::function<void(int rank, const absl::Status &)> onLoss;
  /// Asked some times in the time that a loss may take: what has hung in this
  /// process for `limit`; empty: nothing. Then this rank is lost to all, itself
  /// included.
  std::function<std::string(std::chrono::nanoseconds limit)> findHanging;
  /// Whether this process waits for others, which it must hear of then.
  std::function<bool()> isWaiting;
};

class ControlPlane : public std::enable_shared_from_this<ControlPlane> {
public:
  using Clock = std::chrono::steady_clock;

  /// On rank 0: `channels` to all others, by rank, the first one without. On
  /// another of the run's `size` ranks: the one to rank 0. Whoever is silent
  /// for `patience` is lost.
  ControlPlane(int rank, int size, std::vector<ControlChannel> channels,
               std::chrono::nanoseconds patience);
  ~ControlPlane() = default;

  /// Once; before, nothing is heard. ResourceExhausted where there is no thread
  /// to be had.
  absl::Status start(ControlEvents handlers);

  // From any thread.

  void abort(const absl::Status &why);
  void note(const std::string &what);
  void leave();
  /// Once retired, it goes on for `patience` at most.
  void limitStay() { isStayLimited.store(true, std::memory_order_relaxed); }

  /// Asks that `text` be kept under a name, and returns what is kept: that of
  /// the first to ask. DeadlineExceeded after `limit`; Cancelled once `isOver`,
  /// which is asked now and then; Unavailable where rank 0 has left, and its
  /// process has ended.
  absl::StatusOr<std::string> claim(const std::string &key,
                                    const std::string &text,
                                    std::chrono::nanoseconds limit,
                                    const std::function<bool()> &isOver);

  /// Has `text` kept under a name that nobody else uses.
  void publish(const std::string &key, const std::string &text);
  /// What is kept under each of `keys`. DeadlineExceeded after `limit`,
  /// Cancelled once `isOver`; then `found` has what was there in time, nothing
  /// for the others.
  absl::Status find(const std::vector<std::string> &keys,
                    std::chrono::nanoseconds limit,
                    const std::function<bool()> &isOver,
                    std::vector<std::optional<std::string>> &found);

  /// Has `tell` called once, on some thread, as soon as something is kept under
  /// `key`, for as long as the watch exists. `tell` must be quick and not use
  /// the control plane.
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

  /// The end of start(): returns when what was said is sent, or after
  /// `patience` at most. On rank 0 the thread goes on until all others have
  /// said goodbye, for they hear of each other through it, and the process does
  /// not exit before; but where the run has failed, or limitStay() was called,
  /// it goes on for `patience` at most. Nothing where start() has failed.
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
  /// Of the control plane's thread, once it runs.
  std::vector<Peer> peers;
  /// Theirs.
  std::optional<SocketsOfParent> sockets;
  ControlEvents events;
  Clock::time_point lastRound;
  Clock::time_point lastBeat;
  /// Whether a rank gave up or is lost.
  bool hasFailed = false;
  /// Whether this one is, for it hangs.
  bool isLost = false;

  std::mutex mutex;
  std::condition_variable changed;
  /// When the process of a rank 0 that had left was found to have ended.
  std::optional<Clock::time_point> desertedAt;
  std::vector<ControlMessage> outbox;
  /// What is kept, as far as this rank knows.
  std::map<std::string, std::string> texts;
  /// Who watches a key.
  std::multimap<std::string, std::function<void()>> watchers;
  /// On rank 0: keys whose askers are still to be told; who asked for one that
  /// there was nothing under.
  std::vector<std::string> newKeys;
  std::map<std::string, std::set<int>> askers;
  std::atomic<bool> isStayLimited{false};
  bool isRetired = false;
  Clock::time_point retiredAt;
  /// Whether all is sent that was said before.
  bool isQuiet = false;
  /// Itself, of a retired one.
  std::shared_ptr<ControlPlane> keptAlive;

  /// An eventfd: there is something in the outbox.
  Descriptor alarm;
  /// Whether there is a thread, which is to be retired.
  bool isStarted = false;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CONTROLPLANE_H
