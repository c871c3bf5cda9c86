//===- Phases.cpp - Forward, backward, update -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the phase of every op by data flow.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/Phases.h"

#include "StableHLO/Graph/Flatten.h"
#include "StableHLO/Reading/Scope.h"
#include "StableHLO/Recognition/StateRecognition.h"

using namespace bagua;
using namespace bagua::importer;

/// Values that lead to one of the targets. O(ops).
static std::vector<bool> leadingTo(const Graph &graph,
                                   llvm::ArrayRef<ValueId> targets) {
  std::vector<bool> leads(graph.values.size(), false);
  for (ValueId target : targets)
    leads[target] = true;
  for (const FlatOp &op : llvm::reverse(graph.ops)) {
    if (op.isDead ||
        !llvm::any_of(op.results, [&](ValueId r) { return leads[r]; }))
      continue;
    for (ValueId operand : op.operands)
      leads[operand] = true;
  }
  return leads;
}

/// Results of the step that are no state and depend on no gradient.
static std::vector<ValueId> findLosses(const Graph &graph,
                                       const ImportedStep &model,
                                       const std::vector<bool> &afterGradient) {
  std::vector<bool> isState(graph.outputs.size(), false);
  for (const StepArgument &argument : model.arguments)
    if (argument.isState())
      isState[argument.output] = true;
  std::vector<ValueId> losses;
  for (auto [index, output] : llvm::enumerate(graph.outputs))
    if (!isState[index] && !output.isForMapping && !afterGradient[output.value])
      losses.push_back(output.value);
  return losses;
}

std::vector<PhaseKind> bagua::importer::inferPhases(const Graph &graph,
                                                    const ImportedStep &model) {
  std::vector<ValueId> gradients;
  for (const Gradient &gradient : model.gradients)
    gradients.push_back(gradient.value);
  // The operand of a reduction that is kept for a param counts as its gradient
  // here.
  for (const KeptReduction &kept : model.kept)
    if (kept.param != kNone)
      gradients.push_back(graph.ops[kept.op].operands[0]);
  std::vector<bool> afterGradient = dependents(graph, gradients);
  std::vector<bool> dependsOnBatch = dependentsOfBatch(graph, model);
  std::vector<ValueId> losses = findLosses(graph, model, afterGradient);
  bool hasHints =
      losses.empty() && llvm::any_of(graph.ops, [](const FlatOp &op) {
        return !op.isDead && isTransposedScope(op.loc);
      });
  std::vector<bool> leadsToLoss = leadingTo(graph, losses);
  std::vector<bool> leadsToGradient = leadingTo(graph, gradients);

  std::vector<PhaseKind> phases(graph.ops.size(), PhaseKind::Update);
  auto any = [](llvm::ArrayRef<ValueId> values, const std::vector<bool> &set) {
    return llvm::any_of(values, [&](ValueId value) { return set[value]; });
  };
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    if (op.isDead || any(op.operands, afterGradient))
      continue;
    if (any(op.results, leadsToLoss)) {
      phases[index] = PhaseKind::Forward;
    } else if (any(op.results, leadsToGradient)) {
      bool isForward =
          hasHints && !isTransposedScope(op.loc) && !scopeOf(op.loc).empty();
      phases[index] = isForward ? PhaseKind::Forward : PhaseKind::Backward;
    } else if (any(op.results, dependsOnBatch)) {
      phases[index] = PhaseKind::Forward;
    }
  }
  // An op whose result a forward op uses is no update: it may compute the share
  // of the old value in a buffer.
  std::vector<bool> isUsedForward(graph.values.size(), false);
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const FlatOp &op = graph.ops[i];
    if (op.isDead)
      continue;
    if (phases[i] == PhaseKind::Update && any(op.results, isUsedForward))
      phases[i] = PhaseKind::Forward;
    if (phases[i] == PhaseKind::Forward)
      for (ValueId operand : op.operands)
        isUsedForward[operand] = true;
  }
  return phases;
}
