//===- ProcessAllReduceBench.cpp - all_reduce between processes -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times float32 all_reduce in place of processes that share memory, on memory
// that they share ("shared") and on each one's own ("private"). Prints
// "contender,ranks,bytes,microseconds"; bench/all-reduce.py runs it beside
// others.
//
//===----------------------------------------------------------------------===//
#include "Benches.h"

#include "bagua/Replay/ForkedRanks.h"
#include "bagua/Runtime/Communicator.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

using namespace bagua;
using namespace bagua::runtime;

namespace {

constexpr char kUsage[] = "usage: bagua-bench-process-all-reduce RANKS "
                          "MIN_BYTES MAX_BYTES REPETITIONS\n";

class Bench {
public:
  Bench(World &world, Communicator &communicator)
      : world(world), communicator(communicator), all(world.size()) {
    std::iota(all.begin(), all.end(), 0);
  }

  void run(const char *name, float *data, int64_t count, int repetitions) {
    verify(data, count);
    int64_t batch = std::clamp<int64_t>((int64_t{1} << 20) / count, 1, 2000);
    for (int i = 0; i < repetitions; ++i) {
      check(communicator.barrier());
      int64_t begin = nowNs();
      for (int64_t k = 0; k < batch; ++k)
        reduce(data, count);
      double us = static_cast<double>(wall(begin, nowNs())) / 1e3;
      if (world.rank() == 0)
        absl::PrintF("%s,%d,%d,%.4f\n", name, world.size(), count * 4,
                     us / static_cast<double>(batch));
    }
  }

private:
  void reduce(float *data, int64_t count) {
    check(communicator.allReduce(data, data, count, DataType::Float32,
                                 ReduceKind::Sum));
  }
  /// From the first one's begin to the last one's end.
  int64_t wall(int64_t begin, int64_t end) {
    const std::vector<int64_t> own = {begin, end};
    std::vector<int64_t> found(2 * all.size());
    check(communicator.gatherFromOwners(own.data(), found.data(),
                                        static_cast<int64_t>(found.size()),
                                        DataType::Int64, world.size(), all));
    for (size_t i = 0; i < found.size(); i += 2) {
      begin = std::min(begin, found[i]);
      end = std::max(end, found[i + 1]);
    }
    return end - begin;
  }
  /// Ones become the number of ranks; then zeros, which stay zeros.
  void verify(float *data, int64_t count) {
    std::fill_n(data, count, 1.0f);
    reduce(data, count);
    if (std::any_of(data, data + count, [&](float x) {
          return x != static_cast<float>(world.size());
        }))
      check(absl::InternalError("a wrong sum"));
    std::fill_n(data, count, 0.0f);
    check(communicator.barrier());
  }

  World &world;
  Communicator &communicator;
  std::vector<int> all;
};

void runRank(const Launch &launch, int64_t minBytes, int64_t maxBytes,
             int repetitions) {
  auto world = check(connectLaunched(launch, "", {}));
  std::vector<int> all(world->size());
  std::iota(all.begin(), all.end(), 0);
  auto communicator = check(world->createCommunicator(all, "bench"));
  Bench bench(*world, *communicator);
  for (int64_t bytes = minBytes; bytes <= maxBytes; bytes *= 4) {
    auto shared = check(world->allocate(static_cast<size_t>(bytes)));
    std::vector<float> own(bytes / 4);
    bench.run("shared", reinterpret_cast<float *>(shared.get()), bytes / 4,
              repetitions);
    bench.run("private", own.data(), bytes / 4, repetitions);
  }
  check(communicator->barrier());
}

} // namespace

int main(int argc, char **argv) {
  int64_t numbers[4] = {};
  bool isGood = argc == 5;
  for (int i = 0; isGood && i < 4; ++i)
    isGood = absl::SimpleAtoi(argv[i + 1], &numbers[i]) && numbers[i] > 0;
  if (!isGood || numbers[1] < 4) {
    std::fputs(kUsage, stderr);
    return 1;
  }
  auto ranks = check(replay::ForkedRanks::fork(static_cast<int>(numbers[0])));
  runRank(ranks.launch(), numbers[1], numbers[2], static_cast<int>(numbers[3]));
  check(ranks.join(std::chrono::seconds(10)));
  return 0;
}
