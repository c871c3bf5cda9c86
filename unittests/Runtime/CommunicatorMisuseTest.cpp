//===- CommunicatorMisuseTest.cpp - Calls that differ or are wrong --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each is an error that says what is wrong, and on all members the same one;
// the group goes on.
//
//===----------------------------------------------------------------------===//
#include "CommunicatorBackends.h"

#include "bagua/Runtime/Agreement.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class CommunicatorMisuseTest : public testing::TestWithParam<TestBackend> {
protected:
  /// Runs `call` on every rank; all must fail alike, saying each of `parts`.
  void expectRefusal(int size, const std::vector<std::string> &parts,
                     const std::function<absl::Status(Communicator &)> &call);

  Worlds createWorlds(int size) {
    return GetParam().createWorlds(size, kLongTime);
  }
};

void CommunicatorMisuseTest::expectRefusal(
    int size, const std::vector<std::string> &parts,
    const std::function<absl::Status(Communicator &)> &call) {
  if (!GetParam().traits.findsDifferingCalls)
    GTEST_SKIP() << "the backend does not promise to find calls that differ";
  Worlds worlds = createWorlds(size);
  std::vector<std::string> messages(size);
  onEachRank(size, [&](int rank) {
    auto communicator = joinAll(*worlds[rank], "grads");
    absl::Status status = call(*communicator);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    messages[rank] = std::string(status.message());
    // The members are in step again.
    float value = 1, sum = 0;
    absl::Status next = communicator->allReduce(
        &value, &sum, 1, DataType::Float32, ReduceKind::Sum);
    EXPECT_TRUE(next.ok()) << next;
    EXPECT_EQ(sum, size);
  });
  for (const std::string &message : messages)
    EXPECT_EQ(message, messages[0]);
  for (const std::string &part : parts)
    EXPECT_THAT(messages[0], HasSubstr(part));
  EXPECT_THAT(messages[0], HasSubstr("'grads'"));
}

//===----------------------------------------------------------------------===//
// Calls that differ or are wrong
//===----------------------------------------------------------------------===//

// Nothing is written before the difference is found.
TEST_P(CommunicatorMisuseTest, counts_differ) {
  expectRefusal(3, {"count is 1000 on ranks 0, 2; 999 on rank 1"},
                [](Communicator &communicator) {
                  std::vector<float> data(1000, 5);
                  int64_t count = communicator.rank() == 1 ? 999 : 1000;
                  absl::Status status = communicator.allReduce(
                      data.data(), data.data(), count, DataType::Float32,
                      ReduceKind::Sum);
                  EXPECT_EQ(data, std::vector<float>(1000, 5));
                  return status;
                });
}

// One member would stage its input, the other not.
TEST_P(CommunicatorMisuseTest, small_and_large_counts_differ) {
  expectRefusal(2, {"count is 1 on rank 0; 100000 on rank 1"},
                [](Communicator &communicator) {
                  std::vector<float> data(100000);
                  return communicator.allReduce(
                      data.data(), data.data(),
                      communicator.rank() == 0 ? 1 : 100000, DataType::Float32,
                      ReduceKind::Sum);
                });
}

TEST_P(CommunicatorMisuseTest, types_differ) {
  expectRefusal(2, {"type is f16 on rank 0; bf16 on rank 1"},
                [](Communicator &communicator) {
                  std::vector<uint16_t> data(10);
                  return communicator.allReduce(data.data(), data.data(), 10,
                                                communicator.rank() == 0
                                                    ? DataType::Float16
                                                    : DataType::BFloat16,
                                                ReduceKind::Sum);
                });
}

TEST_P(CommunicatorMisuseTest, kinds_differ) {
  expectRefusal(2, {"kind is sum on rank 0; mean on rank 1"},
                [](Communicator &communicator) {
                  std::vector<float> data(10);
                  return communicator.allReduce(
                      data.data(), data.data(), 10, DataType::Float32,
                      communicator.rank() == 0 ? ReduceKind::Sum
                                               : ReduceKind::Mean);
                });
}

TEST_P(CommunicatorMisuseTest, ops_differ) {
  expectRefusal(4, {"op is all_reduce on rank 0; barrier on ranks 1, 2, 3"},
                [](Communicator &communicator) {
                  float data = 1;
                  if (communicator.rank() != 0)
                    return communicator.barrier();
                  return communicator.allReduce(
                      &data, &data, 1, DataType::Float32, ReduceKind::Sum);
                });
}

TEST_P(CommunicatorMisuseTest, owners_differ) {
  expectRefusal(2, {"owners is [0, 1] on rank 0; [1, 0] on rank 1"},
                [](Communicator &communicator) {
                  float data[2] = {}, part = 0;
                  int rank = communicator.rank();
                  return communicator.reduceToOwners(
                      data, &part, 2, DataType::Float32, ReduceKind::Sum, 2,
                      {rank, 1 - rank});
                });
}

TEST_P(CommunicatorMisuseTest, contributors_differ) {
  expectRefusal(2, {"contributors or receivers is 1 on rank 0; 2 on rank 1"},
                [](Communicator &communicator) {
                  float data[2] = {}, part[2] = {};
                  return communicator.reduceToOwners(
                      data, part, 2, DataType::Float32, ReduceKind::Sum,
                      communicator.rank() + 1, {0});
                });
}

TEST_P(CommunicatorMisuseTest, mean_of_integers) {
  expectRefusal(2, {"all_reduce", "mean of i32 is not defined"},
                [](Communicator &communicator) {
                  int32_t data = 1;
                  return communicator.allReduce(
                      &data, &data, 1, DataType::Int32, ReduceKind::Mean);
                });
}

// The others would wait for ever for a member that found its own mistake.
TEST_P(CommunicatorMisuseTest, one_member_is_wrong_and_all_are_told) {
  expectRefusal(3, {"rank 2", "the input is null"},
                [](Communicator &communicator) {
                  float data = 1;
                  return communicator.allReduce(
                      communicator.rank() == 2 ? nullptr : &data, &data, 1,
                      DataType::Float32, ReduceKind::Sum);
                });
}

TEST_P(CommunicatorMisuseTest, negative_count) {
  expectRefusal(2, {"count must be in [0, ", "got -1"},
                [](Communicator &communicator) {
                  float data = 1;
                  return communicator.allReduce(
                      &data, &data, -1, DataType::Float32, ReduceKind::Sum);
                });
}

TEST_P(CommunicatorMisuseTest, buffers_overlap) {
  expectRefusal(2, {"output overlaps input"}, [](Communicator &communicator) {
    float data[8] = {};
    return communicator.allReduce(data, data + 1, 4, DataType::Float32,
                                  ReduceKind::Sum);
  });
  // The place of part 0 is not the place of part 1.
  expectRefusal(
      2, {"rank 1", "output overlaps input"}, [](Communicator &communicator) {
        float data[8] = {};
        return communicator.reduceToOwners(data, data, 8, DataType::Float32,
                                           ReduceKind::Sum, 2, {0, 1});
      });
}

TEST_P(CommunicatorMisuseTest, owners_are_wrong) {
  auto reduceTo = [](std::vector<int> owners, int contributors) {
    return [=](Communicator &communicator) {
      float data[4] = {}, part[4] = {};
      return communicator.reduceToOwners(data, part, 4, DataType::Float32,
                                         ReduceKind::Sum, contributors, owners);
    };
  };
  expectRefusal(2, {"member 2 is not in [0, 2)"}, reduceTo({0, 2}, 2));
  expectRefusal(2, {"member 1 is an owner twice"}, reduceTo({1, 1}, 2));
  expectRefusal(2, {"there are no owners"}, reduceTo({}, 2));
  expectRefusal(2, {"contributors must be in [1, 2], got 3"}, reduceTo({0}, 3));
}

TEST_P(CommunicatorMisuseTest, exchange_is_one_sided) {
  expectRefusal(3, {"rank 0 sends to rank 1, which does not expect it"},
                [](Communicator &communicator) {
                  int32_t mine = 1, theirs = 0;
                  const int peer = (communicator.rank() + 1) % 3;
                  void *const output = &theirs;
                  return communicator.exchange(&mine, 4, {peer}, {peer},
                                               {output});
                });
  expectRefusal(
      3, {"rank 0 expects something of rank 1, which does not send to it"},
      [](Communicator &communicator) {
        int32_t mine = 1, theirs = 0;
        const int peer = (communicator.rank() + 1) % 3;
        void *const output = &theirs;
        return communicator.exchange(&mine, 4, {}, {peer}, {output});
      });
  expectRefusal(3, {"member 3 is not in [0, 3)"},
                [](Communicator &communicator) {
                  int32_t mine = 1;
                  return communicator.exchange(&mine, 4, {3}, {}, {});
                });
  expectRefusal(3, {"the input is null"}, [](Communicator &communicator) {
    return communicator.exchange(nullptr, 4, {(communicator.rank() + 1) % 3},
                                 {}, {});
  });
}

//===----------------------------------------------------------------------===//
// Groups that can't be
//===----------------------------------------------------------------------===//

TEST_P(CommunicatorMisuseTest, wrong_members) {
  Worlds worlds = createWorlds(3);
  for (std::vector<int> members :
       {std::vector<int>{}, {0, 2}, {1, 1}, {1, 3}, {-1, 1}}) {
    absl::Status status =
        worlds[1]->createCommunicator(members, "wrong").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  ASSERT_TRUE(worlds[1]->createCommunicator({1}, "once").ok());
  absl::Status again = worlds[1]->createCommunicator({1}, "once").status();
  EXPECT_EQ(again.code(), absl::StatusCode::kInvalidArgument) << again;
  // A mistake in arguments leaves the world as it is.
  EXPECT_TRUE(worlds[1]->status().ok());
}

// Nor does it harm the one that exists: others still have it when a member has
// left, and nobody else gets its memory.
TEST_P(CommunicatorMisuseTest, a_name_that_exists) {
  Worlds worlds = createWorlds(4);
  onEachRank(4, [&](int rank) {
    auto all = joinAll(*worlds[rank]);
    for (int leaver = 0; leaver < 4; ++leaver) {
      const std::string name = absl::StrCat("grads ", leaver);
      auto first = joinAll(*worlds[rank], name.c_str());
      EXPECT_EQ(worlds[rank]
                    ->createCommunicator(firstMembers(4), name)
                    .status()
                    .code(),
                absl::StatusCode::kInvalidArgument);
      ASSERT_TRUE(first->barrier().ok());
      if (rank == leaver)
        first.reset();
      ASSERT_TRUE(all->barrier().ok());
      auto next = joinAll(*worlds[rank], absl::StrCat("next ", leaver).c_str());
      ASSERT_TRUE(next->barrier().ok());
      first.reset();
      ASSERT_TRUE(all->barrier().ok());
      int64_t sum = 0, own = rank;
      absl::Status status =
          next->allReduce(&own, &sum, 1, DataType::Int64, ReduceKind::Sum);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(sum, 6);
    }
  });
}

//===----------------------------------------------------------------------===//
// Facts that members must have alike
//===----------------------------------------------------------------------===//

// The calls are alike; of tables the first line that differs is shown.
TEST_P(CommunicatorMisuseTest, facts_differ) {
  expectRefusal(4,
                {"ranks differ in the model: w [4] on ranks 0, 3; w [5] on "
                 "rank 1"},
                [](Communicator &communicator) {
                  const int rank = communicator.rank();
                  Agreement agreement;
                  agreement.set("the forward", 7);
                  agreement.set("the model", rank % 3,
                                std::string("b [1]\nw [") + "454"[rank % 3] +
                                    "]\nv [" + "123"[rank % 3] + "]");
                  communicator.agreeOn(agreement.word(), &agreement);
                  std::vector<float> data(100000, 5);
                  absl::Status status = communicator.allReduce(
                      data.data(), data.data(), 100000, DataType::Float32,
                      ReduceKind::Sum);
                  EXPECT_EQ(data, std::vector<float>(100000, 5));
                  communicator.agreeOn(0, nullptr);
                  return status;
                });
}

// A number means itself; and what differs in the calls too is said by facts.
TEST_P(CommunicatorMisuseTest, facts_and_calls_differ) {
  expectRefusal(
      3, {"ranks differ in the forward: 2 on ranks 0, 2; 3 on rank 1"},
      [](Communicator &communicator) {
        const bool isOther = communicator.rank() == 1;
        Agreement agreement;
        agreement.set("the forward", isOther ? 3 : 2);
        communicator.agreeOn(agreement.word(), &agreement);
        float data[2] = {};
        absl::Status status = communicator.allReduce(
            data, data, isOther ? 1 : 2, DataType::Float32, ReduceKind::Sum);
        communicator.agreeOn(0, nullptr);
        return status;
      });
}

TEST_P(CommunicatorMisuseTest, facts_are_stated_by_some) {
  expectRefusal(3,
                {"the list of facts to compare is not stated on rank 0; stated "
                 "on ranks 1, 2"},
                [](Communicator &communicator) {
                  Agreement agreement;
                  agreement.set("the forward", 1);
                  if (communicator.rank() > 0)
                    communicator.agreeOn(agreement.word(), &agreement);
                  absl::Status status = communicator.barrier();
                  communicator.agreeOn(0, nullptr);
                  return status;
                });
}

TEST_P(CommunicatorMisuseTest, more_facts_are_stated_by_some) {
  expectRefusal(2, {"ranks state different facts: 1 on rank 0; 2 on rank 1"},
                [](Communicator &communicator) {
                  Agreement agreement;
                  agreement.set("the forward", 1);
                  if (communicator.rank() == 1)
                    agreement.set("the model", 1);
                  communicator.agreeOn(agreement.word(), &agreement);
                  absl::Status status = communicator.barrier();
                  communicator.agreeOn(0, nullptr);
                  return status;
                });
}

TEST_P(CommunicatorMisuseTest, limits_that_are_none) {
  Worlds worlds = createWorlds(2);
  for (std::chrono::nanoseconds limit :
       {-1ns, 0ns, std::chrono::nanoseconds::max()})
    EXPECT_THAT(
        std::string(worlds[0]
                        ->createCommunicator({0, 1}, "grads", {limit, {}, {}})
                        .status()
                        .message()),
        HasSubstr("communicator 'grads': timeout: expected more than 0 "
                  "and at most ten years"));
  EXPECT_TRUE(worlds[0]->status().ok());
}

INSTANTIATE_TEST_SUITE_P(, CommunicatorMisuseTest,
                         testing::ValuesIn(testBackends()),
                         [](const testing::TestParamInfo<TestBackend> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace bagua::runtime
