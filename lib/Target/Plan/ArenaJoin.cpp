//===- ArenaJoin.cpp - The arenas of several steps in one -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks with named tensors first: those that share a tensor, directly or by
// others, are placed together, so that the tensor is at one place. Then the
// other blocks of each step behind these.
//
//===----------------------------------------------------------------------===//
#include "ArenaJoin.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Support/Parts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

using namespace mlir;
using namespace bagua;

namespace {

/// Values of a step whose bytes overlap, directly or by others.
struct MemoryBlock {
  int64_t begin = 0, end = 0;
  PlanModel *model = nullptr;
  /// The tensors in it, with their distances from its beginning, and bytes.
  struct Member {
    std::string name;
    int64_t distance;
    int64_t bytes;
  };
  std::vector<Member> tensors;
  /// Where the plan has it; first relative to others of its group.
  int64_t to = 0;
  bool isPlaced = false;

  int64_t size() const { return end - begin; }
  bool overlaps(int64_t from, int64_t bytes) const {
    return from < to + size() && to < from + bytes;
  }
  /// Null if the block does not have the tensor.
  const Member *find(StringRef name) const {
    auto found = llvm::find_if(
        tensors, [&](const Member &member) { return member.name == name; });
    return found == tensors.end() ? nullptr : &*found;
  }
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

/// An arena of the plan.
class JoinedArena {
public:
  std::vector<StepArena *> steps;
  void place();
  /// Fails, with an error, where a tensor has two places, or bytes of others.
  LogicalResult check() const;

private:
  void placeGroup(MemoryBlock &first);
  void placeOthers();
  const MemoryBlock *findOther(const MemoryBlock &block,
                               const MemoryBlock::Member &tensor) const;

  std::map<std::string, std::vector<MemoryBlock *>> blocksOf;
  int64_t end = 0;
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
      blocks.push_back({begin, end, &model, {}, 0, false});
    else
      blocks.back().end = std::max(blocks.back().end, end);
  for (const TensorModel &tensor : model.tensors)
    if (tensor.storage.arena == number) {
      MemoryBlock &block = blockAt(tensor.storage.offset);
      block.tensors.push_back({tensor.name, tensor.storage.offset - block.begin,
                               maxLocalBytes(tensor.type, model.cluster)});
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
  for (auto &[value, storage] : model.values)
    moveStorage(storage);
  for (TensorModel &tensor : model.tensors)
    moveStorage(tensor.storage);
  int64_t &bytes = model.arenas[StringAttr::get(model.step.getContext(), name)];
  bytes = 0;
  for (const MemoryBlock &block : blocks)
    bytes = std::max(bytes, block.to + block.size());
}

/// Places a block, and all that must be at a certain distance from it.
void JoinedArena::placeGroup(MemoryBlock &first) {
  std::vector<MemoryBlock *> group = {&first};
  first.to = first.begin % kArenaAlignment;
  first.isPlaced = true;
  for (size_t i = 0; i < group.size(); ++i)
    for (const MemoryBlock::Member &tensor : group[i]->tensors)
      for (MemoryBlock *other : blocksOf[tensor.name]) {
        if (other->isPlaced)
          continue;
        other->to =
            group[i]->to + tensor.distance - other->find(tensor.name)->distance;
        other->isPlaced = true;
        group.push_back(other);
      }
  int64_t lowest = 0;
  for (const MemoryBlock *block : group)
    lowest = std::min(lowest, block->to);
  const int64_t base = arenaAligned(end) + arenaAligned(-lowest);
  for (MemoryBlock *block : group) {
    block->to += base;
    end = std::max(end, block->to + block->size());
  }
}

void JoinedArena::placeOthers() {
  const int64_t begin = end;
  for (StepArena *step : steps) {
    int64_t next = begin;
    for (MemoryBlock &block : step->blocks)
      if (block.tensors.empty()) {
        block.to = arenaAligned(next) + block.begin % kArenaAlignment;
        next = block.to + block.size();
      }
  }
}

void JoinedArena::place() {
  for (StepArena *step : steps)
    for (MemoryBlock &block : step->blocks)
      for (const MemoryBlock::Member &tensor : block.tensors)
        blocksOf[tensor.name].push_back(&block);
  for (StepArena *step : steps)
    for (MemoryBlock &block : step->blocks)
      if (!block.tensors.empty() && !block.isPlaced)
        placeGroup(block);
  placeOthers();
}

/// The first block of any step that does not have the tensor, though it has
/// bytes of the tensor, or of the tensor's whole block in the same step.
const MemoryBlock *
JoinedArena::findOther(const MemoryBlock &block,
                       const MemoryBlock::Member &tensor) const {
  for (const StepArena *step : steps)
    for (const MemoryBlock &other : step->blocks) {
      if (&other == &block || other.find(tensor.name))
        continue;
      if (other.model == block.model
              ? other.overlaps(block.to, block.size())
              : other.overlaps(block.to + tensor.distance, tensor.bytes))
        return &other;
    }
  return nullptr;
}

/// The export compares the places of a tensor itself.
LogicalResult JoinedArena::check() const {
  for (const StepArena *step : steps)
    for (const MemoryBlock &block : step->blocks)
      for (const MemoryBlock::Member &tensor : block.tensors)
        if (const MemoryBlock *other =
                tensor.bytes > 0 ? findOther(block, tensor) : nullptr) {
          auto diagnostic = block.model->step.emitError();
          diagnostic << "has tensor '" << tensor.name << "' where step '"
                     << other->model->step.getSymName()
                     << "' has another one, because of what is before it in "
                        "its bucket: expected tensors that several steps have "
                        "in the same buckets, and behind the same tensors, or "
                        "each by itself (wfbp-a2a)";
          diagnostic.attachNote(other->model->step.getLoc())
              << "the other step is here";
          return failure();
        }
  return success();
}

LogicalResult
bagua::joinArenas(llvm::ArrayRef<std::unique_ptr<PlanModel>> models) {
  if (models.size() < 2)
    return success();
  std::vector<std::unique_ptr<StepArena>> arenas;
  std::map<std::string, JoinedArena> joined;
  for (const std::unique_ptr<PlanModel> &model : models)
    for (auto [number, arena] : llvm::enumerate(model->arenas)) {
      arenas.push_back(std::make_unique<StepArena>(
          *model, arena.first, static_cast<int32_t>(number)));
      joined[arenas.back()->name].steps.push_back(arenas.back().get());
    }
  for (auto &[name, arena] : joined) {
    arena.place();
    if (failed(arena.check()))
      return failure();
  }
  for (std::unique_ptr<StepArena> &arena : arenas)
    arena->move();
  return success();
}
