//===- ArenaJoin.cpp - The arenas of several steps in one -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks with named tensors first, then the others of each step behind these.
//
//===----------------------------------------------------------------------===//
#include "ArenaJoin.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

using namespace mlir;
using namespace bagua;

namespace {

constexpr int64_t kAlignment = 64;

/// Values of a step whose bytes overlap, directly or by others.
struct MemoryBlock {
  int64_t begin = 0, end = 0;
  /// The tensors in it, with their distances from its beginning.
  std::vector<std::pair<std::string, int64_t>> tensors;
  /// Where the plan has it.
  int64_t to = 0;
};

/// One arena of a step.
class StepArena {
public:
  StepArena(PlanModel &of, StringAttr arenaName, int32_t arenaNumber);

  std::vector<MemoryBlock> blocks;
  std::string name;
  /// Moves the step's values and tensors to where their blocks are.
  void move();

private:
  MemoryBlock &blockAt(int64_t offset);

  PlanModel &model;
  const int32_t number;
};

/// An arena of the plan, as it is filled.
class JoinedArena {
public:
  void placeNamed(MemoryBlock &block);
  void beginStep() { next = namedEnd; }
  void placeOther(MemoryBlock &block) { block.to = take(block, next); }

private:
  /// The first offset from `from` on that is aligned as in the step.
  static int64_t take(const MemoryBlock &block, int64_t &from) {
    int64_t to = (from + kAlignment - 1) / kAlignment * kAlignment +
                 block.begin % kAlignment;
    from = to + block.end - block.begin;
    return to;
  }

  std::map<std::string, int64_t> offsets;
  int64_t namedEnd = 0;
  int64_t next = 0;
};

} // namespace

StepArena::StepArena(PlanModel &of, StringAttr arenaName, int32_t arenaNumber)
    : name(arenaName.getValue().str()), model(of), number(arenaNumber) {
  // A value of no bytes has a place, too.
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (auto &[value, storage] : model.values)
    if (storage.arena == number)
      ranges.push_back(
          {storage.offset,
           storage.offset + std::max<int64_t>(model.bytesOf(value), 1)});
  llvm::sort(ranges);
  for (auto [begin, end] : ranges)
    if (blocks.empty() || begin >= blocks.back().end)
      blocks.push_back({begin, end, {}, 0});
    else
      blocks.back().end = std::max(blocks.back().end, end);
  for (const TensorModel &tensor : model.tensors)
    if (tensor.storage.arena == number) {
      MemoryBlock &block = blockAt(tensor.storage.offset);
      block.tensors.push_back(
          {tensor.name, tensor.storage.offset - block.begin});
    }
}

MemoryBlock &StepArena::blockAt(int64_t offset) {
  auto behind = llvm::upper_bound(
      blocks, offset,
      [](int64_t at, const MemoryBlock &block) { return at < block.begin; });
  return *std::prev(behind);
}

void StepArena::move() {
  auto moveStorage = [&](Storage &storage) {
    if (storage.arena != number)
      return;
    const MemoryBlock &block = blockAt(storage.offset);
    storage.offset += block.to - block.begin;
  };
  // Offsets name blocks until all are moved.
  for (auto &[value, storage] : model.values)
    moveStorage(storage);
  for (TensorModel &tensor : model.tensors)
    moveStorage(tensor.storage);
  int64_t &bytes = model.arenas[StringAttr::get(model.step.getContext(), name)];
  bytes = 0;
  for (const MemoryBlock &block : blocks)
    bytes = std::max(bytes, block.to + block.end - block.begin);
}

void JoinedArena::placeNamed(MemoryBlock &block) {
  auto known = llvm::find_if(block.tensors, [&](auto &tensor) {
    return offsets.count(tensor.first) > 0;
  });
  if (known == block.tensors.end()) {
    block.to = take(block, namedEnd);
  } else {
    block.to = std::max<int64_t>(0, offsets[known->first] - known->second);
    namedEnd = std::max(namedEnd, block.to + block.end - block.begin);
  }
  for (auto &[name, distance] : block.tensors)
    offsets.try_emplace(name, block.to + distance);
}

void bagua::joinArenas(llvm::ArrayRef<std::unique_ptr<PlanModel>> models) {
  if (models.size() < 2)
    return;
  std::vector<std::vector<StepArena>> arenas;
  std::map<std::string, JoinedArena> joined;
  for (const std::unique_ptr<PlanModel> &model : models) {
    std::vector<StepArena> &own = arenas.emplace_back();
    for (auto [number, arena] : llvm::enumerate(model->arenas))
      own.emplace_back(*model, arena.first, static_cast<int32_t>(number));
    for (StepArena &arena : own)
      for (MemoryBlock &block : arena.blocks)
        if (!block.tensors.empty())
          joined[arena.name].placeNamed(block);
  }
  for (std::vector<StepArena> &own : arenas)
    for (StepArena &arena : own) {
      joined[arena.name].beginStep();
      for (MemoryBlock &block : arena.blocks)
        if (block.tensors.empty())
          joined[arena.name].placeOther(block);
      arena.move();
    }
}
