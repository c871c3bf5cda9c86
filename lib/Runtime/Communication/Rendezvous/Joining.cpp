//===- Joining.cpp - How the processes of a run find each other -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a store, the secret in it distinguishes ranks from strangers, and this
// run from an earlier one that left its record there. Without a store, rank 0
// admits any process that names the run and a rank that is missing. Guests try
// several ports one after the other.
//
//===----------------------------------------------------------------------===//
#include "Communication/Rendezvous/Joining.h"

#include "Communication/DurationToString.h"
#include "Communication/Rendezvous/MeetingMessages.h"
#include "Communication/Secret.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <map>
#include <poll.h>
#include <thread>
#include <utility>

namespace bagua::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using fb::ControlKind;

/// The key of rank 0's record. It has where rank 0 listens, the secret and its
/// network; or how rank 0 has failed, after a number that differs between runs.
constexpr char kRecord[] = "bagua/rank0";
constexpr char kFailed[] = "failed";
/// How long a joining rank tolerates silence, and how long an unidentified
/// connection may stay open. The second is shorter, so that silent strangers
/// cannot make a real rank give up.
constexpr std::chrono::seconds kPatience(5);
constexpr std::chrono::seconds kStrangersPatience(2);
constexpr std::chrono::milliseconds kBeat(500);
/// The first and the longest time between two tries; each try looks up a name's
/// addresses.
constexpr std::chrono::milliseconds kFirstRetry(20), kLastRetry(500);
/// The most connections that have not identified themselves. If more come, the
/// oldest make room.
constexpr size_t kMostStrangers = 64;

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

/// Admits the other ranks.
class Coordinator {
public:
  explicit Coordinator(const JoinOptions &options)
      : options(options), deadline(Clock::now() + options.timeout) {
    joined.channels.resize(static_cast<size_t>(options.size));
    joined.secret = drawSecret();
    members.resize(static_cast<size_t>(options.size));
    members[0].host = options.host;
  }

  absl::StatusOr<Joined> run();

private:
  struct Stranger {
    ControlChannel channel;
    Deadline deadline;
  };
  struct Member {
    std::string host;
    /// The number that the process has drawn, and the proof by which rank 0
    /// identifies itself to that process.
    uint64_t process = 0;
    std::string proof;
    /// Whether the rank was here before.
    bool hasGone = false;
  };

  absl::Status publish();
  void await() const;
  absl::Status acceptStrangers();
  absl::Status hear();
  void makeRoom();
  bool hearStranger(Stranger &stranger, absl::Status &status);
  absl::Status admit(ControlChannel &channel, const ControlMessage &hello);
  std::string objection(const ControlMessage &hello) const;
  void hearMembers();
  void beat();
  void tellAll(ControlMessage message);
  /// The secret by which ranks of this run recognize each other.
  const std::string &secret() const {
    return options.store ? joined.secret : options.run;
  }
  absl::Status refuseAll(const absl::Status &why);
  bool isMissing(int rank) const { return joined.channels[rank].socket() < 0; }
  bool areAllHere() const;
  std::string missing() const;
  std::vector<int> numberHosts() const;
  std::string reachedAt() const;

  const JoinOptions &options;
  const Deadline deadline;
  Descriptor listener;
  std::vector<Stranger> strangers;
  bool isOutOfDescriptors = false;
  Deadline lastBeat;
  Joined joined;
  /// Indexed by rank.
  std::vector<Member> members;
};

absl::Status Coordinator::publish() {
  auto socket = listenOn(options.address);
  if (!socket.ok())
    return socket.status();
  listener = *std::move(socket);
  if (!options.store)
    return absl::OkStatus();
  auto address = addressOf(listener.number());
  if (!address.ok())
    return address.status();
  return options.store->set(
      kRecord, absl::StrCat(toString(*address), " ", joined.secret, " ",
                            absl::BytesToHexString(options.network)));
}

bool Coordinator::areAllHere() const {
  for (int rank = 1; rank < options.size; ++rank)
    if (isMissing(rank))
      return false;
  return true;
}

/// "ranks 2, 5, 6 to come": the ranks that never came; if all did, those that
/// have gone.
std::string Coordinator::missing() const {
  std::vector<int> never, gone;
  for (int rank = 1; rank < options.size; ++rank)
    if (isMissing(rank))
      (members[rank].hasGone ? gone : never).push_back(rank);
  return never.empty() ? absl::StrCat("ranks ", listRanks(gone),
                                      ", which have gone again")
                       : absl::StrCat("ranks ", listRanks(never), " to come");
}

void Coordinator::tellAll(ControlMessage message) {
  for (size_t rank = 1; rank < members.size(); ++rank)
    if (ControlChannel &channel = joined.channels[rank];
        channel.socket() >= 0) {
      message.proof = members[rank].proof;
      channel.queue(message);
      channel.flush().IgnoreError(); // a loss is found by reading
    }
}

/// Waits until a connection or a message comes, or it is time to send.
void Coordinator::await() const {
  std::vector<pollfd> sockets;
  if (!isOutOfDescriptors)
    sockets.push_back({listener.number(), POLLIN, 0});
  for (const Stranger &stranger : strangers)
    sockets.push_back({stranger.channel.socket(), POLLIN, 0});
  for (const ControlChannel &channel : joined.channels)
    if (channel.socket() >= 0)
      sockets.push_back({channel.socket(), POLLIN, 0});
  poll(sockets.data(), sockets.size(), static_cast<int>(kBeat.count()));
}

/// Also tells the ranks that have come.
absl::Status Coordinator::refuseAll(const absl::Status &why) {
  tellAll(refusalOf(why));
  return why;
}

/// Accepts some of the waiting connections. If no descriptors are left,
/// strangers may yet return some.
absl::Status Coordinator::acceptStrangers() {
  isOutOfDescriptors = false;
  for (size_t i = 0; i < kMostStrangers; ++i) {
    auto socket = acceptFrom(listener);
    isOutOfDescriptors = !socket.ok();
    if (isOutOfDescriptors && !strangers.empty())
      break;
    if (isOutOfDescriptors)
      return refuseAll(
          absl::Status(socket.status().code(),
                       absl::StrCat("rank 0 needs a connection to each of ",
                                    options.size - 1,
                                    " ranks: ", socket.status().message())));
    if (!*socket)
      break;
    strangers.push_back({ControlChannel(*std::move(socket)),
                         Clock::now() + kStrangersPatience});
  }
  return absl::OkStatus();
}

/// A rank identifies itself at once. So of the connections that were heard and
/// are still strangers, the oldest is least likely to be a rank.
void Coordinator::makeRoom() {
  size_t tooMany =
      strangers.size() - std::min(strangers.size(), kMostStrangers);
  if (isOutOfDescriptors && !strangers.empty())
    tooMany = std::max<size_t>(tooMany, 1);
  strangers.erase(strangers.begin(),
                  strangers.begin() + static_cast<ptrdiff_t>(tooMany));
}

/// Why a rank of this run can't take part; empty if it can.
std::string Coordinator::objection(const ControlMessage &hello) const {
  std::string why = disagreement(hello, options);
  // A rank whose connection was cut may be back before this side hears of the
  // cut.
  if (why.empty() && !isMissing(hello.rank) &&
      members[hello.rank].process != hello.process)
    return absl::StrCat("two processes have joined as rank ", hello.rank);
  return why;
}

absl::Status Coordinator::admit(ControlChannel &channel,
                                const ControlMessage &hello) {
  std::string why = objection(hello);
  if (why.empty()) {
    Member &member = members[hello.rank];
    member.host = hello.host;
    member.process = hello.process;
    member.proof = proofFor(hello, secret());
    joined.channels[hello.rank] = std::move(channel);
    return absl::OkStatus();
  }
  absl::Status status = absl::InvalidArgumentError(why);
  ControlMessage refusal = refusalOf(status);
  refusal.proof = proofFor(hello, secret());
  channel.queue(refusal);
  channel.flush().IgnoreError();
  return refuseAll(status);
}

/// Returns whether the connection is still a stranger's. A rank that went away
/// meanwhile comes back on another connection.
bool Coordinator::hearStranger(Stranger &stranger, absl::Status &status) {
  absl::Status read = stranger.channel.fill();
  auto message = stranger.channel.next();
  if (!message.ok() || !read.ok())
    return false;
  if (!message->has_value())
    return Clock::now() < stranger.deadline;
  if (isHelloOf(**message, secret()))
    status.Update(admit(stranger.channel, **message));
  return false;
}

/// A rank that came and went away comes back, or is missing. A rank that says
/// anything counts as gone, too: no rank speaks before all have come.
void Coordinator::hearMembers() {
  for (int rank = 1; rank < options.size; ++rank) {
    ControlChannel &channel = joined.channels[rank];
    if (isMissing(rank) || (channel.fill().ok() && !channel.hasUnread()))
      continue;
    channel = ControlChannel();
    members[rank].hasGone = true;
  }
}

absl::Status Coordinator::hear() {
  // Members first, for one that has gone may be back already.
  hearMembers();
  absl::Status status;
  strangers.erase(std::remove_if(strangers.begin(), strangers.end(),
                                 [&](Stranger &stranger) {
                                   return !hearStranger(stranger, status);
                                 }),
                  strangers.end());
  return status;
}

/// Tells waiting ranks that this rank still waits, and for which ranks.
void Coordinator::beat() {
  if (Clock::now() - lastBeat < kBeat)
    return;
  lastBeat = Clock::now();
  ControlMessage heartbeat;
  heartbeat.kind = ControlKind::Heartbeat;
  heartbeat.text = missing();
  tellAll(heartbeat);
}

/// The number of each rank's host, in the order of first ranks from 0.
std::vector<int> Coordinator::numberHosts() const {
  std::map<std::string, int> numbers;
  std::vector<int> hosts;
  hosts.reserve(members.size());
  for (const Member &member : members)
    hosts.push_back(numbers.emplace(member.host, numbers.size()).first->second);
  return hosts;
}

/// This host's address on the connections to other hosts.
std::string Coordinator::reachedAt() const {
  for (int rank = 1; rank < options.size; ++rank)
    if (members[rank].host != options.host)
      if (auto own = addressOf(joined.channels[rank].socket()); own.ok())
        return own->host;
  return {};
}

absl::StatusOr<Joined> Coordinator::run() {
  if (absl::Status status = publish(); !status.ok())
    return status;
  while (!areAllHere()) {
    if (Clock::now() >= deadline)
      return refuseAll(absl::DeadlineExceededError(
          absl::StrCat("rank 0 waited ", durationToString(options.timeout),
                       " for ", missing())));
    await();
    absl::Status status = acceptStrangers();
    if (status.ok())
      status = hear();
    if (!status.ok())
      return status;
    makeRoom();
    beat();
  }
  joined.hosts = numberHosts();
  joined.reachedAt = reachedAt();
  tellAll(welcomeOf(joined));
  return std::move(joined);
}

//===----------------------------------------------------------------------===//
// Other ranks
//===----------------------------------------------------------------------===//

/// How rank 0 has failed, if the record says so; else Ok.
absl::Status readFailure(const std::string &record) {
  constexpr int kLast = static_cast<int>(absl::StatusCode::kUnauthenticated);
  std::vector<std::string> words =
      absl::StrSplit(record, absl::MaxSplits(' ', 3));
  int code = 0;
  if (words.size() != 4 || words[0] != kFailed ||
      !absl::SimpleAtoi(words[2], &code) || code < 1 || code > kLast)
    return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(code),
                      absl::StrCat("rank 0 has failed: ", words[3]));
}

class Guest {
public:
  explicit Guest(const JoinOptions &options)
      : options(options), deadline(Clock::now() + options.timeout) {}

  absl::StatusOr<Joined> run();

private:
  absl::Status findCoordinator();
  absl::StatusOr<Joined> attempt();
  absl::StatusOr<Joined> awaitWelcome(ControlChannel channel,
                                      const ControlMessage &hello);
  absl::Status refuse(const absl::Status &why) {
    isRefused = true;
    return why;
  }

  const JoinOptions &options;
  const Deadline deadline;
  TcpAddress address;
  /// The store's record of rank 0 when this rank came.
  std::optional<std::optional<std::string>> firstRecord;
  std::string secret;
  const uint64_t process = drawNumber();
  /// The offset of the port to try next.
  int next = 0;
  std::chrono::milliseconds retry = kFirstRetry;
  /// Whether another try would change nothing.
  bool isRefused = false;
};

/// Finds where rank 0 is: with a store, from its last record.
absl::Status Guest::findCoordinator() {
  if (!options.store) {
    address = {options.address.host, options.address.port + next};
    secret = options.run;
    return absl::OkStatus();
  }
  auto record = options.store->get(kRecord);
  if (!record.ok())
    return absl::IsAborted(record.status()) ? refuse(record.status())
                                            : record.status();
  if (!firstRecord)
    firstRecord = *record;
  if (!record->has_value())
    return absl::NotFoundError("the store says nothing of rank 0");
  if (absl::Status failed = readFailure(**record); !failed.ok())
    // The first record that was found may be a former run's.
    return *record == *firstRecord ? absl::UnavailableError(failed.message())
                                   : refuse(failed);
  std::vector<std::string> words = absl::StrSplit(**record, ' ');
  auto found = parseTcpAddress(words[0]);
  // The text may contain the secret, so it is not shown.
  if (!found.ok() || words.size() != 3)
    return absl::InvalidArgumentError(
        absl::StrCat("the entry of rank 0 in the store has ", words.size(),
                     " words, the first of them '", words[0],
                     "': expected 3 words, rank 0's address, a secret and its "
                     "network"));
  address = *std::move(found);
  secret = words[1];
  // The record may be a former run's, to be followed by another one.
  if (isLoopback(address.host) &&
      words[2] != absl::BytesToHexString(options.network))
    return absl::FailedPreconditionError(absl::StrCat(
        "rank 0 listens at ", words[0],
        " of another host, which this host can't reach: expected rank 0 to "
        "have an address or an interface that other hosts reach"));
  return absl::OkStatus();
}

absl::StatusOr<Joined> Guest::awaitWelcome(ControlChannel channel,
                                           const ControlMessage &hello) {
  Deadline lastHeard = Clock::now();
  std::string waitsFor;
  absl::Status read;
  bool isLastLook = false;
  while (true) {
    auto message = channel.next();
    if (!message.ok())
      return message.status();
    if (!message->has_value()) {
      if (!read.ok())
        return read;
      // If this process was stopped, messages may have arrived meanwhile.
      if (Clock::now() < std::min(lastHeard + kPatience, deadline))
        awaitReadable(channel.socket(), Clock::now() + kBeat);
      else if (std::exchange(isLastLook, true))
        break;
      read = channel.fill();
      continue;
    }
    ControlMessage &said = **message;
    auto answer = readAnswer(said, hello, secret, options);
    if (absl::IsAborted(answer.status()))
      return absl::UnavailableError(absl::StrCat("at ", toString(address), ": ",
                                                 answer.status().message()));
    if (!answer.ok())
      return refuse(answer.status());
    isLastLook = false;
    lastHeard = Clock::now();
    waitsFor = std::move(said.text);
    if (!answer->has_value())
      continue;
    (*answer)->channels.push_back(std::move(channel));
    return **std::move(answer);
  }
  if (!waitsFor.empty() && Clock::now() >= deadline)
    return absl::UnavailableError(absl::StrCat("it waits for ", waitsFor));
  const bool isCut = lastHeard + kPatience > deadline;
  return absl::Status(
      isCut ? absl::StatusCode::kCancelled : absl::StatusCode::kUnavailable,
      absl::StrCat("rank 0 at ", toString(address), " does not answer"));
}

absl::StatusOr<Joined> Guest::attempt() {
  if (absl::Status status = findCoordinator(); !status.ok())
    return status;
  auto socket =
      connectTo(address, std::min(deadline, Clock::now() + kPatience));
  if (!socket.ok())
    return socket.status();
  ControlChannel channel(*std::move(socket));
  const ControlMessage hello = helloOf(options, process, secret);
  channel.queue(hello);
  if (absl::Status status = channel.flush(); !status.ok())
    return status;
  return awaitWelcome(std::move(channel), hello);
}

absl::StatusOr<Joined> Guest::run() {
  absl::Status why;
  while (true) {
    absl::StatusOr<Joined> joined = attempt();
    // Without descriptors another try can't succeed either.
    if (joined.ok() || isRefused || absl::IsResourceExhausted(joined.status()))
      return joined;
    // The timeout may have cut the last attempt short, so that its error says
    // less.
    if (why.ok() || !absl::IsCancelled(joined.status()))
      why = joined.status();
    if (Clock::now() >= deadline)
      return absl::DeadlineExceededError(absl::StrCat(
          "rank ", options.rank, " waited ", durationToString(options.timeout),
          " for rank 0: ", why.message()));
    next = (next + 1) % options.address.ports;
    if (next == 0)
      std::this_thread::sleep_for(
          std::exchange(retry, std::min(2 * retry, kLastRetry)));
  }
}

} // namespace

void leaveFailure(Store &store, const absl::Status &why) {
  store
      .set(kRecord, absl::StrCat(kFailed, " ", absl::Hex(drawNumber()), " ",
                                 why.raw_code(), " ",
                                 why.message().substr(0, kMostName)))
      .IgnoreError(); // else others time out
}

absl::StatusOr<Joined> joinRun(const JoinOptions &options) {
  return options.rank == 0 ? Coordinator(options).run() : Guest(options).run();
}

} // namespace bagua::runtime
