//===- MemoryNetwork.cpp - Messages between threads of one process --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One lock guards all connections of a group. A message is offered by its
// sender's wait or flush, and copied by its receiver's wait. Where a test
// chooses what arrives, the last member that finds nothing to do asks it.
//
//===----------------------------------------------------------------------===//
#include "Communication/Transport/MemoryNetwork.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace bagua::runtime {
namespace {

/// Memory of a message that is sent, or that one goes to.
template <typename Pointer> struct Range {
  Pointer data = nullptr;
  int64_t bytes = 0;
};

/// The messages from one member to another over one connection.
struct Lane {
  struct Messages {
    std::deque<Range<const void *>> sent;
    std::deque<Range<void *>> posted;
    /// The number of sent messages that may be copied.
    size_t offered = 0;
    /// Since the connection was made.
    int64_t sentCount = 0;
    int64_t postedCount = 0;
    int64_t arrivedCount = 0;
  };
  std::array<Messages, kStreams> streams;
  std::optional<std::string> greeting;
  /// Messages that have not arrived, and that awaitSent() has not seen.
  int64_t unsent = 0;
  int64_t unseen = 0;

  Messages &of(MessageStream stream) {
    return streams[static_cast<size_t>(stream)];
  }
};

/// The `attempt`th of a pair. Sides: 0 is that of the lower member.
struct Connection {
  std::array<bool, 2> isThere = {};
  /// From this side to the other one.
  std::array<Lane, 2> lanes;
  /// Why it has ended, to this side.
  std::array<absl::Status, 2> over;

  void end(bool side, const absl::Status &why) {
    over[side].Update(why);
    over[!side].Update(absl::UnavailableError("the connection is lost"));
    for (Lane &lane : lanes)
      for (Lane::Messages &messages : lane.streams) {
        messages.sent.clear();
        messages.posted.clear();
        messages.offered = 0;
      }
  }
};

/// All connections of a group.
struct Hub {
  Hub(int size, ChooseArrival ownChoose)
      : choose(std::move(ownChoose)), members(static_cast<size_t>(size)) {
    for (Member &member : members)
      member.attempts.resize(members.size());
  }

  struct Member {
    bool isOpen = false;
    bool isInterrupted = false;
    /// By peer: connections made anew.
    std::vector<int> attempts;
    /// The state in which it has found nothing to do.
    int64_t quietIn = -1;
  };

  Connection &at(int self, int peer) {
    return connections[{std::min(self, peer), std::max(self, peer),
                        members[self].attempts[peer]}];
  }
  /// As `self` sees them.
  Lane &laneTo(int self, int peer) { return at(self, peer).lanes[self > peer]; }
  Lane &laneFrom(int self, int peer) {
    return at(self, peer).lanes[peer > self];
  }
  void tell() {
    ++state;
    changed.notify_all();
  }

  void offer(int self);
  bool take(int self);
  void arrive(const Arrival &arrival);
  void appendReady(int to, std::vector<Arrival> &ready);
  bool chooseNext();

  std::mutex mutex;
  std::condition_variable changed;
  const ChooseArrival choose;
  std::vector<Member> members;
  /// By the lower member, the higher one and the attempt.
  std::map<std::tuple<int, int, int>, Connection> connections;
  /// Grows with each change.
  int64_t state = 0;
};

/// Lets the messages go that a member has sent.
void Hub::offer(int self) {
  bool isNew = false;
  for (int peer = 0; peer < static_cast<int>(members.size()); ++peer) {
    if (peer == self)
      continue;
    for (Lane::Messages &messages : laneTo(self, peer).streams)
      isNew |= std::exchange(messages.offered, messages.sent.size()) !=
               messages.sent.size();
  }
  if (isNew)
    tell();
}

/// The messages to a member that can arrive now.
void Hub::appendReady(int to, std::vector<Arrival> &ready) {
  for (int from = 0; from < static_cast<int>(members.size()); ++from)
    for (int stream = 0; from != to && stream < kStreams; ++stream) {
      const Lane::Messages &messages = laneFrom(to, from).streams[stream];
      if (messages.offered > 0 && !messages.posted.empty())
        ready.push_back(
            {from,
             to,
             {static_cast<MessageStream>(stream), messages.arrivedCount}});
    }
}

void Hub::arrive(const Arrival &arrival) {
  const auto [from, to, tag] = arrival;
  Connection &connection = at(to, from);
  Lane &lane = connection.lanes[from > to];
  Lane::Messages &messages = lane.of(tag.stream);
  const auto source = messages.sent.front();
  const auto target = messages.posted.front();
  if (source.bytes > target.bytes) {
    connection.end(to > from,
                   absl::DataLossError(absl::StrCat(
                       "it sent ", source.bytes, " bytes as message ",
                       tag.sequence, " of ", streamName(tag.stream),
                       ", expected at most ", target.bytes)));
    return tell();
  }
  if (source.bytes > 0)
    std::memcpy(target.data, source.data, static_cast<size_t>(source.bytes));
  messages.sent.pop_front();
  messages.posted.pop_front();
  --messages.offered;
  ++messages.arrivedCount;
  --lane.unsent;
  ++lane.unseen;
  tell();
}

/// All that can arrive at a member, where nobody chooses. Whether something
/// has.
bool Hub::take(int self) {
  std::vector<Arrival> ready;
  if (!choose)
    appendReady(self, ready);
  for (const Arrival &arrival : ready)
    arrive(arrival);
  return !ready.empty();
}

/// The message that is chosen, where all members have nothing else to do.
/// Whether one has arrived.
bool Hub::chooseNext() {
  if (!choose || std::any_of(members.begin(), members.end(), [&](auto &member) {
        return member.isOpen && member.quietIn != state;
      }))
    return false;
  std::vector<Arrival> ready;
  for (int to = 0; to < static_cast<int>(members.size()); ++to)
    appendReady(to, ready);
  if (!ready.empty())
    arrive(ready[choose(ready)]);
  return !ready.empty();
}

class MemoryTransport final : public Transport {
public:
  MemoryTransport(std::shared_ptr<Hub> ownHub, int member,
                  std::chrono::nanoseconds ownLimit)
      : hub(std::move(ownHub)), self(member), limit(ownLimit) {}
  ~MemoryTransport() override { close(); }

  std::string address(int peer) const override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    return addressOf(self, peer, own().attempts[peer]);
  }
  absl::Status connect(int peer, const std::string &address) override;
  absl::Status renew(int peer) override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    ++own().attempts[peer];
    hub->tell();
    return absl::OkStatus();
  }

  absl::Status greet(int peer, const std::string &text) override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    hub->laneTo(self, peer).greeting = text;
    hub->tell();
    return overWith(peer);
  }
  absl::StatusOr<std::string> awaitGreeting(int peer) override {
    std::string text;
    absl::Status status = await(peer, [&] {
      const auto &greeting = hub->laneFrom(self, peer).greeting;
      text = greeting.value_or("");
      return greeting.has_value();
    });
    if (!status.ok())
      return status;
    return text;
  }

  absl::Status send(int peer, Tag tag, const void *data,
                    int64_t bytes) override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    Lane &lane = hub->laneTo(self, peer);
    Lane::Messages &messages = lane.of(tag.stream);
    if (absl::Status status = checkNext(peer, tag, messages.sentCount);
        !status.ok())
      return status;
    if (absl::Status over = overWith(peer); !over.ok())
      return over;
    messages.sent.push_back({data, bytes});
    ++messages.sentCount;
    ++lane.unsent;
    hub->tell();
    return absl::OkStatus();
  }
  absl::Status receive(int peer, Tag tag, void *data, int64_t bytes) override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    Lane::Messages &messages = hub->laneFrom(self, peer).of(tag.stream);
    if (absl::Status status = checkNext(peer, tag, messages.postedCount);
        !status.ok())
      return status;
    if (absl::Status over = overWith(peer); !over.ok())
      return over;
    messages.posted.push_back({data, bytes});
    ++messages.postedCount;
    hub->tell();
    return absl::OkStatus();
  }

  void flush() override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    hub->offer(self);
  }
  absl::Status awaitReceived(int peer, Tag tag) override {
    return await(peer, [&] { return hasArrived(peer, tag); });
  }
  bool hasReceived(int peer, Tag tag) override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    hub->offer(self);
    hub->take(self);
    return hasArrived(peer, tag);
  }
  absl::StatusOr<bool> awaitSent() override;

  void interrupt() override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    own().isInterrupted = true;
    hub->tell();
  }
  void close() override;

private:
  static std::string addressOf(int member, int peer, int attempt) {
    return absl::StrCat("member ", member, " for ", peer, ", ", attempt);
  }
  Hub::Member &own() const { return hub->members[self]; }
  bool hasArrived(int peer, Tag tag) {
    return hub->laneFrom(self, peer).of(tag.stream).arrivedCount > tag.sequence;
  }
  absl::Status overWith(int peer) {
    return withPlace(hub->at(self, peer).over[self > peer], {peer});
  }

  /// Moves messages until `isThere`, or the connection is over.
  template <typename IsThere> absl::Status await(int peer, IsThere isThere) {
    std::unique_lock<std::mutex> lock(hub->mutex);
    while (true) {
      hub->offer(self);
      while (hub->take(self))
        continue;
      if (isThere())
        return absl::OkStatus();
      if (absl::Status over = overWith(peer); !over.ok())
        return over;
      if (std::exchange(own().isInterrupted, false))
        return absl::CancelledError();
      own().quietIn = hub->state;
      if (!hub->chooseNext())
        hub->changed.wait(lock);
      own().quietIn = -1;
    }
  }

  const std::shared_ptr<Hub> hub;
  const int self;
  const std::chrono::nanoseconds limit;
};

absl::Status MemoryTransport::connect(int peer, const std::string &address) {
  std::unique_lock<std::mutex> lock(hub->mutex);
  if (std::exchange(own().isInterrupted, false))
    return absl::CancelledError();
  const int attempt = own().attempts[peer];
  Connection &connection = hub->at(self, peer);
  if (address != addressOf(peer, self, attempt))
    return absl::AbortedError(absl::StrCat("nobody is at '", address, "'"));
  connection.isThere[self > peer] = true;
  hub->tell();
  auto isOver = [&] {
    return connection.isThere[peer > self] || own().isInterrupted ||
           hub->members[peer].attempts[self] > attempt;
  };
  const bool isInTime = hub->changed.wait_for(lock, limit, isOver);
  if (connection.isThere[peer > self])
    return absl::OkStatus();
  connection.isThere[self > peer] = false;
  if (!isInTime)
    return absl::UnavailableError("can't connect: it does not come in time");
  if (std::exchange(own().isInterrupted, false))
    return absl::UnavailableError("can't connect: interrupted");
  return absl::AbortedError("it connects anew");
}

absl::StatusOr<bool> MemoryTransport::awaitSent() {
  for (int peer = 0; peer < static_cast<int>(hub->members.size()); ++peer) {
    if (peer == self)
      continue;
    Lane *lane = nullptr;
    {
      std::lock_guard<std::mutex> lock(hub->mutex);
      lane = &hub->laneTo(self, peer);
      if (lane->unsent + lane->unseen == 0)
        continue;
    }
    absl::Status status = await(peer, [&] { return lane->unseen > 0; });
    if (!status.ok())
      return status;
    std::lock_guard<std::mutex> lock(hub->mutex);
    --lane->unseen;
    return true;
  }
  return false;
}

void MemoryTransport::close() {
  std::lock_guard<std::mutex> lock(hub->mutex);
  own().isOpen = false;
  for (int peer = 0; peer < static_cast<int>(hub->members.size()); ++peer) {
    if (peer != self)
      hub->at(self, peer).end(self > peer, absl::UnavailableError("closed"));
  }
  hub->tell();
}

class MemoryNetwork final : public Network {
public:
  explicit MemoryNetwork(ChooseArrival ownChoose)
      : choose(std::move(ownChoose)) {}

  absl::StatusOr<std::unique_ptr<Transport>>
  open(int self, int size, absl::Span<const int> /*peers*/,
       const std::string &secret, std::chrono::nanoseconds limit) override {
    std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<Hub> hub = hubs[secret].lock();
    if (!hub)
      hubs[secret] = hub = std::make_shared<Hub>(size, choose);
    {
      std::lock_guard<std::mutex> lockOfHub(hub->mutex);
      hub->members[self].isOpen = true;
    }
    return std::make_unique<MemoryTransport>(std::move(hub), self, limit);
  }

private:
  const ChooseArrival choose;
  std::mutex mutex;
  /// By secret.
  std::map<std::string, std::weak_ptr<Hub>> hubs;
};

} // namespace

std::unique_ptr<Network> createMemoryNetwork(ChooseArrival choose) {
  return std::make_unique<MemoryNetwork>(std::move(choose));
}

} // namespace bagua::runtime
