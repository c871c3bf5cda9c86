//===- ControlFuzzTest.cpp - Whatever may be said to a rank ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The control plane and the meeting before it, spoken to by somebody hostile,
// in both directions: as a guest to rank 0, and in rank 0's place to a guest.
// Seeds are fixed; a tenth of what BAGUA_FULL_TESTS=1 sends is always sent.
//
// What is sent begins as messages that the protocol has, in any order, whose
// fields are drawn from what is right and what is not (Generator::message), and
// goes through faults of a wire (Generator::damage):
//   fields  any kind for either direction, and kinds that there are not; ranks,
//           codes, sizes, versions and places of errors at and beyond the ends
//           of their ranges; texts, keys, names, secrets and proofs that are
//           empty, long, or no text; too few, too many and wrong hosts
//   wire    flipped bytes, a message cut short, bytes behind it, a length that
//           lies, a message twice, pieces of any size, bytes at random
//
// What must hold is said by what a rank does with it: nothing is out of range
// by the time that the run's state hears it (which the sanitizers see), an
// error that is heard is one, others go on, and everything comes to an end.
//
//===----------------------------------------------------------------------===//
#include "Communication/Control/CheckMessage.h"
#include "Communication/Control/ControlPlane.h"
#include "Communication/Memory/RunState.h"
#include "Communication/Rendezvous/MeetingMessages.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "gtest/gtest.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <thread>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;
using fb::ControlKind;

constexpr int kSize = 4;
/// Longer than any machine takes.
constexpr std::chrono::seconds kLong(120);

/// Messages of all directions together: 10^6 in the full run.
int64_t messagesPerDirection() {
  return std::getenv("BAGUA_FULL_TESTS") ? 250'000 : 10'000;
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  unsigned below(unsigned end) { return random() % end; }
  bool oneIn(unsigned n) { return below(n) == 0; }

  /// Mostly right, for a rank of `kSize`.
  int64_t number() {
    constexpr int64_t kEnds[] = {-1,        kSize,     kSize + 1, 16,
                                 17,        1000000,   INT_MIN,   INT_MAX,
                                 -70000000, INT64_MIN, INT64_MAX};
    return oneIn(3) ? kEnds[below(std::size(kEnds))] : below(kSize);
  }
  std::string text() {
    constexpr size_t kLengths[] = {
        0, 1, 32, 200, kMostKey, kMostText, kMostText + 1, 900'000};
    // Long ones seldom: they take long.
    std::string result(kLengths[below(oneIn(50) ? 8 : 4)], 'x');
    if (oneIn(4))
      for (char &byte : result)
        byte = static_cast<char>(random());
    return result;
  }
  ControlKind kind() {
    return static_cast<ControlKind>(oneIn(10) ? below(256) : below(12));
  }

  /// What `speaker` might say, and what nobody should.
  ControlMessage message(int speaker) {
    ControlMessage result;
    result.kind = kind();
    result.rank = oneIn(2) ? speaker : static_cast<int>(number());
    result.code = static_cast<int>(number());
    if (oneIn(2)) {
      result.at_rank = number();
      result.at_tensor = number();
      result.at_instruction = number();
      result.at_step = number();
    }
    result.size = oneIn(2) ? kSize : static_cast<int>(number());
    result.version = oneIn(2) ? kProtocol : static_cast<int>(number());
    result.process = random();
    result.patience_ns = oneIn(2) ? 10'000'000'000 : number();
    result.text = text();
    result.key = oneIn(2) ? "key" : text();
    result.host = oneIn(2) ? "a" : text();
    result.secret = oneIn(2) ? std::string(32, 'a') : text();
    result.proof = text();
    for (unsigned i = oneIn(2) ? kSize : below(7); i > 0; --i)
      result.hosts.push_back(oneIn(2) ? 0 : static_cast<int>(number()));
    return result;
  }

  std::string encode(const ControlMessage &message) {
    flatbuffers::FlatBufferBuilder builder;
    builder.FinishSizePrefixed(fb::ControlMessage::Pack(builder, &message));
    return {reinterpret_cast<const char *>(builder.GetBufferPointer()),
            builder.GetSize()};
  }

  /// One message in two stays as it is.
  void damage(std::string &bytes) {
    switch (below(16)) {
    case 0:
    case 1:
      for (unsigned i = 1 + below(4); i > 0; --i)
        bytes[below(bytes.size())] = static_cast<char>(random());
      break;
    case 2:
      bytes.resize(below(bytes.size()));
      break;
    case 3:
      bytes.append(1 + below(40), static_cast<char>(random()));
      break;
    case 4: {
      constexpr uint32_t kLengths[] = {0,         1, 4, 1 << 20, (1 << 20) + 1,
                                       UINT32_MAX};
      flatbuffers::WriteScalar(bytes.data(), kLengths[below(6)]);
      break;
    }
    case 5:
      bytes += bytes;
      break;
    case 6:
      for (char &byte : bytes)
        byte = static_cast<char>(random());
      break;
    case 7:
      for (size_t at = 4; at + 4 <= bytes.size(); at += 4)
        if (oneIn(16))
          flatbuffers::WriteScalar(bytes.data() + at,
                                   static_cast<uint32_t>(random()));
      break;
    default:
      break;
    }
  }

private:
  std::mt19937_64 random;
};

/// All of it, in pieces of any size, to somebody who reads or goes. False: he
/// has gone, or reads no more.
bool sendAll(int socket, Generator &generator, const std::string &bytes) {
  constexpr int kUntilItReads = 100; // milliseconds
  for (size_t at = 0; at < bytes.size();) {
    const size_t rest = bytes.size() - at;
    const size_t piece = generator.oneIn(4)
                             ? std::min<size_t>(rest, 1 + generator.below(64))
                             : rest;
    const ssize_t sent =
        send(socket, bytes.data() + at, piece, MSG_NOSIGNAL | MSG_DONTWAIT);
    pollfd entry = {socket, POLLOUT, 0};
    if (sent < 0 && (errno != EAGAIN || poll(&entry, 1, kUntilItReads) <= 0))
      return false;
    at += static_cast<size_t>(std::max<ssize_t>(sent, 0));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Ranks that have met
//===----------------------------------------------------------------------===//

/// A rank's state, which hears what its control plane lets through.
struct Rank : std::enable_shared_from_this<Rank> {
  explicit Rank(int ownRank) : own(ownRank) {}

  void start(std::vector<ControlChannel> channels) {
    auto self = shared_from_this(); // the plane's thread may outlive a test
    ControlEvents events;
    events.onAbort = [self](const absl::Status &why) {
      EXPECT_FALSE(why.ok());
      EXPECT_LE(static_cast<int>(why.code()), 16);
      EXPECT_LE(why.message().size(), kMostText);
      EXPECT_LT(errorPlaceOf(why).value_or(ErrorPlace()).rank, kSize);
      self->state.abortFromAfar(why);
      self->hasEnded = true;
    };
    events.onNote = [self](int rank, const std::string &what) {
      self->state.note(rank, what);
      if (what == "last")
        self->hasHeardLast = true;
    };
    events.onLeave = [self](int rank) { self->state.leave(rank); };
    events.onLoss = [self](int rank, const absl::Status &why) {
      self->state.lose(rank, why);
      self->hasEnded = true;
    };
    plane =
        std::make_shared<ControlPlane>(own, kSize, std::move(channels), kLong);
    ASSERT_TRUE(plane->start(std::move(events)).ok());
  }
  void retire() {
    plane->retire();
    plane.reset();
  }

  const int own;
  RunState state{kSize, 1, kLong};
  std::atomic<bool> hasEnded{false};
  std::atomic<bool> hasHeardLast{false};
  std::shared_ptr<ControlPlane> plane;
};

void await(const std::atomic<bool> &what) {
  const auto limit = std::chrono::steady_clock::now() + kLong;
  while (!what && std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
  EXPECT_TRUE(what);
}

ControlChannel connectedTo(Descriptor &other) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  other = Descriptor(ends[1]);
  return ControlChannel(Descriptor(ends[0]));
}

/// Messages from `speaker` until the other side has had enough of him; how many
/// there were.
int64_t talk(int socket, Generator &generator, int speaker) {
  int64_t count = 0;
  for (unsigned left = 1 + generator.below(30); left > 0; --left) {
    std::string bytes = generator.encode(generator.message(speaker));
    generator.damage(bytes);
    ++count;
    if (!sendAll(socket, generator, bytes))
      break;
  }
  return count;
}

/// Runs `session(seed)`, which returns how many messages it has sent, until
/// there were enough.
void sendEnough(const std::function<int64_t(uint64_t)> &session,
                int threadCount = 4) {
  std::atomic<int64_t> sent{0};
  std::atomic<uint64_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < threadCount; ++i)
    threads.emplace_back([&] {
      while (sent < messagesPerDirection() && !testing::Test::HasFailure())
        sent += session(next++);
    });
  for (std::thread &thread : threads)
    thread.join();
  testing::Test::RecordProperty("messages", std::to_string(sent));
}

// A guest says anything; rank 0 and another guest hear of each other still.
TEST(ControlFuzzTest, guests_to_rank_0) {
  sendEnough([](uint64_t seed) {
    SCOPED_TRACE(seed);
    Generator generator(seed);
    auto hub = std::make_shared<Rank>(0), bystander = std::make_shared<Rank>(2);
    // The third reads nothing.
    Descriptor hostile, honest, silent;
    std::vector<ControlChannel> channels(kSize);
    channels[1] = connectedTo(hostile);
    channels[2] = connectedTo(honest);
    channels[3] = connectedTo(silent);
    hub->start(std::move(channels));
    channels.clear();
    channels.emplace_back(std::move(honest));
    bystander->start(std::move(channels));
    const int64_t count = talk(hostile.number(), generator, 1);
    hostile.reset();
    bystander->plane->note("last");
    await(hub->hasHeardLast);
    hub->plane->note("last");
    await(bystander->hasHeardLast);
    silent.reset();
    bystander->retire();
    hub->retire();
    return count;
  });
}

// Somebody in rank 0's place says anything, and goes: for a guest that ends the
// run, whatever it was, or it was a goodbye, and nothing is to be had of rank 0
// any more.
TEST(ControlFuzzTest, rank_0_to_guests) {
  sendEnough([](uint64_t seed) {
    SCOPED_TRACE(seed);
    Generator generator(seed);
    auto guest = std::make_shared<Rank>(1);
    Descriptor hostile;
    std::vector<ControlChannel> channels;
    channels.push_back(connectedTo(hostile));
    guest->start(std::move(channels));
    const int64_t count = talk(hostile.number(), generator, 0);
    hostile.reset();
    constexpr auto kOften = std::chrono::milliseconds(20);
    const auto soon = std::chrono::steady_clock::now() + kOften;
    while (!guest->hasEnded && std::chrono::steady_clock::now() < soon)
      std::this_thread::yield();
    if (!guest->hasEnded) {
      const absl::Status asked =
          guest->plane
              ->claim("asked by the guest", "", kLong,
                      [&] { return guest->hasEnded.load(); })
              .status();
      EXPECT_TRUE(absl::IsCancelled(asked) || absl::IsUnavailable(asked))
          << asked;
    }
    guest->retire();
    return count;
  });
}

//===----------------------------------------------------------------------===//
// Ranks that meet
//===----------------------------------------------------------------------===//

constexpr char kRun[] = "fuzzed";

JoinOptions optionsOf(int rank, int port) {
  JoinOptions options;
  options.rank = rank;
  options.size = kSize;
  options.host = "a";
  options.address = {"127.0.0.1", port};
  options.run = kRun;
  options.timeout = kLong;
  return options;
}

/// One that knows the run's name or doesn't, and says it with anything.
ControlMessage anyHello(Generator &generator) {
  JoinOptions options = optionsOf(1 + generator.below(kSize - 1), 0);
  if (generator.oneIn(4))
    options.rank = static_cast<int>(generator.number());
  if (generator.oneIn(4))
    options.size = static_cast<int>(generator.number());
  if (generator.oneIn(4))
    options.host = generator.text();
  if (generator.oneIn(8))
    options.patience = std::chrono::nanoseconds(generator.number());
  ControlMessage hello =
      helloOf(options, generator.below(3), generator.oneIn(3) ? "no" : kRun);
  if (generator.oneIn(8))
    hello.version = static_cast<int>(generator.number());
  return hello;
}

// Rank 0 lets in who is right, says what is wrong with others that know the
// run, and comes to an end.
TEST(ControlFuzzTest, guests_that_meet_rank_0) {
  sendEnough([](uint64_t seed) -> int64_t {
    SCOPED_TRACE(seed);
    Generator generator(seed);
    auto probe = listenOn({"127.0.0.1", 0});
    if (!probe.ok())
      return 0;
    const int port = addressOf(probe->number())->port;
    probe->reset();
    std::atomic<bool> isOver{false};
    absl::Status end;
    std::thread host([&] {
      auto joined = joinRun(optionsOf(0, port));
      if (joined.ok()) {
        EXPECT_EQ(joined->hosts.size(), size_t{kSize});
        EXPECT_EQ(joined->channels.size(), size_t{kSize});
      }
      end = joined.status();
      isOver = true;
    });
    int64_t count = 0;
    std::vector<Descriptor> open;
    while (!isOver) {
      auto socket =
          connectTo({"127.0.0.1", port}, std::chrono::steady_clock::now() + 5s);
      if (!socket.ok())
        continue; // not yet, or no longer
      std::string bytes = generator.encode(
          generator.oneIn(3) ? generator.message(1) : anyHello(generator));
      generator.damage(bytes);
      count += sendAll(socket->number(), generator, bytes) ? 1 : 0;
      if (generator.oneIn(2))
        open.push_back(*std::move(socket));
      if (open.size() > 20)
        open.erase(open.begin(), open.begin() + 10);
    }
    host.join();
    EXPECT_TRUE(end.ok() || absl::IsInvalidArgument(end) ||
                absl::IsUnavailable(end))
        << end;
    return count;
  });
}

/// To a process that has said `hello`: anything, with a proof or without.
ControlMessage anyAnswer(Generator &generator, const ControlMessage &hello) {
  ControlMessage result = generator.message(0);
  if (generator.oneIn(2))
    result.kind = ControlKind::Heartbeat;
  if (!generator.oneIn(8))
    result.proof = proofFor(hello, kRun);
  return result;
}

/// Until the guest has had enough, or has heard a refusal that is one.
int64_t answer(Descriptor socket, Generator &generator, bool isLast) {
  ControlChannel channel(Descriptor(dup(socket.number())));
  std::optional<ControlMessage> hello;
  while (!hello) {
    awaitReadable(socket.number(), std::chrono::steady_clock::now() + kLong);
    absl::Status read = channel.fill();
    auto next = channel.next();
    if (!next.ok())
      return 0;
    hello = *std::move(next);
    if (!read.ok() && !hello)
      return 0;
  }
  fcntl(socket.number(), F_SETFL, 0); // shared with the channel
  int64_t count = 0;
  for (unsigned left = 1 + generator.below(30); left > 0 && !isLast; --left) {
    std::string bytes = generator.encode(anyAnswer(generator, *hello));
    generator.damage(bytes);
    ++count;
    if (!sendAll(socket.number(), generator, bytes))
      return count;
  }
  if (isLast) {
    ControlMessage refusal = refusalOf(absl::DataLossError("enough"));
    refusal.proof = proofFor(*hello, kRun);
    sendAll(socket.number(), generator, generator.encode(refusal));
    ++count;
  }
  return count;
}

// In rank 0's place: a guest believes only what can be, and goes on otherwise.
TEST(ControlFuzzTest, rank_0_that_meets_guests) {
  sendEnough(
      [](uint64_t seed) -> int64_t {
        SCOPED_TRACE(seed);
        Generator generator(seed);
        auto listener = listenOn({"127.0.0.1", 0});
        if (!listener.ok())
          return 0;
        std::atomic<bool> isOver{false};
        std::thread guest([&, port = addressOf(listener->number())->port] {
          auto joined = joinRun(optionsOf(1, port));
          if (joined.ok()) {
            EXPECT_EQ(joined->hosts.size(), size_t{kSize});
            for (int host : joined->hosts)
              EXPECT_TRUE(host >= 0 && host < kSize) << host;
            EXPECT_EQ(joined->secret.size(), 32u);
            EXPECT_LE(joined->reachedAt.size(), kMostName);
          } else {
            // Never by its own limit.
            EXPECT_EQ(joined.status().message().find("rank 1 waited"),
                      std::string::npos)
                << joined.status();
            EXPECT_LE(joined.status().message().size(), kMostText + 1000);
          }
          isOver = true;
        });
        int64_t count = 0;
        for (int come = 0; !isOver;) {
          if (!awaitReadable(listener->number(),
                             std::chrono::steady_clock::now() + 10ms))
            continue;
          auto socket = acceptFrom(*listener);
          if (socket.ok() && *socket)
            count += answer(*std::move(socket), generator, ++come > 4);
        }
        guest.join();
        return count;
      },
      /*threadCount=*/16); // who is answered wrongly waits
}

} // namespace
} // namespace bagua::runtime
