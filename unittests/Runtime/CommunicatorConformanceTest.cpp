//===- CommunicatorConformanceTest.cpp - Right results on every backend ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every form of every collective against the reference, with guard zones round
// each buffer: bit by bit, or within rounding if the backend doesn't promise in
// which order it sums. All pairs of circumstances by default, all combinations
// with BAGUA_FULL_TESTS=1.
//
//===----------------------------------------------------------------------===//
#include "AnyOrder.h"
#include "CommunicatorBackends.h"
#include "PairCover.h"
#include "Reference.h"

#include "bagua/Support/Parts.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace bagua::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

enum class Form {
  AllReduce,
  ReduceScatter,
  ReduceToRoot,
  PushToServers,
  ReduceToSomeOwners,
  AllGather,
  Broadcast,
  PullFromServers,
  AllToAll,
  ExchangeRing,
  SendOn,
};
const char *const kFormNames[] = {
    "all_reduce",         "reduce_scatter", "reduce_to_root", "push",
    "reduce_some_owners", "all_gather",     "broadcast",      "pull",
    "all_to_all",         "exchange_ring",  "send_on"};

const DataType kTypes[] = {
    DataType::Float32, DataType::Float16, DataType::BFloat16, DataType::Float64,
    DataType::Int8,    DataType::Int32,   DataType::Int64};
const ReduceKind kKinds[] = {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Min,
                             ReduceKind::Max};
const int kRanks[] = {1, 2, 3, 4, 5, 7, 8, 16, 64};

/// Which ranks work in place.
enum class Place { Out, In, Mixed };
const char *const kPlaceNames[] = {"out of place", "in place", "mixed"};

/// Where buffers are: in any memory, in the world's, or in one and the other by
/// turns.
enum class Memory { Any, Worlds, Mixed };
const char *const kMemoryNames[] = {"any memory", "world's memory",
                                    "some in the world's memory"};

struct Case {
  Form form;
  DataType type;
  ReduceKind kind;
  int ranks;
  int64_t count;
  Place place;
  Memory memory;

  std::string name() const {
    return absl::StrCat(kFormNames[static_cast<int>(form)], " ",
                        std::string(dataTypeName(type)), " ",
                        std::string(reduceKindName(kind)), " of ", count,
                        " over ", ranks, " ranks, ",
                        kPlaceNames[static_cast<int>(place)], ", ",
                        kMemoryNames[static_cast<int>(memory)]);
  }

  bool isReduction() const { return form <= Form::ReduceToSomeOwners; }
  bool dependsOnOrder() const {
    return isReduction() && !isInteger(type) &&
           (kind == ReduceKind::Sum || kind == ReduceKind::Mean);
  }

  /// Dedicated servers are the last members, as in a cluster; of one member,
  /// that one is both.
  int servers() const { return std::max(1, ranks / 3); }
  int workers() const { return std::max(1, ranks - servers()); }

  /// Contributors of a reduction, receivers of a gathering.
  int endpoints() const {
    return form == Form::PushToServers || form == Form::PullFromServers
               ? workers()
               : ranks;
  }

  std::vector<int> owners() const {
    std::vector<int> all = firstMembers(ranks);
    switch (form) {
    case Form::ReduceToRoot:
    case Form::Broadcast:
      return {ranks / 2};
    case Form::PushToServers:
    case Form::PullFromServers:
      return std::vector<int>(all.end() - servers(), all.end());
    case Form::ReduceToSomeOwners:
      // Backwards and not all.
      std::reverse(all.begin(), all.end());
      all.resize(std::max(1, ranks - 1));
      return all;
    default:
      return all;
    }
  }

  bool isInPlace(int rank) const {
    return place == Place::In || (place == Place::Mixed && rank % 2 == 1);
  }
};

int64_t countOf(int choice, int ranks) {
  // Of the largest, parts go between hosts in more segments than are on their
  // way at once.
  const int64_t counts[] = {0,     1,         ranks - 1,
                            ranks, ranks + 1, 1000,
                            4097,  70001,     ranks <= 4 ? 500009 : 70001};
  return counts[choice];
}
constexpr int kCounts = 9;

std::vector<Case> casesOf(int ranks) {
  std::vector<int> choices = {static_cast<int>(std::size(kFormNames)),
                              static_cast<int>(std::size(kTypes)),
                              static_cast<int>(std::size(kKinds)),
                              static_cast<int>(std::size(kRanks)),
                              kCounts,
                              3,
                              3};
  const char *full = std::getenv("BAGUA_FULL_TESTS");
  bool isFull = full && std::string(full) == "1";
  std::vector<Case> cases;
  for (const auto &choice :
       isFull ? fullProduct(choices) : coverPairs(choices)) {
    Case next = {static_cast<Form>(choice[0]),
                 kTypes[choice[1]],
                 kKinds[choice[2]],
                 kRanks[choice[3]],
                 countOf(choice[4], kRanks[choice[3]]),
                 static_cast<Place>(choice[5]),
                 static_cast<Memory>(choice[6])};
    if (next.ranks != ranks)
      continue;
    // A block for each rank: memory would grow with the square of the ranks.
    if (next.form == Form::AllToAll)
      next.count = std::min<int64_t>(next.count, 100000 / ranks);
    // Refused; has a test of its own.
    if (isInteger(next.type) && next.kind == ReduceKind::Mean)
      next.kind = ReduceKind::Sum;
    cases.push_back(next);
  }
  return cases;
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// A buffer between two zones that must stay as they are, aligned to its
/// elements and to nothing more.
class GuardedBuffer {
public:
  /// In memory of `world`; null: in any.
  GuardedBuffer(size_t size, size_t alignment, World *world)
      : size(size), offset(kZone + alignment) {
    size_t whole = offset + size + kZone;
    if (world) {
      auto allocated = world->allocate(whole);
      EXPECT_TRUE(allocated.ok()) << allocated.status();
      memory = *std::move(allocated);
    } else {
      memory.reset(new std::byte[whole], std::default_delete<std::byte[]>());
    }
    std::fill_n(memory.get(), whole, kGuard);
  }
  GuardedBuffer(const Bytes &content, size_t alignment, World *world)
      : GuardedBuffer(content.size(), alignment, world) {
    std::copy(content.begin(), content.end(), data());
  }

  std::byte *data() { return memory.get() + offset; }

  Bytes content(size_t from, size_t length) const {
    const std::byte *begin = memory.get() + offset + from;
    return Bytes(begin, begin + length);
  }
  bool isIntact() const {
    auto isGuard = [](std::byte byte) { return byte == kGuard; };
    const std::byte *after = memory.get() + offset + size;
    return std::all_of(memory.get(), memory.get() + offset, isGuard) &&
           std::all_of(after, after + kZone, isGuard);
  }

private:
  static constexpr size_t kZone = 128;
  static constexpr std::byte kGuard{0xa5};

  size_t size;
  size_t offset;
  std::shared_ptr<std::byte> memory;
};

/// What all ranks have before and should have after.
struct Expectation {
  /// By member; of AllGather and the like, what an owner has.
  std::vector<Bytes> inputs;
  /// The whole combination, or the whole gathered tensor.
  Bytes whole;
};

Expectation expectationOf(const Case &test, std::mt19937_64 &random) {
  Expectation result;
  int64_t bytes = dataTypeBytes(test.type);
  if (test.isReduction()) {
    for (int rank = 0; rank < test.ranks; ++rank)
      result.inputs.push_back(randomElements(test.type, test.count, random));
    std::vector<Bytes> contributed(result.inputs.begin(),
                                   result.inputs.begin() + test.endpoints());
    result.whole = referenceReduce(test.type, test.kind, contributed);
    return result;
  }
  if (test.form >= Form::AllToAll) {
    int64_t blocks = test.form == Form::AllToAll ? test.ranks : 1;
    for (int rank = 0; rank < test.ranks; ++rank)
      result.inputs.push_back(
          randomElements(test.type, test.count * blocks, random));
    return result;
  }
  result.whole = randomElements(test.type, test.count, random);
  result.inputs.resize(test.ranks);
  std::vector<int> owners = test.owners();
  for (size_t i = 0; i < owners.size(); ++i) {
    ElementRange part = partRange(test.count, owners.size(), i);
    result.inputs[owners[i]] = Bytes(result.whole.begin() + part.begin * bytes,
                                     result.whole.begin() + part.end * bytes);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// One rank of one case
//===----------------------------------------------------------------------===//

class RankOfCase {
public:
  RankOfCase(const Case &test, const Expectation &expected, World &world,
             Communicator &communicator, const BackendTraits &traits)
      : test(test), expected(expected),
        isExact(!test.dependsOnOrder() ||
                (traits.sumsInMemberOrder && traits.sumsInAccumulationType)),
        world(world), communicator(communicator), rank(communicator.rank()),
        owners(test.owners()), bytes(dataTypeBytes(test.type)) {
    auto found = std::find(owners.begin(), owners.end(), rank);
    if (found != owners.end())
      part = partRange(test.count, owners.size(), found - owners.begin());
    isOwner = found != owners.end();
  }

  void run() {
    switch (test.form) {
    case Form::AllReduce:
      return allReduce();
    case Form::ReduceScatter:
    case Form::ReduceToRoot:
    case Form::PushToServers:
    case Form::ReduceToSomeOwners:
      return reduceToOwners();
    case Form::AllGather:
    case Form::Broadcast:
    case Form::PullFromServers:
      return gatherFromOwners();
    case Form::AllToAll:
      return allToAll();
    case Form::ExchangeRing:
      return exchangeRing();
    case Form::SendOn:
      return sendOn();
    }
  }

  /// The whole combination, as this member has it; empty if it has none.
  const Bytes &combined() const { return sum; }

private:
  /// What the next buffer is made of.
  World *memory() {
    bool isOdd = (rank + ++buffers) % 2 == 1;
    bool isWorlds = test.memory == Memory::Worlds ||
                    (test.memory == Memory::Mixed && isOdd);
    return isWorlds ? &world : nullptr;
  }
  void expectOk(const absl::Status &status) {
    EXPECT_TRUE(status.ok()) << test.name() << ": " << status;
  }
  void expectContent(const GuardedBuffer &buffer, const Bytes &content) {
    EXPECT_TRUE(buffer.content(0, content.size()) == content)
        << test.name() << ", rank " << rank;
    EXPECT_TRUE(buffer.isIntact()) << test.name() << ", rank " << rank;
  }
  /// Of a combination, whose first element is `begin` of the whole.
  void expectSum(const GuardedBuffer &buffer, const Bytes &content,
                 int64_t begin) {
    if (isExact)
      return expectContent(buffer, content);
    const std::vector<Bytes> contributed(
        expected.inputs.begin(), expected.inputs.begin() + test.endpoints());
    EXPECT_EQ(findNoSum(test.type, test.kind, contributed, begin,
                        buffer.content(0, content.size())),
              "")
        << test.name() << ", rank " << rank;
    EXPECT_TRUE(buffer.isIntact()) << test.name() << ", rank " << rank;
  }
  Bytes partOfWhole() const {
    return Bytes(expected.whole.begin() + part.begin * bytes,
                 expected.whole.begin() + part.end * bytes);
  }

  void allReduce() {
    GuardedBuffer input(expected.inputs[rank], bytes, memory());
    GuardedBuffer output(expected.whole.size(), bytes, memory());
    bool inPlace = test.isInPlace(rank);
    expectOk(communicator.allReduce(input.data(),
                                    inPlace ? input.data() : output.data(),
                                    test.count, test.type, test.kind));
    expectSum(inPlace ? input : output, expected.whole, 0);
    sum = (inPlace ? input : output).content(0, expected.whole.size());
    if (!inPlace)
      expectContent(input, expected.inputs[rank]);
  }

  void reduceToOwners() {
    bool hasInput = rank < test.endpoints();
    GuardedBuffer input(expected.inputs[rank], bytes, memory());
    GuardedBuffer output(part.size() * bytes, bytes, memory());
    bool inPlace = test.isInPlace(rank) && hasInput && isOwner;
    std::byte *own =
        inPlace ? input.data() + part.begin * bytes : output.data();
    expectOk(communicator.reduceToOwners(
        hasInput ? input.data() : nullptr, isOwner ? own : nullptr, test.count,
        test.type, test.kind, test.endpoints(), owners));
    // In place, only the part itself may have changed.
    Bytes after = expected.inputs[rank];
    Bytes result = partOfWhole();
    if (inPlace) {
      const Bytes found = input.content(part.begin * bytes, result.size());
      GuardedBuffer copy(found, bytes, nullptr);
      expectSum(copy, result, part.begin);
      std::copy(found.begin(), found.end(), after.begin() + part.begin * bytes);
    }
    expectContent(input, after);
    if (!inPlace && isOwner)
      expectSum(output, result, part.begin);
  }

  void gatherFromOwners() {
    bool hasOutput = rank < test.endpoints();
    GuardedBuffer input(expected.inputs[rank], bytes, memory());
    GuardedBuffer output(expected.whole.size(), bytes, memory());
    bool inPlace = test.isInPlace(rank) && hasOutput && isOwner;
    std::byte *own =
        inPlace ? output.data() + part.begin * bytes : input.data();
    if (inPlace)
      std::copy_n(input.data(), part.size() * bytes, own);
    expectOk(communicator.gatherFromOwners(
        isOwner ? own : nullptr, hasOutput ? output.data() : nullptr,
        test.count, test.type, test.endpoints(), owners));
    expectContent(input, expected.inputs[rank]);
    if (hasOutput)
      expectContent(output, expected.whole);
  }

  void allToAll() {
    int64_t block = test.count * bytes;
    GuardedBuffer input(expected.inputs[rank], bytes, memory());
    GuardedBuffer output(block * test.ranks, bytes, memory());
    expectOk(communicator.allToAll(input.data(), output.data(), block));
    Bytes result;
    for (const Bytes &from : expected.inputs)
      result.insert(result.end(), from.begin() + rank * block,
                    from.begin() + (rank + 1) * block);
    expectContent(output, result);
    expectContent(input, expected.inputs[rank]);
  }

  // Both neighbours: for one rank both are itself, for two both the other.
  void exchangeRing() {
    int left = (rank + test.ranks - 1) % test.ranks;
    int right = (rank + 1) % test.ranks;
    GuardedBuffer input(expected.inputs[rank], bytes, memory());
    GuardedBuffer fromLeft(expected.inputs[left].size(), bytes, memory());
    GuardedBuffer fromRight(expected.inputs[right].size(), bytes, memory());
    const int peers[] = {left, right};
    void *const outputs[] = {fromLeft.data(), fromRight.data()};
    expectOk(communicator.exchange(input.data(), test.count * bytes, peers,
                                   peers, outputs));
    expectContent(fromLeft, expected.inputs[left]);
    expectContent(fromRight, expected.inputs[right]);
    expectContent(input, expected.inputs[rank]);
  }

  // One way, as in a pipeline: the last sends to nobody and has no input, the
  // first expects nothing.
  void sendOn() {
    bool sends = rank + 1 < test.ranks, expects = rank > 0;
    GuardedBuffer input(expected.inputs[rank], bytes, memory());
    GuardedBuffer output(expected.inputs[rank].size(), bytes, memory());
    std::vector<int> destinations, sources;
    std::vector<void *> outputs;
    if (sends)
      destinations.push_back(rank + 1);
    if (expects) {
      sources.push_back(rank - 1);
      outputs.push_back(output.data());
    }
    expectOk(communicator.exchange(sends ? input.data() : nullptr,
                                   test.count * bytes, destinations, sources,
                                   outputs));
    if (expects)
      expectContent(output, expected.inputs[rank - 1]);
    EXPECT_TRUE(output.isIntact()) << test.name() << ", rank " << rank;
    expectContent(input, expected.inputs[rank]);
  }

  const Case &test;
  const Expectation &expected;
  /// Whether results have the bits of the reference.
  const bool isExact;
  World &world;
  Communicator &communicator;
  const int rank;
  const std::vector<int> owners;
  const int64_t bytes;
  bool isOwner = false;
  ElementRange part;
  int buffers = 0;
  Bytes sum;
};

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

class CommunicatorConformanceTest
    : public testing::TestWithParam<std::tuple<TestBackend, int>> {
protected:
  Worlds createWorlds(int size) {
    return std::get<0>(GetParam()).createWorlds(size, kLongTime);
  }
  int ranks() { return std::get<1>(GetParam()); }
};

/// Of the test's own: processes that share memory do so at addresses at which
/// ThreadSanitizer sees no connection.
class Meeting {
public:
  explicit Meeting(int threads) : threads(threads) {}
  void await() {
    std::unique_lock<std::mutex> lock(mutex);
    int64_t end = (count / threads + 1) * threads;
    if (++count == end)
      complete.notify_all();
    complete.wait(lock, [&] { return count >= end; });
  }

private:
  const int threads;
  std::mutex mutex;
  std::condition_variable complete;
  int64_t count = 0;
};

TEST_P(CommunicatorConformanceTest, results_equal_the_reference) {
  Worlds worlds = createWorlds(ranks());
  Meeting meeting(ranks());
  std::vector<Case> cases = casesOf(ranks());
  ASSERT_FALSE(cases.empty());
  std::mt19937_64 random(7);
  Expectation expected;
  std::vector<Bytes> combined(ranks());
  onEachRank(ranks(), [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    for (const Case &test : cases) {
      if (rank == 0)
        expected = expectationOf(test, random);
      meeting.await();
      RankOfCase own(test, expected, *worlds[rank], *communicator,
                     std::get<0>(GetParam()).traits);
      own.run();
      combined[rank] = own.combined();
      meeting.await();
      // The same bits everywhere, in whatever order they were summed.
      EXPECT_TRUE(combined[rank] == combined[0]) << test.name();
    }
  });
}

// Buffers of one call are written again at once after it: a member that were
// still reading would make another member's sum wrong.
TEST_P(CommunicatorConformanceTest, calls_back_to_back_do_not_mix) {
  Worlds worlds = createWorlds(ranks());
  const int rounds = 50;
  onEachRank(ranks(), [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    for (int64_t count : {64, 30000}) {
      std::vector<int32_t> data(count), sum(count);
      for (int round = 0; round < rounds; ++round) {
        std::fill(data.begin(), data.end(), round * (rank + 1));
        ASSERT_TRUE(communicator
                        ->allReduce(data.data(), sum.data(), count,
                                    DataType::Int32, ReduceKind::Sum)
                        .ok());
        int32_t total = round * ranks() * (ranks() + 1) / 2;
        ASSERT_EQ(std::count(sum.begin(), sum.end(), total), count);
      }
    }
  });
}

// A barrier is left by nobody before all have come.
TEST_P(CommunicatorConformanceTest, barrier_waits_for_all) {
  Worlds worlds = createWorlds(ranks());
  std::atomic<int> arrived{0};
  onEachRank(ranks(), [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      ASSERT_TRUE(communicator->barrier().ok());
      EXPECT_GE(arrived, round * ranks());
      ASSERT_TRUE(communicator->barrier().ok());
    }
  });
}

std::string
nameOf(const testing::TestParamInfo<CommunicatorConformanceTest::ParamType>
           &info) {
  return absl::StrCat(std::get<0>(info.param).name, "_",
                      std::get<1>(info.param), "_ranks");
}

std::vector<std::tuple<TestBackend, int>> backendsAndRanks() {
  std::vector<std::tuple<TestBackend, int>> all;
  for (const TestBackend &backend : testBackends())
    for (int ranks : kRanks)
      if (ranks <= backend.mostRanks)
        all.emplace_back(backend, ranks);
  return all;
}

INSTANTIATE_TEST_SUITE_P(, CommunicatorConformanceTest,
                         testing::ValuesIn(backendsAndRanks()), nameOf);

} // namespace
} // namespace bagua::runtime
