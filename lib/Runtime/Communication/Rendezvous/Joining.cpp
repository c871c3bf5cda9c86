//===- Joining.cpp - How the processes of a run find each other -----------===//
//
// With a store the secret in it tells ranks from strangers, and this run from
// one before it that left its record there. Without one, whoever names the run
// and is missing is let in; of several ports guests try one after the other.
//
//===----------------------------------------------------------------------===//
#include "Communication/Rendezvous/Joining.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

#include <algorithm>
#include <poll.h>
#include <random>
#include <thread>
#include <utility>

namespace bagua::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using fb::ControlKind;

/// Of the messages. Ranks of different ones refuse each other.
constexpr int kProtocol = 4;
constexpr char kRecord[] = "bagua/rank0";
/// In which ranks hear of each other, and a connection must say who it is: in
/// less, so that no rank gives up behind silent strangers.
constexpr std::chrono::seconds kPatience(5);
constexpr std::chrono::seconds kStrangersPatience(2);
constexpr std::chrono::milliseconds kBeat(500);
/// Between two tries, the first and at most: a name's addresses are asked for
/// in each.
constexpr std::chrono::milliseconds kFirstRetry(20), kLastRetry(500);
/// Connections that have not said who they are; more wait in the kernel.
constexpr size_t kMostStrangers = 64;

uint64_t drawNumber() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

std::string drawSecret() {
  std::random_device device;
  std::string bytes;
  for (int i = 0; i < 16; ++i)
    bytes += static_cast<char>(device() & 0xff);
  return absl::BytesToHexString(bytes);
}

std::string durationToString(std::chrono::nanoseconds duration) {
  return absl::FormatDuration(absl::FromChrono(duration));
}

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

class Host {
public:
  explicit Host(const JoinOptions &options)
      : options(options), deadline(Clock::now() + options.timeout) {
    joined.channels.resize(static_cast<size_t>(options.size));
    joined.hosts.resize(static_cast<size_t>(options.size));
    joined.hosts[0] = options.host;
    hasGone.resize(static_cast<size_t>(options.size));
    processes.resize(static_cast<size_t>(options.size));
    joined.secret = drawSecret();
  }

  absl::StatusOr<Joined> run();

private:
  struct Stranger {
    ControlChannel channel;
    Deadline deadline;
  };

  absl::Status publish();
  void await() const;
  absl::Status acceptStrangers();
  absl::Status hear();
  bool hearStranger(Stranger &stranger, absl::Status &status);
  absl::Status admit(ControlChannel &channel, const fb::ControlMessageT &hello);
  std::string disagreement(const fb::ControlMessageT &hello) const;
  void hearMembers();
  void beat();
  void tellAll(const ControlMessage &message);
  absl::Status refuseAll(const absl::Status &why);
  bool isMissing(int rank) const { return joined.channels[rank].socket() < 0; }
  bool areAllHere() const;
  std::string missing() const;
  std::string reachedAt() const;

  const JoinOptions &options;
  const Deadline deadline;
  Descriptor listener;
  std::vector<Stranger> strangers;
  bool isOutOfDescriptors = false;
  Deadline lastBeat;
  Joined joined;
  /// By rank: whether it was here before.
  std::vector<bool> hasGone;
  /// By rank: what it has drawn for itself.
  std::vector<uint64_t> processes;
};

absl::Status Host::publish() {
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

bool Host::areAllHere() const {
  for (int rank = 1; rank < options.size; ++rank)
    if (isMissing(rank))
      return false;
  return true;
}

/// "ranks 2, 5, 6 to come": those that never have; else those that have gone.
std::string Host::missing() const {
  std::vector<int> never, gone;
  for (int rank = 1; rank < options.size; ++rank)
    if (isMissing(rank))
      (hasGone[rank] ? gone : never).push_back(rank);
  return never.empty()
             ? absl::StrCat("ranks ", absl::StrJoin(gone, ", "),
                            ", which have gone again")
             : absl::StrCat("ranks ", absl::StrJoin(never, ", "), " to come");
}

void Host::tellAll(const ControlMessage &message) {
  for (ControlChannel &channel : joined.channels)
    if (channel.socket() >= 0) {
      channel.queue(message);
      channel.flush().IgnoreError(); // a loss is found by reading
    }
}

/// Until somebody comes or says something, or it is time to speak.
void Host::await() const {
  std::vector<pollfd> sockets;
  if (strangers.size() < kMostStrangers && !isOutOfDescriptors)
    sockets.push_back({listener.number(), POLLIN, 0});
  for (const Stranger &stranger : strangers)
    sockets.push_back({stranger.channel.socket(), POLLIN, 0});
  for (const ControlChannel &channel : joined.channels)
    if (channel.socket() >= 0)
      sockets.push_back({channel.socket(), POLLIN, 0});
  poll(sockets.data(), sockets.size(), static_cast<int>(kBeat.count()));
}

ControlMessage refusalOf(const absl::Status &why) {
  ControlMessage refusal;
  refusal.kind = ControlKind::Refusal;
  refusal.code = why.raw_code();
  refusal.text = std::string(why.message());
  return refusal;
}

/// Tells those who have come, too.
absl::Status Host::refuseAll(const absl::Status &why) {
  tellAll(refusalOf(why));
  return why;
}

/// Where descriptors are out, strangers may yet give some back.
absl::Status Host::acceptStrangers() {
  isOutOfDescriptors = false;
  while (strangers.size() < kMostStrangers) {
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

/// What keeps a rank of this run from taking part; empty: nothing.
std::string Host::disagreement(const fb::ControlMessageT &hello) const {
  if (hello.version != kProtocol)
    return absl::StrCat("rank ", hello.rank, " speaks version ", hello.version,
                        " of the protocol, rank 0 version ", kProtocol);
  if (hello.size != options.size)
    return absl::StrCat("rank ", hello.rank, " says that the run has ",
                        hello.size, " ranks, rank 0 says ", options.size);
  if (hello.rank < 1 || hello.rank >= options.size)
    return absl::StrCat("a rank ", hello.rank, " has come, expected 1 to ",
                        options.size - 1);
  // One whose connection was cut may be back before this side hears of it.
  if (!isMissing(hello.rank) && processes[hello.rank] != hello.process)
    return absl::StrCat("rank ", hello.rank, " has come twice");
  if (hello.patience_ns != options.patience.count())
    return absl::StrCat(
        "rank ", hello.rank, " lets others be silent for ",
        durationToString(std::chrono::nanoseconds(hello.patience_ns)),
        " (patience), rank 0 for ", durationToString(options.patience));
  return {};
}

absl::Status Host::admit(ControlChannel &channel,
                         const fb::ControlMessageT &hello) {
  std::string why = disagreement(hello);
  if (why.empty()) {
    joined.hosts[hello.rank] = hello.host;
    processes[hello.rank] = hello.process;
    joined.channels[hello.rank] = std::move(channel);
    return absl::OkStatus();
  }
  absl::Status status = absl::InvalidArgumentError(why);
  channel.queue(refusalOf(status));
  channel.flush().IgnoreError();
  return refuseAll(status);
}

/// Whether the connection is still a stranger's. Who has gone meanwhile comes
/// back on another one.
bool Host::hearStranger(Stranger &stranger, absl::Status &status) {
  absl::Status read = stranger.channel.fill();
  auto message = stranger.channel.next();
  if (!message.ok() || !read.ok())
    return false;
  if (!message->has_value())
    return Clock::now() < stranger.deadline;
  const ControlMessage &hello = **message;
  bool isOurs = hello.kind == ControlKind::Hello &&
                hello.secret == (options.store ? joined.secret : options.run);
  if (isOurs)
    status.Update(admit(stranger.channel, hello));
  return false;
}

/// Who has come and goes again comes back, or is missing.
void Host::hearMembers() {
  for (int rank = 1; rank < options.size; ++rank)
    if (!isMissing(rank) && !joined.channels[rank].fill().ok()) {
      joined.channels[rank] = ControlChannel();
      hasGone[rank] = true;
    }
}

absl::Status Host::hear() {
  // First, for one that has gone may be here again.
  hearMembers();
  absl::Status status;
  for (size_t i = strangers.size(); i-- > 0;)
    if (!hearStranger(strangers[i], status)) {
      std::swap(strangers[i], strangers.back());
      strangers.pop_back();
    }
  return status;
}

/// Tells who waits that this rank still does, and for whom.
void Host::beat() {
  if (Clock::now() - lastBeat < kBeat)
    return;
  lastBeat = Clock::now();
  ControlMessage heartbeat;
  heartbeat.kind = ControlKind::Heartbeat;
  heartbeat.text = missing();
  tellAll(heartbeat);
}

/// Of the connections to other hosts.
std::string Host::reachedAt() const {
  for (int rank = 1; rank < options.size; ++rank)
    if (joined.hosts[rank] != options.host)
      if (auto own = addressOf(joined.channels[rank].socket()); own.ok())
        return own->host;
  return {};
}

absl::StatusOr<Joined> Host::run() {
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
    beat();
  }
  ControlMessage welcome;
  welcome.kind = ControlKind::Welcome;
  welcome.hosts = joined.hosts;
  welcome.secret = joined.secret;
  welcome.text = joined.reachedAt = reachedAt();
  tellAll(welcome);
  return std::move(joined);
}

//===----------------------------------------------------------------------===//
// Other ranks
//===----------------------------------------------------------------------===//

class Guest {
public:
  explicit Guest(const JoinOptions &options)
      : options(options), deadline(Clock::now() + options.timeout) {}

  absl::StatusOr<Joined> run();

private:
  absl::Status findHost();
  absl::StatusOr<Joined> attempt();
  absl::StatusOr<Joined> awaitWelcome(ControlChannel channel);
  absl::Status refuse(const absl::Status &why) {
    isRefused = true;
    return why;
  }

  const JoinOptions &options;
  const Deadline deadline;
  TcpAddress address;
  std::string secret;
  const uint64_t process = drawNumber();
  /// Of the address's ports: the one to try.
  int next = 0;
  std::chrono::milliseconds retry = kFirstRetry;
  /// Whether trying again changes nothing.
  bool isRefused = false;
};

/// Where rank 0 is. With a store: as its last record says.
absl::Status Guest::findHost() {
  if (!options.store) {
    address = {options.address.host, options.address.port + next};
    secret = options.run;
    return absl::OkStatus();
  }
  auto record = options.store->get(kRecord);
  if (!record.ok())
    return absl::IsAborted(record.status()) ? refuse(record.status())
                                            : record.status();
  if (!record->has_value())
    return absl::NotFoundError("the store says nothing of rank 0");
  std::vector<std::string> words = absl::StrSplit(**record, ' ');
  auto found = parseTcpAddress(words[0]);
  if (!found.ok() || words.size() != 3)
    return absl::InvalidArgumentError(
        absl::StrCat("the store says of rank 0: '", **record,
                     "', expected its address, a secret and its network"));
  address = *std::move(found);
  secret = words[1];
  // The record may be a former run's, so that another one follows.
  if (isLoopback(address.host) &&
      words[2] != absl::BytesToHexString(options.network))
    return absl::FailedPreconditionError(absl::StrCat(
        "rank 0 listens at ", words[0],
        " of another host, where this one can't reach it: expected it to be "
        "told an address or an interface that others reach"));
  return absl::OkStatus();
}

absl::StatusOr<Joined> Guest::awaitWelcome(ControlChannel channel) {
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
      // Where this process stood still, what has come meanwhile lies there.
      if (Clock::now() < std::min(lastHeard + kPatience, deadline))
        awaitReadable(channel.socket(), Clock::now() + kBeat);
      else if (std::exchange(isLastLook, true))
        break;
      read = channel.fill();
      continue;
    }
    isLastLook = false;
    lastHeard = Clock::now();
    ControlMessage &said = **message;
    if (said.kind == ControlKind::Refusal)
      return refuse(absl::Status(said.code > 0
                                     ? static_cast<absl::StatusCode>(said.code)
                                     : absl::StatusCode::kUnknown,
                                 said.text));
    if (said.kind == ControlKind::Heartbeat)
      waitsFor = said.text;
    if (said.kind != ControlKind::Welcome)
      continue;
    if (said.hosts.size() != static_cast<size_t>(options.size) ||
        (options.store && said.secret != secret))
      return absl::InvalidArgumentError("rank 0 welcomes to another run");
    Joined joined;
    joined.hosts = std::move(said.hosts);
    joined.secret = std::move(said.secret);
    joined.reachedAt = std::move(said.text);
    joined.channels.push_back(std::move(channel));
    return joined;
  }
  if (!waitsFor.empty() && Clock::now() >= deadline)
    return absl::UnavailableError(absl::StrCat("it waits for ", waitsFor));
  return absl::UnavailableError(
      absl::StrCat("rank 0 at ", toString(address), " says nothing"));
}

absl::StatusOr<Joined> Guest::attempt() {
  if (absl::Status status = findHost(); !status.ok())
    return status;
  auto socket =
      connectTo(address, std::min(deadline, Clock::now() + kPatience));
  if (!socket.ok())
    return socket.status();
  ControlChannel channel(*std::move(socket));
  ControlMessage hello;
  hello.kind = ControlKind::Hello;
  hello.rank = options.rank;
  hello.size = options.size;
  hello.version = kProtocol;
  hello.secret = secret;
  hello.host = options.host;
  hello.patience_ns = options.patience.count();
  hello.process = process;
  channel.queue(hello);
  if (absl::Status status = channel.flush(); !status.ok())
    return status;
  return awaitWelcome(std::move(channel));
}

absl::StatusOr<Joined> Guest::run() {
  while (true) {
    absl::StatusOr<Joined> joined = attempt();
    if (joined.ok() || isRefused)
      return joined;
    if (Clock::now() >= deadline)
      return absl::DeadlineExceededError(absl::StrCat(
          "rank ", options.rank, " waited ", durationToString(options.timeout),
          " for rank 0: ", joined.status().message()));
    next = (next + 1) % options.address.ports;
    if (next == 0)
      std::this_thread::sleep_for(
          std::exchange(retry, std::min(2 * retry, kLastRetry)));
  }
}

} // namespace

absl::StatusOr<Joined> joinRun(const JoinOptions &options) {
  return options.rank == 0 ? Host(options).run() : Guest(options).run();
}

} // namespace bagua::runtime
