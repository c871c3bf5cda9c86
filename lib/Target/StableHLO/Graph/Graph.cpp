//===- Graph.cpp - A training step as index arrays ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes use lists, liveness and dependence of the flat graph.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Graph.h"

using namespace bagua::importer;

Uses::Uses(const std::vector<FlatOp> &ops, size_t valueCount)
    : offsets(valueCount + 1, 0) {
  for (const FlatOp &op : ops)
    if (!op.isDead)
      for (ValueId operand : op.operands)
        ++offsets[operand + 1];
  for (size_t i = 0; i < valueCount; ++i)
    offsets[i + 1] += offsets[i];
  users.resize(offsets.back());
  std::vector<uint32_t> next(offsets.begin(), offsets.end() - 1);
  for (auto [index, op] : llvm::enumerate(ops))
    if (!op.isDead)
      for (ValueId operand : op.operands)
        users[next[operand]++] = static_cast<OpId>(index);
}

void Graph::removeDeadOps() {
  std::vector<bool> isNeeded(values.size(), false);
  for (const Output &output : outputs)
    if (!output.isForMapping)
      isNeeded[output.value] = true;
  for (FlatOp &op : llvm::reverse(ops)) {
    if (op.isDead)
      continue;
    bool isLive = op.kind == OpKind::Opaque ||
                  llvm::any_of(op.results, [&](ValueId result) {
                    return isNeeded[result];
                  });
    if (!isLive) {
      op.isDead = true;
      continue;
    }
    for (ValueId operand : op.operands)
      isNeeded[operand] = true;
  }
}

std::vector<bool> bagua::importer::dependents(const Graph &graph,
                                              llvm::ArrayRef<ValueId> sources) {
  std::vector<bool> depends(graph.values.size(), false);
  for (ValueId source : sources)
    depends[source] = true;
  for (const FlatOp &op : graph.ops) {
    if (op.isDead || !llvm::any_of(op.operands, [&](ValueId operand) {
          return depends[operand];
        }))
      continue;
    for (ValueId result : op.results)
      depends[result] = true;
  }
  return depends;
}
