//===- GraphMutator.h - Random faults at graph level ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a broken pass could do to a step: every operation here has the shape of
// a mistake in an operand, an op, a kind, a group or a mark.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_GRAPHMUTATOR_H
#define BAGUA_UNITTESTS_PROOFS_GRAPHMUTATOR_H

#include "Random.h"

#include "bagua/Dialect/Bagua/Bagua.h"

#include <optional>
#include <string>

namespace bagua::proofs {

enum class GraphMutation {
  DropOp,
  DropChain,
  DuplicateOp,
  ChangeAxes,
  ChangeKind,
  ExchangeOperands,
  ReplaceOperand,
  ExchangeValues,
  MoveMark,
  // CompoundFaults.h.
  KeepOneCopy,
  MixRanks,
  RoundTerms,
  LaunderTerms,
  ComputeOnParts,
  HideReduction,
  DropResidual,
  RepeatResidual,
  WithholdResidual,
  SpoilResidual,
  ExchangeResiduals,
  PushTwice,
  AddToStates,
  LoseUpdate,
  ExchangeTwins,
  /// Means the same: another hierarchy, or a cut that is put together again.
  Rewrite,
};

inline constexpr int kGraphMutationCount =
    static_cast<int>(GraphMutation::Rewrite) + 1;

llvm::StringRef stringifyGraphMutation(GraphMutation mutation);

/// What was done: the kind, and the op that it was done to, by its name without
/// the dialect.
struct GraphFault {
  GraphMutation mutation;
  std::string op;
  /// Compute, or what compute of forward or backward uses: the program's own
  /// choice.
  bool isInProgram = false;
};

/// Changes the step. Nothing if the choice made does not apply to it; then the
/// step is as it was. The result need not pass MLIR's verifier.
std::optional<GraphFault> mutateGraph(StepOp step, Random &random);

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_GRAPHMUTATOR_H
