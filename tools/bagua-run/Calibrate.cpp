//===- Calibrate.cpp - What collectives take on this machine --------------===//
//
// All ranks make the same calls; rank 0 keeps the times.
//
//===----------------------------------------------------------------------===//
#include "Calibrate.h"

#include "bagua/Runtime/Communicator.h"
#include "bagua/Support/Parts.h"
#include "bagua/Support/TraceWriter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <thread>

namespace bagua::run {
namespace {

using runtime::Communicator;

constexpr int64_t kLeastBytes = 1024, kMostBytes = int64_t{64} << 20;
/// What calls walk through, so that a buffer is cold when it is used again.
constexpr int64_t kPoolBytes = 2 * kMostBytes;

enum Kind { AllReduce, ReduceScatter, AllGather, Reduce, Broadcast, kKinds };
constexpr std::array<const char *, kKinds> kNames = {
    "all_reduce", "reduce_scatter", "all_gather", "reduce", "broadcast"};

/// Bytes that cross a rank's link by the cheapest algorithm, per byte of the
/// tensor (docs/Semantics.md).
double trafficOf(Kind kind, int ranks) {
  double part = (ranks - 1.0) / ranks;
  switch (kind) {
  case AllReduce:
    return 2 * part;
  case ReduceScatter:
  case AllGather:
    return part;
  default:
    return 1;
  }
}

/// (bytes, ns) by ascending bytes.
using Table = std::vector<std::pair<int64_t, int64_t>>;

class Calibration {
public:
  explicit Calibration(int ranks) : size(ranks), everyone(ranks) {
    std::iota(everyone.begin(), everyone.end(), 0);
  }

  /// On the thread of one rank.
  absl::Status run(runtime::World &world);

  std::string text() const;

private:
  absl::Status call(Communicator &communicator, Kind kind, float *data,
                    int64_t count);
  absl::Status measure(Communicator &communicator, Kind kind, int64_t bytes,
                       std::vector<float> &pool);

  const int size;
  std::vector<int> everyone;
  /// Rank 0's.
  std::array<Table, kKinds> tables;
};

absl::Status Calibration::call(Communicator &communicator, Kind kind,
                               float *data, int64_t count) {
  const DataType type = DataType::Float32;
  const int rank = communicator.rank();
  const std::vector<int> root = {0};
  float *part = data + partRange(count, size, rank).begin;
  float *whole = rank == 0 ? data : nullptr;
  switch (kind) {
  case AllReduce:
    return communicator.allReduce(data, data, count, type, ReduceKind::Mean);
  case ReduceScatter:
    return communicator.reduceToOwners(data, part, count, type,
                                       ReduceKind::Mean, size, everyone);
  case AllGather:
    return communicator.gatherFromOwners(part, data, count, type, size,
                                         everyone);
  case Reduce:
    return communicator.reduceToOwners(data, whole, count, type,
                                       ReduceKind::Mean, size, root);
  default:
    return communicator.gatherFromOwners(whole, data, count, type, size, root);
  }
}

absl::Status Calibration::measure(Communicator &communicator, Kind kind,
                                  int64_t bytes, std::vector<float> &pool) {
  int64_t count = bytes / int64_t{sizeof(float)};
  auto samples = std::clamp<int64_t>((kPoolBytes * 4) / bytes, 11, 301);
  std::vector<int64_t> times;
  int64_t at = 0;
  for (int64_t i = 0; i < samples; ++i) {
    if (absl::Status status = communicator.barrier(); !status.ok())
      return status;
    int64_t begin = TraceWriter::nowNs();
    absl::Status status = call(communicator, kind, pool.data() + at, count);
    if (!status.ok())
      return status;
    times.push_back(TraceWriter::nowNs() - begin);
    // The whole pool is walked through, however small the message.
    at += std::max<int64_t>(count, int64_t{1} << 20);
    if (at + count > static_cast<int64_t>(pool.size()))
      at = 0;
  }
  if (communicator.rank() != 0)
    return absl::OkStatus();
  auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  tables[kind].emplace_back(bytes, *middle);
  return absl::OkStatus();
}

absl::Status Calibration::run(runtime::World &world) {
  auto communicator = world.createCommunicator(everyone, "calibrate");
  if (!communicator.ok())
    return communicator.status();
  std::vector<float> pool(kPoolBytes / sizeof(float), 1.0F);
  for (int kind = 0; kind < kKinds; ++kind)
    for (int64_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 4)
      if (absl::Status status =
              measure(**communicator, Kind(kind), bytes, pool);
          !status.ok())
        return status;
  return absl::OkStatus();
}

std::string Calibration::text() const {
  // No time may be shorter than a latency and the traffic at the rate: the
  // lower bound goes by these two.
  int64_t least = INT64_MAX;
  for (const Table &table : tables)
    for (auto [bytes, ns] : table)
      least = std::min(least, ns);
  int64_t latencyNs = least / 2;
  double rate = 1;
  for (int kind = 0; kind < kKinds; ++kind)
    for (auto [bytes, ns] : tables[kind])
      rate = std::max(rate, trafficOf(Kind(kind), size) *
                                static_cast<double>(bytes) * 1e9 /
                                static_cast<double>(ns - latencyNs));
  std::vector<std::string> entries;
  for (int kind = 0; kind < kKinds; ++kind) {
    std::vector<int64_t> numbers;
    for (auto [bytes, ns] : tables[kind]) {
      numbers.push_back(bytes);
      numbers.push_back(ns);
    }
    entries.push_back(absl::StrCat("    ", kNames[kind], " = array<i64: ",
                                   absl::StrJoin(numbers, ", "), ">"));
  }
  std::sort(entries.begin(), entries.end());
  return absl::StrCat(
      "// In-process ranks of one machine, measured by bagua-run --calibrate.\n"
      "bagua.cluster @calibrated axes [#bagua.axis<\"rank\", size = ",
      size, ", latency_ns = ", latencyNs,
      ", bytes_per_s = ", std::llround(std::ceil(rate)), ", table = {\n",
      absl::StrJoin(entries, ",\n"), "}>]\n");
}

} // namespace

absl::StatusOr<std::string> calibrate(int ranks,
                                      std::chrono::nanoseconds timeout) {
  if (ranks < 2)
    return absl::InvalidArgumentError(
        absl::StrCat("--calibrate needs --ranks of at least 2, found ", ranks));
  Calibration calibration(ranks);
  auto worlds = runtime::createInProcessWorlds(ranks, timeout);
  std::vector<absl::Status> statuses(ranks);
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      statuses[rank] = calibration.run(*worlds[rank]);
      if (!statuses[rank].ok())
        worlds[rank]->abort(statuses[rank]);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const absl::Status &status : statuses)
    if (!status.ok())
      return status;
  return calibration.text();
}

} // namespace bagua::run
