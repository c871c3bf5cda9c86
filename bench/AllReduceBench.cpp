//===- AllReduceBench.cpp - In-process all_reduce beside memcpy -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times float32 all_reduce in place on the callers' threads, and as many
// threads that each memcpy the same bytes, in alternation so that both meet the
// same machine. Gloo joins where it is installed. bench/all-reduce.py adds
// Open MPI and prints one table.
//
//===----------------------------------------------------------------------===//
#include "Benches.h"

#include "bagua/Runtime/Communicator.h"

#include "peers/GlooPeer.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

using namespace bagua;
using namespace bagua::runtime;

namespace {

constexpr char kUsage[] =
    R"(usage: bagua-bench-all-reduce [option...]

  --ranks=2,4             numbers of ranks
  --min-bytes=1024        sizes are powers of 4 from here,
  --max-bytes=268435456   to here
  --repetitions=11        samples of each contender and size
  --huge-pages            ask for huge pages for the buffers
  --contenders=bagua,memcpy,gloo
                          which to run, in alternation; gloo (TCP over loopback)
                          is not among the default
  --has-gloo              exit with 0 if this program was built with Gloo
  --samples               print "contender,ranks,bytes,microseconds" instead of
                          a table
  --help                  this text

example: bagua-bench-all-reduce --ranks=4 --min-bytes=67108864 \
           --max-bytes=67108864
)";

struct Options {
  std::vector<int> ranks = {2, 4};
  int64_t minBytes = 1024;
  int64_t maxBytes = int64_t{256} << 20;
  int repetitions = 11;
  bool hugePages = false;
  std::vector<std::string> contenders = {"bagua", "memcpy"};
  bool samples = false;
};

Options parseOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    absl::string_view flag = argv[i];
    bool isGood = true;
    if (absl::ConsumePrefix(&flag, "--ranks=")) {
      options.ranks.clear();
      for (absl::string_view item : absl::StrSplit(flag, ',')) {
        options.ranks.push_back(0);
        isGood &= absl::SimpleAtoi(item, &options.ranks.back()) &&
                  options.ranks.back() > 0;
      }
    } else if (absl::ConsumePrefix(&flag, "--min-bytes=")) {
      isGood =
          absl::SimpleAtoi(flag, &options.minBytes) && options.minBytes >= 4;
    } else if (absl::ConsumePrefix(&flag, "--max-bytes=")) {
      isGood = absl::SimpleAtoi(flag, &options.maxBytes);
    } else if (absl::ConsumePrefix(&flag, "--repetitions=")) {
      isGood = absl::SimpleAtoi(flag, &options.repetitions) &&
               options.repetitions > 0;
    } else if (flag == "--huge-pages") {
      options.hugePages = true;
    } else if (absl::ConsumePrefix(&flag, "--contenders=")) {
      options.contenders = absl::StrSplit(flag, ',');
    } else if (flag == "--has-gloo") {
      std::exit(bench::hasGloo() ? 0 : 1);
    } else if (flag == "--samples") {
      options.samples = true;
    } else if (flag == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else {
      isGood = false;
    }
    if (!isGood)
      fail(absl::StrFormat("bad argument '%s'; see --help", argv[i]));
  }
  return options;
}

/// Pages of our own, touched by the thread that makes them.
class Buffer {
public:
  Buffer(int64_t size, bool hugePages) : bytes(size) {
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
      fail(absl::StrFormat("no memory for %d bytes", bytes));
    if (hugePages)
      madvise(data, bytes, MADV_HUGEPAGE);
    std::memset(data, 0, bytes);
  }
  ~Buffer() { munmap(data, bytes); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  float *floats() const { return static_cast<float *>(data); }

private:
  int64_t bytes;
  void *data;
};

/// One rank's handle on every contender.
struct Rank {
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<bench::GlooPeer> gloo;
  std::unique_ptr<Buffer> data;
  std::unique_ptr<Buffer> copy;
};

struct Contender {
  std::string name;
  void (*run)(Rank &rank, int64_t count);
  /// Calls of one sample are averaged; at most so many.
  int64_t maxBatch;
};

void runBagua(Rank &rank, int64_t count) {
  float *data = rank.data->floats();
  check(rank.communicator->allReduce(data, data, count, DataType::Float32,
                                     ReduceKind::Sum));
}

void runMemcpy(Rank &rank, int64_t count) {
  std::memcpy(rank.copy->floats(), rank.data->floats(), count * 4);
  // The copy is never read: keep it all the same.
  asm volatile("" ::"r"(rank.copy->floats()) : "memory");
}

void runGloo(Rank &rank, int64_t count) {
  rank.gloo->allReduce(rank.data->floats(), count);
}

std::vector<Contender> contendersOf(const Options &options) {
  const Contender known[] = {{"bagua", runBagua, 2000},
                             {"memcpy", runMemcpy, 2000},
                             {"gloo", runGloo, 20}};
  std::vector<Contender> result;
  for (const std::string &name : options.contenders) {
    auto found = std::find_if(
        std::begin(known), std::end(known),
        [&](const Contender &contender) { return contender.name == name; });
    if (found == std::end(known))
      fail(absl::StrFormat("no contender '%s'", name));
    result.push_back(*found);
  }
  return result;
}

bool usesGloo(const Options &options) {
  return std::count(options.contenders.begin(), options.contenders.end(),
                    "gloo") > 0;
}

/// Ones become the number of ranks; then zeros, which stay zeros.
void verify(const Contender &contender, Rank &rank, int64_t count, int size) {
  float *data = rank.data->floats();
  std::fill_n(data, count, 1.0f);
  check(rank.communicator->barrier());
  contender.run(rank, count);
  check(rank.communicator->barrier());
  if (contender.name != "memcpy" &&
      std::any_of(data, data + count, [&](float x) { return x != size; }))
    fail(absl::StrFormat("%s gave a wrong sum", contender.name));
  check(rank.communicator->barrier());
  std::fill_n(data, count, 0.0f);
}

using Clock = std::chrono::steady_clock;

struct Interval {
  Clock::time_point start;
  Clock::time_point end;
};

/// Microseconds of each call, by contender and repetition: from the first
/// rank's start to the last one's end, over a batch of calls for small sizes.
class Measurement {
public:
  Measurement(const Options &options, int size)
      : options(options), all(contendersOf(options)), intervals(size) {}

  /// On the thread of each rank.
  void run(Rank &rank, int64_t count) {
    int index = rank.communicator->rank();
    if (index == 0)
      samples.assign(all.size(), {});
    for (const Contender &contender : all)
      verify(contender, rank, count, rank.communicator->size());
    for (int i = 0; i < options.repetitions; ++i) {
      for (size_t c = 0; c < all.size(); ++c) {
        int64_t batch =
            std::clamp<int64_t>((int64_t{1} << 20) / count, 1, all[c].maxBatch);
        check(rank.communicator->barrier());
        intervals[index].start = Clock::now();
        for (int64_t k = 0; k < batch; ++k)
          all[c].run(rank, count);
        intervals[index].end = Clock::now();
        check(rank.communicator->barrier());
        if (index == 0)
          samples[c].push_back(wall() / batch);
      }
    }
    check(rank.communicator->barrier());
  }

  void print(int64_t bytes) const {
    int ranks = static_cast<int>(intervals.size());
    std::vector<std::vector<double>> sorted = samples;
    for (auto &row : sorted)
      std::sort(row.begin(), row.end());
    for (size_t c = 0; c < all.size(); ++c) {
      if (options.samples) {
        for (double us : samples[c])
          absl::PrintF("%s,%d,%d,%.4f\n", all[c].name, ranks, bytes, us);
        continue;
      }
      const std::vector<double> &row = sorted[c];
      double median = row[row.size() / 2];
      double algorithm = bytes / median / 1e3;
      bool isCopy = all[c].name == "memcpy";
      double bus = isCopy ? algorithm : algorithm * 2 * (ranks - 1) / ranks;
      absl::PrintF("%-8s %5d %10d  %11.2f %11.2f %11.2f  %8.2f %8.2f",
                   all[c].name, ranks, bytes, row.front(), median, row.back(),
                   algorithm, bus);
      for (size_t k = 0; k < all.size(); ++k)
        if (all[k].name == "memcpy")
          absl::PrintF("  %6.3f", median / sorted[k][sorted[k].size() / 2]);
      absl::PrintF("\n");
    }
    std::fflush(stdout);
  }

private:
  double wall() const {
    Interval whole = intervals[0];
    for (const Interval &one : intervals) {
      whole.start = std::min(whole.start, one.start);
      whole.end = std::max(whole.end, one.end);
    }
    return std::chrono::duration<double, std::micro>(whole.end - whole.start)
        .count();
  }

  const Options &options;
  const std::vector<Contender> all;
  std::vector<Interval> intervals;
  std::vector<std::vector<double>> samples;
};

void runWithRanks(const Options &options, int size) {
  std::vector<std::unique_ptr<World>> worlds = createInProcessWorlds(size);
  std::vector<int> members(size);
  for (int rank = 0; rank < size; ++rank)
    members[rank] = rank;
  bench::GlooMeeting meeting;
  Measurement measurement(options, size);
  std::vector<std::thread> threads;
  for (int index = 0; index < size; ++index)
    threads.emplace_back([&, index] {
      Rank rank;
      auto communicator = worlds[index]->createCommunicator(members, "bench");
      check(communicator.status());
      rank.communicator = *std::move(communicator);
      if (usesGloo(options))
        rank.gloo = bench::connectGloo(meeting, index, size);
      for (int64_t bytes = options.minBytes; bytes <= options.maxBytes;
           bytes *= 4) {
        rank.data = std::make_unique<Buffer>(bytes, options.hugePages);
        rank.copy = std::make_unique<Buffer>(bytes, options.hugePages);
        measurement.run(rank, bytes / 4);
        if (index == 0)
          measurement.print(bytes);
      }
      check(rank.communicator->barrier());
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

int main(int argc, char **argv) {
  Options options = parseOptions(argc, argv);
  if (usesGloo(options) && !bench::hasGloo())
    fail("built without Gloo");
  if (!options.samples)
    absl::PrintF("%-8s %5s %10s  %11s %11s %11s  %8s %8s  %6s\n", "", "ranks",
                 "bytes", "min us", "median us", "max us", "alg GB/s",
                 "bus GB/s", "/copy");
  for (int ranks : options.ranks)
    runWithRanks(options, ranks);
  return 0;
}
