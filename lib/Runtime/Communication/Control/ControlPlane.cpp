//===- ControlPlane.cpp - How the processes of a run hear of each other ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread loops over poll. Other threads put what they want to say into an
// outbox.
//
//===----------------------------------------------------------------------===//
#include "Communication/Control/ControlPlane.h"

#include "Communication/Control/CheckMessage.h"
#include "Communication/DurationToString.h"
#include "Communication/ThreadName.h"
#include "Files/HostLimits.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {
namespace {

using fb::ControlKind;

/// How often each side sends within its patience, and how many of these
/// messages may be missing before the side counts as lost. The rest of the
/// patience is for telling all ranks.
constexpr int kBeats = 10;
constexpr int kMissedBeats = 8;

/// The most bytes queued for a peer that reads nothing. A run sends less in the
/// time in which the peer would be found silent.
constexpr size_t kMostUnsent = size_t{64} << 20;

/// The control planes of rank 0 that are retired and still needed by others.
/// The process does not exit before they are done.
class Lingering {
public:
  void add(int change) {
    if (!isAwaited.exchange(true))
      std::atexit([] { all.await(); });
    int64_t before = state;
    // A forked child has none of the parent's threads.
    while (!state.compare_exchange_weak(
        before, stateOf((isOwn(before) ? countOf(before) : 0) + change)))
      ;
    state.notify_all();
  }

  static Lingering all;

private:
  void await() {
    for (int64_t now = state; isOwn(now) && countOf(now) > 0; now = state)
      state.wait(now);
  }

  /// How many there are, of worlds that this process has made itself.
  static int64_t stateOf(int count) {
    return int64_t{getpid()} << 32 | static_cast<uint32_t>(count);
  }
  static bool isOwn(int64_t state) { return state >> 32 == getpid(); }
  static int countOf(int64_t state) { return static_cast<int>(state); }

  /// Without a lock, which a thread might hold when another one forks.
  std::atomic<int64_t> state{0};
  std::atomic<bool> isAwaited{false};
};

constinit Lingering Lingering::all;

} // namespace

ControlPlane::ControlPlane(int ownRank, int worldSize,
                           std::vector<ControlChannel> channels,
                           std::chrono::nanoseconds patience)
    : rank(ownRank), size(worldSize), patience(patience),
      alarm(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (size_t i = isHub() ? 1 : 0; i < channels.size(); ++i)
    peers.push_back({static_cast<int>(i), std::move(channels[i]), Clock::now(),
                     false, true});
}

absl::Status ControlPlane::start(ControlEvents handlers) {
  if (!alarm)
    return absl::ResourceExhaustedError(
        absl::StrCat("no eventfd: ", describeError(errno)));
  events = std::move(handlers);
  lastRound = lastBeat = Clock::now();
  std::vector<int> all;
  for (Peer &peer : peers) {
    peer.lastHeard = lastRound;
    all.push_back(peer.channel.socket());
  }
  sockets.emplace(std::move(all));
  try {
    // Detached at once, since the C library accesses a thread after detaching
    // it. Once it is retired, the thread may end at any time.
    std::thread([this] {
      nameThread("control");
      std::shared_ptr<ControlPlane> last;
      run(last);
    }).detach();
    isStarted = true;
  } catch (const std::system_error &error) {
    events = {};
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread: ", error.what()));
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// From any thread
//===----------------------------------------------------------------------===//

ControlMessage ControlPlane::message(ControlKind kind) const {
  ControlMessage result;
  result.kind = kind;
  result.rank = rank;
  return result;
}

void ControlPlane::say(ControlMessage message) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    outbox.push_back(std::move(message));
  }
  wake();
}

void ControlPlane::wake() {
  uint64_t one = 1;
  // The write fails only if the thread has been woken already.
  [[maybe_unused]] ssize_t written = write(alarm.number(), &one, sizeof one);
  changed.notify_all();
}

void ControlPlane::abort(const absl::Status &why) {
  ControlMessage result = message(ControlKind::Abort);
  result.code = why.raw_code();
  result.text = std::string(why.message().substr(0, kMostText));
  if (std::optional<ErrorPlace> place = errorPlaceOf(why)) {
    result.at_rank = place->rank;
    result.at_tensor = place->tensor;
    result.at_instruction = place->instruction;
    result.at_step = place->step;
  }
  say(std::move(result));
}

void ControlPlane::note(const std::string &what) {
  ControlMessage result = message(ControlKind::Note);
  result.text = what.substr(0, kMostText);
  say(std::move(result));
}

void ControlPlane::leave() { say(message(ControlKind::Leave)); }

absl::StatusOr<std::string>
ControlPlane::claim(const std::string &key, const std::string &text,
                    std::chrono::nanoseconds limit,
                    const std::function<bool()> &isOver) {
  publish(key, text);
  std::vector<std::optional<std::string>> kept;
  absl::Status status = await({key}, limit, isOver, kept);
  if (!status.ok())
    return status;
  return *std::move(kept[0]);
}

void ControlPlane::publish(const std::string &key, const std::string &text) {
  if (isHub()) {
    keep(key, text);
    return wake();
  }
  ControlMessage request = message(ControlKind::Claim);
  request.key = key;
  request.text = text;
  say(std::move(request));
}

absl::Status
ControlPlane::find(const std::vector<std::string> &keys,
                   std::chrono::nanoseconds limit,
                   const std::function<bool()> &isOver,
                   std::vector<std::optional<std::string>> &found) {
  for (const std::string &key : keys)
    ask(key);
  return await(keys, limit, isOver, found);
}

/// Asks rank 0 for the text that is kept under a key, now or later.
void ControlPlane::ask(const std::string &key) {
  if (isHub())
    return;
  ControlMessage question = message(ControlKind::Ask);
  question.key = key;
  say(std::move(question));
}

ControlPlane::Watch::Watch(ControlPlane &ownControl, std::string ownKey,
                           std::function<void()> tell)
    : control(ownControl), key(std::move(ownKey)) {
  {
    std::lock_guard<std::mutex> lock(control.mutex);
    place = control.watchers.emplace(key, std::move(tell));
    if (control.texts.count(key) > 0)
      place->second();
  }
  control.ask(key);
}

ControlPlane::Watch::~Watch() {
  std::lock_guard<std::mutex> lock(control.mutex);
  control.watchers.erase(place);
}

bool ControlPlane::Watch::isKept() const {
  std::lock_guard<std::mutex> lock(control.mutex);
  return control.texts.count(key) > 0;
}

absl::Status
ControlPlane::await(const std::vector<std::string> &keys,
                    std::chrono::nanoseconds limit,
                    const std::function<bool()> &isOver,
                    std::vector<std::optional<std::string>> &found) {
  constexpr std::chrono::milliseconds kLook(50);
  const Clock::time_point begin = Clock::now();
  found.assign(keys.size(), std::nullopt);
  size_t next = 0;
  while (true) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      // Takes all texts that are there; texts of later keys may come before the
      // next one.
      auto haveAll = [&] {
        for (size_t i = next; i < keys.size(); ++i)
          if (auto kept = texts.find(keys[i]); kept != texts.end())
            found[i] = kept->second;
        while (next < keys.size() && found[next])
          ++next;
        return next == keys.size();
      };
      if (changed.wait_for(lock, std::min<Clock::duration>(kLook, limit),
                           haveAll))
        return absl::OkStatus();
      if (desertedAt)
        return absl::UnavailableError(
            absl::StrCat("rank 0, which keeps texts for all ranks, left before "
                         "it sent '",
                         keys[next], "'"));
    }
    if (isOver())
      return absl::CancelledError(
          absl::StrCat("no answer for '", keys[next], "'"));
    if (Clock::now() - begin >= limit)
      return absl::DeadlineExceededError(
          absl::StrCat("timed out while waiting for text '", keys[next], "'"));
  }
}

/// Runs on rank 0.
void ControlPlane::keep(const std::string &key, const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  const bool isNew = texts.emplace(key, text).second;
  newKeys.push_back(key);
  changed.notify_all();
  if (isNew)
    tellWatchers(key);
}

/// Called under `mutex`.
void ControlPlane::tellWatchers(const std::string &key) {
  auto [begin, end] = watchers.equal_range(key);
  for (auto watcher = begin; watcher != end; ++watcher)
    watcher->second();
}

/// Sends the text that is kept under a key, or records that the peer asked.
void ControlPlane::answer(Peer &peer, const std::string &key) {
  std::lock_guard<std::mutex> lock(mutex);
  auto kept = texts.find(key);
  if (kept == texts.end()) {
    askers[key].insert(peer.rank);
    return;
  }
  ControlMessage reply = message(ControlKind::Kept);
  reply.key = key;
  reply.text = kept->second;
  peer.channel.queue(reply);
}

/// Answers ranks that asked before a text was kept.
void ControlPlane::answerNew() {
  std::vector<std::pair<std::string, std::set<int>>> waiting;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (const std::string &key : std::exchange(newKeys, {}))
      if (auto found = askers.find(key); found != askers.end()) {
        waiting.emplace_back(key, std::move(found->second));
        askers.erase(found);
      }
  }
  for (auto &[key, ranks] : waiting)
    for (Peer &peer : peers)
      if (peer.isOpen && ranks.count(peer.rank) > 0)
        answer(peer, key);
}

void ControlPlane::retire() {
  if (!std::exchange(isStarted, false))
    return;
  if (isHub())
    Lingering::all.add(1);
  std::unique_lock<std::mutex> lock(mutex);
  // Set together with the last message, so that neither is seen without the
  // other.
  isRetired = true;
  retiredAt = Clock::now();
  outbox.push_back(message(ControlKind::Goodbye));
  keptAlive = shared_from_this();
  lock.unlock();
  wake();
  lock.lock();
  // A process that exits before its goodbye is sent is lost to the others; the
  // thread's core may be late.
  changed.wait_for(lock, patience, [this] { return isQuiet; });
}

//===----------------------------------------------------------------------===//
// The control plane's thread
//===----------------------------------------------------------------------===//

/// Runs until the control plane is retired and done. Then `last` may be its
/// only owner.
void ControlPlane::run(std::shared_ptr<ControlPlane> &last) {
  while (true) {
    sendOutbox();
    answerNew();
    for (Peer &peer : peers)
      if (peer.isOpen)
        flush(peer);
    if (isDone())
      break;
    awaitSockets();
    for (Peer &peer : peers)
      if (peer.isOpen)
        listen(peer);
    Clock::time_point now = Clock::now();
    if (now - lastBeat >= patience / kBeats) {
      sendToOthers(message(ControlKind::Heartbeat), -1);
      lastBeat = now;
      findHanging();
    }
    findSilent(now);
    findDeserted(now);
    lastRound = now;
  }
  // The events may own this control plane in turn.
  events = {};
  {
    std::lock_guard<std::mutex> lock(mutex);
    last = std::move(keptAlive);
  }
  sockets.reset();
  for (Peer &peer : peers)
    peer.channel = ControlChannel();
  if (isHub())
    Lingering::all.add(-1);
}

/// Whether a retired control plane has sent everything and, on rank 0, no rank
/// is left to forward to. A rank that hangs in its own program after a failure
/// never leaves.
bool ControlPlane::isDone() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isRetired || !outbox.empty())
    return false;
  bool hasUnsent = false;
  bool isNeeded = false;
  for (const Peer &peer : peers) {
    hasUnsent |= peer.isOpen && peer.channel.hasUnsent();
    isNeeded |= peer.isOpen && isHub() && !peer.hasLeft;
  }
  isQuiet |= !hasUnsent;
  changed.notify_all();
  if ((hasFailed || isStayLimited.load(std::memory_order_relaxed)) &&
      Clock::now() - retiredAt >= patience)
    return true;
  return isQuiet && !isNeeded;
}

void ControlPlane::sendOutbox() {
  std::vector<ControlMessage> messages;
  {
    std::lock_guard<std::mutex> lock(mutex);
    messages.swap(outbox);
  }
  for (const ControlMessage &message : messages) {
    hasFailed |= message.kind == ControlKind::Abort;
    sendToOthers(message, -1);
  }
}

void ControlPlane::sendToOthers(const ControlMessage &message, int except) {
  for (Peer &peer : peers)
    if (peer.isOpen && peer.rank != except)
      peer.channel.queue(message);
}

/// Waits until a message comes, data can be sent, or it is time to send.
void ControlPlane::awaitSockets() {
  std::vector<pollfd> sockets = {{alarm.number(), POLLIN, 0}};
  for (const Peer &peer : peers)
    if (peer.isOpen)
      sockets.push_back({peer.channel.socket(),
                         static_cast<short>(
                             POLLIN | (peer.channel.hasUnsent() ? POLLOUT : 0)),
                         0});
  auto beat =
      std::chrono::duration_cast<std::chrono::milliseconds>(patience / kBeats);
  poll(sockets.data(), sockets.size(), static_cast<int>(beat.count()));
  uint64_t count = 0;
  [[maybe_unused]] ssize_t got = read(alarm.number(), &count, sizeof count);
}

void ControlPlane::flush(Peer &peer) {
  // A peer that has closed its end may have said goodbye before.
  if (!peer.channel.flush().ok())
    return listen(peer);
  if (peer.channel.unsentBytes() > kMostUnsent)
    lose(peer, absl::StrCat("it has not read ", peer.channel.unsentBytes(),
                            " bytes that were sent to it"));
}

void ControlPlane::listen(Peer &peer) {
  absl::Status read = peer.channel.fill();
  while (peer.isOpen) {
    auto message = peer.channel.next();
    if (!message.ok())
      return lose(peer, absl::StrCat("it sent ", message.status().message()));
    if (!message->has_value())
      break;
    if (absl::Status status = checkMessage(**message, peer.rank, size);
        !status.ok())
      return lose(peer, absl::StrCat("it sent ", status.message()));
    peer.lastHeard = Clock::now();
    handle(peer, **message);
  }
  if (read.ok() || !peer.isOpen)
    return;
  if (!peer.hasLeft)
    return lose(peer, "its process ended");
  peer.isOpen = false;
  if (isHub())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  desertedAt = Clock::now();
  changed.notify_all();
}

/// Handles a message that checkMessage() has passed.
void ControlPlane::handle(Peer &peer, const ControlMessage &message) {
  switch (message.kind) {
  case ControlKind::Abort:
    hasFailed = true;
    handOn(message, peer.rank);
    events.onAbort(withPlace(
        absl::Status(static_cast<absl::StatusCode>(message.code), message.text),
        {message.at_rank, message.at_tensor, message.at_instruction,
         message.at_step}));
    return;
  case ControlKind::Note:
    events.onNote(message.rank, message.text);
    break;
  case ControlKind::Leave:
    events.onLeave(message.rank);
    break;
  case ControlKind::Goodbye:
    peer.hasLeft = true;
    return;
  case ControlKind::Lost:
    // The rank still sends, but hangs: nobody needs to wait for its end.
    peer.hasLeft = isHub();
    hasFailed = true;
    handOn(message, peer.rank);
    return events.onLoss(message.rank, absl::UnavailableError(message.text));
  case ControlKind::Claim:
    keep(message.key, message.text);
    return answer(peer, message.key);
  case ControlKind::Ask:
    return answer(peer, message.key);
  case ControlKind::Kept: {
    std::lock_guard<std::mutex> lock(mutex);
    if (texts.insert_or_assign(message.key, message.text).second)
      tellWatchers(message.key);
    changed.notify_all();
    return;
  }
  case ControlKind::Hello:
  case ControlKind::Welcome:
  case ControlKind::Refusal:
  case ControlKind::Heartbeat:
    return;
  }
  handOn(message, peer.rank);
}

/// Rank 0 forwards at once: this process may end as soon as its own program
/// hears of the message.
void ControlPlane::handOn(const ControlMessage &message, int except) {
  if (!isHub())
    return;
  sendToOthers(message, except);
  for (Peer &peer : peers)
    if (peer.isOpen)
      peer.channel.flush().IgnoreError(); // a loss is found by reading
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

void ControlPlane::lose(Peer &peer, const std::string &why) {
  peer.isOpen = false;
  // All other ranks need rank 0 until the end.
  if (peer.hasLeft && isHub())
    return;
  const std::string text = absl::StrCat("rank ", peer.rank, " is lost: ", why);
  // A rank that was stopped, and wakes up, would take rank 0 for lost.
  if (isHub()) {
    peer.channel.queue(reportOf(peer.rank, text));
    peer.channel.flush().IgnoreError();
  }
  reportLoss(peer.rank, text);
}

ControlMessage ControlPlane::reportOf(int lost, const std::string &text) const {
  ControlMessage report = message(ControlKind::Lost);
  report.rank = lost;
  report.text = text;
  return report;
}

void ControlPlane::reportLoss(int lost, const std::string &text) {
  hasFailed = true;
  if (lost == rank)
    sendToOthers(reportOf(lost, text), -1);
  else
    handOn(reportOf(lost, text), lost);
  events.onLoss(lost, absl::UnavailableError(text));
}

void ControlPlane::findSilent(Clock::time_point now) {
  // If this process itself was stopped, it has heard nothing; it listens once
  // more.
  if (now - lastRound > patience / 2)
    for (Peer &peer : peers)
      peer.lastHeard = now;
  for (Peer &peer : peers) {
    auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(
        now - peer.lastHeard);
    if (peer.isOpen && silence > patience / kBeats * kMissedBeats)
      lose(peer, absl::StrCat("nothing was heard of it for ",
                              durationToString(silence)));
  }
}

/// Rank 0 stays until all ranks have left, unless its process is made to end,
/// by _exit() for instance. A rank that is about to leave as well needs nobody
/// by then, and work under way has this long to finish.
void ControlPlane::findDeserted(Clock::time_point now) {
  if (desertedAt && !hasFailed && now - *desertedAt >= patience &&
      events.isWaiting && events.isWaiting())
    reportLoss(0, "rank 0 is lost: its process ended, and the other ranks "
                  "exchanged their heartbeats through it");
}

/// Other ranks must not wait for a rank with a hanging thread, even though that
/// rank sends.
void ControlPlane::findHanging() {
  if (isLost || !events.findHanging)
    return;
  // The loss counts only after two looks.
  const std::string what =
      events.findHanging(patience / kBeats * (kMissedBeats - 1));
  if (what.empty())
    return;
  isLost = true;
  reportLoss(rank, absl::StrCat("rank ", rank, " is lost: ", what));
}

} // namespace bagua::runtime
