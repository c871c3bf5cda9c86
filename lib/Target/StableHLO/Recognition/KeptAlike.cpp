//===- KeptAlike.cpp - Values that a step keeps alike on all ranks --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A backward walk finds the values that must be alike, a forward walk checks
// whether they stay so; both are repeated until nothing changes.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/KeptAlike.h"

#include "StableHLO/Recognition/StateAgreement.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

namespace {
class KeptAlike {
public:
  KeptAlike(const Graph &graph, ArrayRef<Copy> copies)
      : graph(graph), copies(copies), refuted(copies.size(), 0) {
    findSeeds();
  }

  std::vector<AxisMask> find();

private:
  void findSeeds();
  std::vector<AxisMask> findNeeded() const;
  bool refute(ArrayRef<AxisMask> kept);
  AxisMask ownOf(size_t index) const {
    return copies[index].mayBeAlike ? graph.arguments[index].own : 0;
  }
  ValueId nextOf(size_t index) const {
    return graph.outputs[copies[index].output].value;
  }

  const Graph &graph;
  ArrayRef<Copy> copies;
  /// By argument: the axes over which its next value must be alike, because
  /// communication makes it so or the module declares it.
  std::vector<AxisMask> seeds;
  /// By argument: the axes over which its next value differs nevertheless.
  std::vector<AxisMask> refuted;
};
} // namespace

/// The axes over which all ranks get the same result of a collective.
static AxisMask sharedBy(const FlatOp &op) {
  return op.kind == OpKind::AllReduce || op.kind == OpKind::AllGather
             ? op.collective.axes
             : 0;
}

void KeptAlike::findSeeds() {
  std::vector<AxisMask> shared(graph.values.size(), 0);
  for (const FlatOp &op : graph.ops) {
    if (op.isDead)
      continue;
    AxisMask axes = sharedBy(op);
    for (ValueId operand : op.operands)
      axes |= shared[operand];
    for (ValueId result : op.results)
      shared[result] = axes;
  }
  for (auto [index, argument] : llvm::enumerate(graph.arguments)) {
    bool isState = copies[index].output != kNone;
    AxisMask declared =
        graph.mesh.allAxes() & ~argument.own & ~argument.sharded;
    seeds.push_back(isState ? declared | (argument.own & shared[nextOf(index)])
                            : 0);
  }
}

/// By argument: those of its own axes over which ranks must agree on it,
/// because a next value on which they must agree uses it without a collective
/// in between.
std::vector<AxisMask> KeptAlike::findNeeded() const {
  std::vector<AxisMask> kept, needed(graph.values.size(), 0);
  for (size_t i = 0; i < copies.size(); ++i)
    kept.push_back(seeds[i] & ~refuted[i] & ownOf(i));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < copies.size(); ++i)
      if (copies[i].output != kNone)
        needed[nextOf(i)] |= kept[i] | (seeds[i] & ~refuted[i]);
    for (const FlatOp &op : llvm::reverse(graph.ops)) {
      if (op.isDead)
        continue;
      AxisMask axes = 0;
      for (ValueId result : op.results)
        axes |= needed[result];
      for (ValueId operand : op.operands)
        needed[operand] |= axes & ~sharedBy(op);
    }
    for (size_t i = 0; i < copies.size(); ++i) {
      AxisMask more =
          needed[graph.arguments[i].value] & ownOf(i) & ~refuted[i] & ~kept[i];
      kept[i] |= more;
      changed |= more != 0;
    }
  }
  return kept;
}

/// Records the next values that must be alike but are not, if the states are
/// alike over `kept`. Returns whether there are any new ones.
bool KeptAlike::refute(ArrayRef<AxisMask> kept) {
  std::vector<AxisMask> differs(graph.values.size(), 0);
  for (auto [index, argument] : llvm::enumerate(graph.arguments))
    differs[argument.value] =
        argument.sharded |
        (copies[index].mayBeAlike
             ? (argument.own & ~kept[index]) | (refuted[index] & ~argument.own)
             : argument.own);
  for (const FlatOp &op : graph.ops)
    if (!op.isDead)
      for (ValueId result : op.results)
        differs[result] = disagreementOf(graph, op, result, differs);
  bool isNew = false;
  for (size_t i = 0; i < copies.size(); ++i) {
    if (copies[i].output == kNone)
      continue;
    AxisMask axes =
        differs[nextOf(i)] & (kept[i] | (seeds[i] & ~ownOf(i))) & ~refuted[i];
    refuted[i] |= axes;
    isNew |= axes != 0;
  }
  return isNew;
}

std::vector<AxisMask> KeptAlike::find() {
  if (llvm::none_of(graph.arguments, [](auto &info) { return info.own != 0; }))
    return std::vector<AxisMask>(copies.size(), 0);
  std::vector<AxisMask> kept = findNeeded();
  // Each turn takes an axis from some argument, so the loop ends.
  while (refute(kept))
    kept = findNeeded();
  return kept;
}

std::vector<AxisMask> bagua::importer::findKeptAlike(const Graph &graph,
                                                     ArrayRef<Copy> copies) {
  return KeptAlike(graph, copies).find();
}
