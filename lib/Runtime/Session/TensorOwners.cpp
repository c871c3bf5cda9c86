//===- TensorOwners.cpp - The owners of a plan's tensors ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that has results in the bytes of a tensor in an arena writes to
// that tensor, such as the all_gather of a bucket.
//
//===----------------------------------------------------------------------===//
#include "Session/TensorOwners.h"

#include "Plan/Opcodes.h"
#include "Plan/PhaseTable.h"
#include "Plan/Roles.h"

#include "bagua/Support/DataType.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace bagua::runtime {
namespace {

using Extents = std::vector<std::pair<int64_t, int64_t>>;

/// Sorts the extents, and merges those that touch or overlap.
void mergeExtents(Extents &extents) {
  std::sort(extents.begin(), extents.end());
  Extents merged;
  for (auto [begin, end] : extents)
    if (!merged.empty() && begin <= merged.back().second)
      merged.back().second = std::max(merged.back().second, end);
    else
      merged.push_back({begin, end});
  extents = std::move(merged);
}

bool overlaps(const Extents &extents, int64_t begin, int64_t end) {
  auto next = std::lower_bound(extents.begin(), extents.end(),
                               std::pair<int64_t, int64_t>(end, 0));
  return next != extents.begin() && std::prev(next)->second > begin;
}

/// Bytes on the rank that stores most.
int64_t bytesOf(const PlanCluster &cluster, fb::DataType type, int64_t count,
                const Layout &layout) {
  return maxLocalCount(count, layout, cluster) *
         dataTypeBytes(static_cast<DataType>(type));
}

} // namespace

std::vector<bool> findUpdatedByRuntime(const Plan &plan) {
  const fb::Plan &root = plan.root();
  std::vector<bool> isWritten(root.tensors()->size(), false);
  std::vector<Extents> written(root.arenas()->size());
  for (uint32_t i = 0; i < plan.instructionCount(); ++i) {
    const fb::Instruction &op = plan.instruction(i);
    if (kindOf(op.opcode()) == InstructionKind::After || !op.outputs())
      continue;
    for (uint32_t number : *op.outputs()) {
      const fb::Value &value = *root.values()->Get(number);
      if (value.tensor() >= 0)
        isWritten[value.tensor()] = true;
      else
        written[value.arena()].push_back(
            {value.offset(),
             value.offset() + bytesOf(plan.cluster(), value.type(),
                                      value.count(),
                                      readLayout(value.layout()))});
    }
  }
  for (Extents &extents : written)
    mergeExtents(extents);
  for (uint32_t i = 0; i < isWritten.size(); ++i) {
    const fb::Tensor &tensor = *root.tensors()->Get(i);
    if (tensor.arena() >= 0)
      isWritten[i] =
          overlaps(written[tensor.arena()], tensor.offset(),
                   tensor.offset() + bytesOf(plan.cluster(), tensor.type(),
                                             elementsOf(tensor),
                                             readLayout(tensor.layout())));
    isWritten[i] =
        isWritten[i] && isState(tensor.role()) && !tensor.given_by_program();
  }
  return isWritten;
}

// Sets of 64 tensors at a time are passed from instruction to instruction.
static void keepMovable(const Plan &plan, const fb::Step &step,
                        std::vector<bool> &isMovable) {
  constexpr uint32_t kSetSize = 64;
  const auto &instructions = *step.instructions();
  std::vector<uint64_t> awaits(instructions.size());
  for (uint32_t first = 0; first < isMovable.size(); first += kSetSize) {
    std::vector<uint64_t> hasAwaited(plan.root().streams()->size(), 0);
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      const fb::Instruction &op = *instructions.Get(i);
      uint64_t &set = hasAwaited[op.stream()];
      if (op.ready())
        for (uint32_t tensor : *op.ready())
          if (tensor - first < kSetSize)
            set |= uint64_t{1} << (tensor - first);
      if (op.after())
        for (uint32_t other : *op.after())
          set |= awaits[other];
      awaits[i] = set;
    }
    for (uint32_t i = first; i < isMovable.size() && i - first < kSetSize; ++i)
      if (auto *users = usersOf(step, i))
        for (uint32_t user : *users)
          isMovable[i] = isMovable[i] && (awaits[user] >> (i - first) & 1);
  }
}

std::vector<bool> findMovable(const Plan &plan) {
  std::vector<bool> isMovable;
  for (const fb::Tensor *tensor : *plan.root().tensors())
    isMovable.push_back(tensor->given_by_program() && !isState(tensor->role()));
  for (const fb::Step *step : *plan.root().steps())
    keepMovable(plan, *step, isMovable);
  return isMovable;
}

std::vector<bool> findReadByProgram(const Plan &plan, const fb::Step &step) {
  std::vector<bool> isRead(plan.root().tensors()->size(), false);
  if (step.program())
    for (const fb::ProgramOp *op : *step.program())
      if (op->waits())
        for (uint32_t tensor : *op->waits())
          isRead[tensor] = true;
  return isRead;
}

std::vector<bool> findUsed(const Plan &plan) {
  std::vector<bool> isUsed(plan.root().tensors()->size(), false);
  for (const fb::Step *step : *plan.root().steps())
    for (const fb::TensorUse *use : *step->uses())
      if (use->instructions() && use->instructions()->size() > 0)
        isUsed[use->tensor()] = true;
  return isUsed;
}

} // namespace bagua::runtime
