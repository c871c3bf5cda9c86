//===- HostAllReduceBench.cpp - all_reduce between hosts ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank, as a launcher started it: times float32 all_reduce in place, and
// Gloo's own ring on the same network beside it, by turns. Rank 0 prints
// "contender,ranks,bytes,microseconds,context switches,microseconds of CPU
// time", the last two of the contender's threads on all ranks;
// bench/hosts-all-reduce.py and bench/busy.py run it.
//
//===----------------------------------------------------------------------===//
#include "Benches.h"

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Launch.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

using namespace bagua;
using namespace bagua::runtime;

namespace {

constexpr char kUsage[] =
    "usage: bagua-bench-host-all-reduce FOLDER INTERFACE MIN_BYTES MAX_BYTES "
    "REPETITIONS\n";

/// Of all ranks; the folder is on a disk that all see.
std::shared_ptr<gloo::rendezvous::Context>
connectGloo(const World &world, const std::string &folder,
            const std::string &interface) {
  gloo::transport::tcp::attr attributes;
  attributes.iface = interface;
  auto context =
      std::make_shared<gloo::rendezvous::Context>(world.rank(), world.size());
  gloo::rendezvous::FileStore store(folder);
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  context->connectFullMesh(store, device);
  return context;
}

/// Named by their numbers in the system.
using Threads = std::set<std::string>;

Threads threadsNow() {
  Threads threads;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/task"))
    threads.insert(entry.path().filename());
  return threads;
}

struct Usage {
  int64_t switches = 0;
  int64_t cpuNs = 0;
};

Usage usageOf(const Threads &threads) {
  Usage usage;
  for (const std::string &thread : threads) {
    const std::string folder = "/proc/self/task/" + thread;
    int64_t number = 0;
    std::ifstream scheduler(folder + "/schedstat");
    if (scheduler >> number)
      usage.cpuNs += number;
    std::ifstream status(folder + "/status");
    for (std::string word; status >> word;)
      if (absl::EndsWith(word, "voluntary_ctxt_switches:") && status >> number)
        usage.switches += number;
  }
  return usage;
}

class Bench {
public:
  using Reduce = std::function<void(float *, int64_t)>;

  Bench(World &world, Communicator &communicator)
      : world(world), communicator(communicator), all(world.size()) {
    std::iota(all.begin(), all.end(), 0);
  }

  void time(const char *name, const Threads &threads, const Reduce &reduce,
            float *data, int64_t count) {
    const int64_t batch = count >= 1 << 16 ? 1 : 20;
    check(communicator.barrier());
    const Usage before = usageOf(threads);
    const int64_t begin = nowNs();
    for (int64_t i = 0; i < batch; ++i)
      reduce(data, count);
    const int64_t own = nowNs() - begin;
    const Usage after = usageOf(threads);
    // Clocks of hosts differ: the rank that took longest.
    const std::vector<int64_t> times = ofAllRanks(own);
    const auto perCall = [&](int64_t found) {
      return static_cast<double>(found) / static_cast<double>(batch);
    };
    const auto sum = [&](int64_t found) {
      const std::vector<int64_t> each = ofAllRanks(found);
      return perCall(std::accumulate(each.begin(), each.end(), int64_t{0}));
    };
    const double switches = sum(after.switches - before.switches);
    const double cpu = sum(after.cpuNs - before.cpuNs) / 1e3;
    if (world.rank() == 0)
      absl::PrintF("%s,%d,%d,%.3f,%.1f,%.3f\n", name, world.size(), count * 4,
                   perCall(*std::max_element(times.begin(), times.end())) / 1e3,
                   switches, cpu);
  }

  /// Ones become the number of ranks; then zeros, which stay zeros.
  void verify(const Reduce &reduce, float *data, int64_t count) {
    std::fill_n(data, count, 1.0f);
    reduce(data, count);
    if (std::any_of(data, data + count, [&](float x) {
          return x != static_cast<float>(world.size());
        }))
      check(absl::InternalError("a wrong sum"));
    std::fill_n(data, count, 0.0f);
    check(communicator.barrier());
  }

private:
  std::vector<int64_t> ofAllRanks(int64_t own) {
    std::vector<int64_t> found(all.size());
    check(communicator.gatherFromOwners(&own, found.data(), found.size(),
                                        DataType::Int64, world.size(), all));
    return found;
  }

  World &world;
  Communicator &communicator;
  std::vector<int> all;
};

void runRank(const Launch &launch, const std::string &folder,
             const std::string &interface, int64_t minBytes, int64_t maxBytes,
             int64_t repetitions) {
  ProcessOptions options;
  options.interface = interface;
  auto world = check(connectLaunched(launch, folder + "/rendezvous", options));
  std::vector<int> all(world->size());
  std::iota(all.begin(), all.end(), 0);
  auto communicator = check(world->createCommunicator(all, "bench"));
  const Threads own = threadsNow();
  auto context = connectGloo(*world, folder, interface);
  // Each contender has threads of its own, and the one that calls both.
  Threads gloos = threadsNow();
  for (const std::string &thread : own)
    if (thread != std::to_string(getpid()))
      gloos.erase(thread);
  const Bench::Reduce ours = [&](float *data, int64_t count) {
    check(communicator->allReduce(data, data, count, DataType::Float32,
                                  ReduceKind::Sum));
  };
  const Bench::Reduce ring = [&](float *data, int64_t count) {
    gloo::AllreduceOptions reduce(context);
    reduce.setOutput(data, count);
    using Sum = void (*)(void *, const void *, const void *, size_t);
    reduce.setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
    gloo::allreduce(reduce);
  };
  Bench bench(*world, *communicator);
  for (int64_t bytes = minBytes; bytes <= maxBytes; bytes *= 4) {
    auto memory = check(world->allocate(static_cast<size_t>(bytes)));
    auto *data = reinterpret_cast<float *>(memory.get());
    bench.verify(ours, data, bytes / 4);
    bench.verify(ring, data, bytes / 4);
    for (int64_t i = 0; i < repetitions; ++i) {
      bench.time("bagua", own, ours, data, bytes / 4);
      bench.time("gloo", gloos, ring, data, bytes / 4);
    }
  }
  check(communicator->barrier());
}

} // namespace

int main(int argc, char **argv) {
  int64_t numbers[3] = {};
  bool isGood = argc == 6;
  for (int i = 0; isGood && i < 3; ++i)
    isGood = absl::SimpleAtoi(argv[i + 3], &numbers[i]) && numbers[i] > 0;
  if (!isGood || numbers[0] < 4) {
    std::fputs(kUsage, stderr);
    return 1;
  }
  auto launch = check(findLaunch(std::getenv));
  if (!launch)
    check(absl::FailedPreconditionError("expected a launcher's variables"));
  runRank(*launch, argv[1], argv[2], numbers[0], numbers[1], numbers[2]);
  return 0;
}
