//===- PartMoverTest.cpp - Parts of tensors in every order of arrival -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PartMover by itself, between members in memory whose messages arrive in an
// order that the test chooses: each one that is possible where messages are
// few, else one by chance. Results are those of a reference that combines whole
// inputs in member order, bit for bit.
//
// The cases: hosts of unequal sizes; counts below, at and beside multiples of
// the number of members, of one segment and of several; owners that are all
// members, some of them and in any order; contributors and receivers that are
// the first members of the group; inputs in the place of outputs.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/PartMover.h"

#include "Communication/Transport/MemoryNetwork.h"
#include "CommunicatorBackends.h"
#include "Kernels/ReduceKernels.h"
#include "Reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace bagua::runtime {
namespace {

struct Case {
  /// By member.
  std::vector<int> hosts;
  CollectiveOp op = CollectiveOp::AllReduce;
  DataType type = DataType::Float32;
  ReduceKind kind = ReduceKind::Sum;
  int64_t count = 0;
  /// Of reduce_to_owners and gather_from_owners.
  std::vector<int> owners = {};
  int endpoints = 0;
  bool isInPlace = false;

  int size() const { return static_cast<int>(hosts.size()); }
};

std::ostream &operator<<(std::ostream &out, const Case &of) {
  out << collectiveOpName(of.op) << " of " << of.count << " "
      << dataTypeName(of.type) << ", " << reduceKindName(of.kind) << ", hosts";
  for (int host : of.hosts)
    out << " " << host;
  out << ", owners";
  for (int owner : of.owners)
    out << " " << owner;
  return out << ", endpoints " << of.endpoints
             << (of.isInPlace ? ", in place" : "");
}

/// What a member of the group has: as HostCommunicator keeps it.
struct Member {
  Member(const Case &of, int self, Network &network,
         const std::shared_ptr<RunState> &state, Alarm &alarm)
      : layout(of.hosts, self), memory(CallTable::bytesFor(1, of.size()) / 64),
        table(memory[0].bytes, 1, of.size()) {
    group.name = "parts";
    for (int member = 0; member < of.size(); ++member)
      group.members.push_back(member);
    group.hosts = of.hosts;
    group.self = self;
    group.transport =
        *network.open(self, of.size(), layout.peers(), "of the run", kLongTime);
    options.timeout = kLongTime;
    waits = std::make_unique<PeerWaits>(group, state, alarm, options);
    parts = std::make_unique<PartMover>(layout, *group.transport, *waits);
    CollectiveCall &call = table[0];
    call.reset(of.op);
    call.type = of.type;
    call.kind = of.kind;
    call.count = of.count;
    call.endpoints = of.endpoints;
    call.setLists(of.owners, {}, of.size());
    buffers.inputs.resize(of.hosts.size());
    buffers.outputs.resize(of.hosts.size());
    firsts.resize(of.hosts.size());
  }

  struct alignas(64) Line {
    std::byte bytes[64] = {};
  };
  HostGroup group;
  HostLayout layout;
  CommunicatorOptions options;
  std::vector<Line> memory;
  CallTable table;
  std::unique_ptr<PeerWaits> waits;
  std::unique_ptr<PartMover> parts;
  NeighbourBuffers buffers;
  /// By member: copies of what came with its call.
  std::vector<Bytes> firsts;
};

constexpr std::byte kUntouched{0x5a};

/// By member.
struct Data {
  std::vector<Bytes> inputs;
  std::vector<Bytes> outputs;
};

Data makeData(const Case &of, unsigned seed) {
  std::mt19937_64 random(seed);
  Data data;
  for (int member = 0; member < of.size(); ++member) {
    int64_t count = of.count;
    // An owner gives its part alone.
    if (of.op == CollectiveOp::GatherFromOwners) {
      const auto place = std::find(of.owners.begin(), of.owners.end(), member);
      count = place == of.owners.end()
                  ? 0
                  : partRange(of.count, static_cast<int64_t>(of.owners.size()),
                              place - of.owners.begin())
                        .size();
    }
    data.inputs.push_back(randomElements(of.type, count, random));
    data.outputs.emplace_back(
        static_cast<size_t>(of.count * dataTypeBytes(of.type)), kUntouched);
  }
  return data;
}

/// What outputs are to be, from the inputs of all.
std::vector<Bytes> expected(const Case &of, const Data &data) {
  const auto owners = static_cast<int64_t>(of.owners.size());
  const int64_t bytes = dataTypeBytes(of.type);
  std::vector<Bytes> outputs = data.outputs;
  if (of.op == CollectiveOp::GatherFromOwners) {
    Bytes whole;
    for (int owner : of.owners)
      whole.insert(whole.end(), data.inputs[owner].begin(),
                   data.inputs[owner].end());
    std::fill_n(outputs.begin(), of.endpoints, whole);
    return outputs;
  }
  std::vector<Bytes> inputs = data.inputs;
  if (of.op == CollectiveOp::ReduceToOwners)
    inputs.resize(of.endpoints);
  const Bytes whole = referenceReduce(of.type, of.kind, inputs);
  if (of.op == CollectiveOp::AllReduce)
    return std::vector<Bytes>(of.hosts.size(), whole);
  for (int64_t i = 0; i < owners; ++i) {
    const ElementRange range = partRange(of.count, owners, i);
    std::copy(whole.begin() + range.begin * bytes,
              whole.begin() + range.end * bytes, outputs[of.owners[i]].begin());
  }
  return outputs;
}

/// All members' calls, at once.
void move(const Case &of, Data &data, ChooseArrival choose) {
  auto network = createMemoryNetwork(std::move(choose));
  auto state = std::make_shared<RunState>(of.size(), of.size(), kLongTime);
  Alarm alarm;
  std::vector<std::unique_ptr<Member>> members;
  for (int self = 0; self < of.size(); ++self)
    members.push_back(
        std::make_unique<Member>(of, self, *network, state, alarm));
  for (auto &member : members) {
    for (int neighbour : member->layout.neighbours()) {
      member->buffers.inputs[neighbour] = of.isInPlace
                                              ? data.outputs[neighbour].data()
                                              : data.inputs[neighbour].data();
      member->buffers.outputs[neighbour] = data.outputs[neighbour].data();
    }
    member->parts->begin(member->table[0], member->buffers);
  }
  for (int self = 0; self < of.size(); ++self)
    for (int peer : members[self]->layout.peers()) {
      const auto first = members[self]->parts->firstFor(peer);
      members[peer]->firsts[self].assign(first.begin(), first.end());
    }
  // Pairs connect in the order of their members: nobody waits in a circle.
  onEachRank(of.size(), [&](int self) {
    Transport &transport = *members[self]->group.transport;
    for (int peer : members[self]->layout.peers())
      EXPECT_TRUE(
          transport.connect(peer, members[peer]->group.transport->address(self))
              .ok());
  });
  onEachRank(of.size(), [&](int self) {
    Member &member = *members[self];
    std::vector<const std::byte *> firsts;
    for (const Bytes &first : member.firsts)
      firsts.push_back(first.data());
    member.waits->begin("a call");
    member.waits->beginMoving();
    absl::Status status = member.parts->exchange(firsts);
    EXPECT_TRUE(status.ok()) << status;
    status = member.waits->awaitSent();
    EXPECT_TRUE(status.ok()) << status;
    member.waits->end();
    member.group.transport->close();
  });
  for (auto &member : members)
    member->parts->takeFromNeighbours();
}

void expectMoved(const Case &of, unsigned seed, ChooseArrival choose) {
  Data data = makeData(of, seed);
  const std::vector<Bytes> outputs = expected(of, data);
  if (of.isInPlace)
    data.outputs = data.inputs;
  move(of, data, std::move(choose));
  for (int member = 0; member < of.size(); ++member)
    EXPECT_TRUE(data.outputs[member] == outputs[member])
        << "member " << member << ": " << of;
}

/// Goes through all orders of arrival, each once.
class Orders {
public:
  ChooseArrival begin() {
    place = 0;
    return [this](absl::Span<const Arrival> ready) {
      if (place == choices.size())
        choices.push_back({0, ready.size()});
      EXPECT_EQ(choices[place].of, ready.size()) << "not the same again";
      return choices[place++].chosen;
    };
  }
  /// Whether there is another one.
  bool next() {
    EXPECT_EQ(place, choices.size());
    while (!choices.empty() && choices.back().chosen + 1 == choices.back().of)
      choices.pop_back();
    if (choices.empty())
      return false;
    ++choices.back().chosen;
    return true;
  }

private:
  struct Choice {
    size_t chosen;
    size_t of;
  };
  std::vector<Choice> choices;
  size_t place = 0;
};

/// How many there are.
int expectMovedInAllOrders(const Case &of) {
  Orders orders;
  int count = 0;
  do
    expectMoved(of, 7, orders.begin());
  while (++count, !testing::Test::HasFailure() && orders.next());
  return count;
}

/// 1+3, 2+2+1, 4+1+1 and groups whose hosts come by turns.
const std::vector<int> kHosts[] = {
    {0, 1, 1, 1}, {0, 0, 1, 1, 2}, {0, 0, 0, 0, 1, 2}, {0, 1, 0, 2, 1, 0}};

} // namespace

TEST(PartMoverTest, few_messages_in_every_order) {
  // One result, which goes to the other host.
  EXPECT_EQ(expectMovedInAllOrders({.hosts = {0, 1, 1, 1}, .count = 1}), 1);
  // Four results, which nothing keeps in an order.
  EXPECT_EQ(expectMovedInAllOrders({.hosts = {0, 1, 1, 1}, .count = 4}), 24);
  EXPECT_EQ(expectMovedInAllOrders({.hosts = {0, 0, 1, 1, 2}, .count = 2}), 24);
  // Each way one contribution, the result of the first segment, and after both
  // that of the second one: 2 * 2 orders of either three, in 20 of six.
  EXPECT_EQ(expectMovedInAllOrders({.hosts = {0, 1}, .count = 2 * 9000}), 80);
  // Four contributions to second segments.
  EXPECT_EQ(expectMovedInAllOrders({.hosts = {0, 1, 1},
                                    .op = CollectiveOp::ReduceToOwners,
                                    .count = 3 * 9000,
                                    .owners = {2, 0, 1},
                                    .endpoints = 3}),
            24);
  // Of member 4 to two hosts, of member 1 to the one that receives besides.
  EXPECT_EQ(expectMovedInAllOrders({.hosts = {0, 0, 1, 1, 2},
                                    .op = CollectiveOp::GatherFromOwners,
                                    .count = 7,
                                    .owners = {4, 1},
                                    .endpoints = 3}),
            6);
}

namespace {

/// All but what one element type has.
std::vector<Case> casesOf(const std::vector<int> &hosts, DataType type,
                          std::mt19937 &random) {
  const auto size = static_cast<int64_t>(hosts.size());
  // Elements of a part in one segment, at most.
  const int64_t segment = PartMover::kFirstBytes / dataTypeBytes(type);
  std::vector<Case> cases;
  for (int64_t count : {int64_t{1}, size - 1, size, size + 1, 3 * size,
                        3 * size + 2, size * segment, 2 * size * segment + 5})
    for (CollectiveOp op :
         {CollectiveOp::AllReduce, CollectiveOp::ReduceToOwners,
          CollectiveOp::GatherFromOwners}) {
      Case of = {.hosts = hosts, .op = op, .type = type, .count = count};
      do
        of.kind = static_cast<ReduceKind>(random() % kReduceKindCount);
      while (!isReducible(type, of.kind));
      of.isInPlace = op == CollectiveOp::AllReduce && random() % 2 == 0;
      if (op != CollectiveOp::AllReduce) {
        of.owners.resize(hosts.size());
        std::iota(of.owners.begin(), of.owners.end(), 0);
        std::shuffle(of.owners.begin(), of.owners.end(), random);
        of.owners.resize(1 + random() % hosts.size());
        of.endpoints = static_cast<int>(1 + random() % hosts.size());
      }
      cases.push_back(std::move(of));
    }
  return cases;
}

} // namespace

TEST(PartMoverTest, many_messages_in_orders_by_chance) {
  std::mt19937 random(3);
  for (const std::vector<int> &hosts : kHosts)
    for (int type = 0; type < kDataTypeCount; ++type)
      for (const Case &of :
           casesOf(hosts, static_cast<DataType>(type), random)) {
        expectMoved(of, random(), [&](absl::Span<const Arrival> ready) {
          return random() % ready.size();
        });
        ASSERT_FALSE(HasFailure()) << of;
      }
}

// More segments than are received at once, and larger ones.
TEST(PartMoverTest, large_parts_in_orders_by_chance) {
  std::mt19937 random(4);
  for (int64_t count : {int64_t{4} * 17 * 8192 - 3, int64_t{4} * 700'000 + 1})
    expectMoved({.hosts = {0, 1, 1, 1}, .count = count}, 1,
                [&](absl::Span<const Arrival> ready) {
                  return random() % ready.size();
                });
}

} // namespace bagua::runtime
