//===- Traffic.cpp - Bytes that fused kernels move ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass finds who uses each value, a second decides which values are
// written.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/Traffic.h"

#include <algorithm>
#include <iterator>

using namespace bagua;

namespace {
/// More values than compilers let one kernel read.
constexpr size_t kMaxSources = 64;

class Counter {
public:
  Counter(const std::vector<TrafficOp> &ops, const std::vector<int64_t> &bytes)
      : ops(ops), bytes(bytes), viewed(bytes.size()), users(bytes.size()),
        isForced(bytes.size()), sources(bytes.size()) {
    for (size_t value = 0; value < bytes.size(); ++value) {
      viewed[value] = static_cast<int32_t>(value);
      sources[value] = {static_cast<int32_t>(value)};
    }
  }

  void readUses(const std::vector<int32_t> &escaping);
  int64_t count(const TrafficOp &op);

private:
  void readUses(const TrafficOp &op);
  /// The values in memory from which the operands are computed, in order.
  std::vector<int32_t> sourcesOf(const TrafficOp &op) const;
  int64_t sizeOf(const std::vector<int32_t> &values) const;
  bool isWritten(const TrafficOp &op, const std::vector<int32_t> &read) const;

  const std::vector<TrafficOp> &ops;
  const std::vector<int64_t> &bytes;
  /// The value of which another is a view; itself for one that is none.
  std::vector<int32_t> viewed;
  /// The number of ops that use a value, through views.
  std::vector<int32_t> users;
  /// An op that is not fused needs the value in memory.
  std::vector<bool> isForced;
  /// By value: those that a kernel reads to have it; itself where it is in
  /// memory.
  std::vector<std::vector<int32_t>> sources;
};
} // namespace

void Counter::readUses(const TrafficOp &op) {
  std::vector<int32_t> used;
  used.reserve(op.operands.size());
  for (int32_t operand : op.operands)
    used.push_back(viewed[operand]);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (int32_t value : used)
    ++users[value];
  for (size_t i = 0; i < op.operands.size(); ++i) {
    bool computesHere = op.kind == Traffic::Fused ||
                        op.kind == Traffic::Reduction ||
                        (op.kind == Traffic::InPlace && i == 1);
    if (!computesHere)
      isForced[viewed[op.operands[i]]] = true;
  }
}

void Counter::readUses(const std::vector<int32_t> &escaping) {
  for (const TrafficOp &op : ops) {
    if (op.kind == Traffic::View)
      viewed[op.results.front()] = viewed[op.operands.front()];
    else
      readUses(op);
  }
  for (int32_t value : escaping)
    isForced[viewed[value]] = true;
}

std::vector<int32_t> Counter::sourcesOf(const TrafficOp &op) const {
  std::vector<int32_t> read;
  for (size_t i = op.kind == Traffic::InPlace ? 1 : 0; i < op.operands.size();
       ++i) {
    const std::vector<int32_t> &more = sources[viewed[op.operands[i]]];
    std::vector<int32_t> both;
    std::set_union(read.begin(), read.end(), more.begin(), more.end(),
                   std::back_inserter(both));
    read = std::move(both);
  }
  return read;
}

int64_t Counter::sizeOf(const std::vector<int32_t> &values) const {
  int64_t size = 0;
  for (int32_t value : values)
    size += bytes[value];
  return size;
}

bool Counter::isWritten(const TrafficOp &op,
                        const std::vector<int32_t> &read) const {
  if (op.kind != Traffic::Fused || read.size() > kMaxSources)
    return true;
  int64_t uses = 0;
  for (int32_t result : op.results) {
    if (isForced[result])
      return true;
    uses = std::max<int64_t>(uses, users[result]);
  }
  int64_t again = sizeOf(read), written = sizeOf(op.results);
  return again + (1 + uses) * written < uses * again;
}

int64_t Counter::count(const TrafficOp &op) {
  switch (op.kind) {
  case Traffic::None:
  case Traffic::View:
  case Traffic::Outside:
    return 0;
  case Traffic::Part:
    // Whoever reads the result reads so much of the operand; only a result that
    // is needed in memory is copied.
    return isForced[op.results.front()] ? 2 * sizeOf(op.results) : 0;
  case Traffic::InPlace:
    return sizeOf(sourcesOf(op)) + bytes[op.operands[1]];
  case Traffic::Kernel:
  case Traffic::Fused:
  case Traffic::Reduction:
    break;
  }
  std::vector<int32_t> read = sourcesOf(op);
  if (isWritten(op, read))
    return sizeOf(read) + sizeOf(op.results);
  for (int32_t result : op.results)
    sources[result] = read;
  return 0;
}

std::vector<int64_t> bagua::countTraffic(const std::vector<TrafficOp> &ops,
                                         const std::vector<int64_t> &bytes,
                                         const std::vector<int32_t> &escaping) {
  Counter counter(ops, bytes);
  counter.readUses(escaping);
  std::vector<int64_t> moved;
  moved.reserve(ops.size());
  for (const TrafficOp &op : ops)
    moved.push_back(counter.count(op));
  return moved;
}
