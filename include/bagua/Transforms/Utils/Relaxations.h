//===- Relaxations.h - Algorithms of distributed training as rows ---------===//
//
// What an algorithm does to a step whose gradients are the ranks' own, and what
// it promises of the result. One row each; bagua-relax applies one.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_RELAXATIONS_H
#define BAGUA_TRANSFORMS_UTILS_RELAXATIONS_H

#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Scheduling/Strategy.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace bagua {

/// The attribute of a step: an ArrayAttr of relations and updates, what must
/// hold of what the runtime gives back. Written once, before any decision about
/// communication.
inline constexpr llvm::StringLiteral kContractAttr = "bagua.contract";

struct Relaxation {
  llvm::StringRef name;
  llvm::StringRef paper;
  StrategyClass strategyClass;
  /// The gradients that the algorithm has still to communicate, in block order.
  llvm::SmallVector<mlir::OpResult> (*findGradients)(StepOp step,
                                                     const FactAnalysis &facts);
  /// Puts its communication on them.
  void (*rewrite)(StepOp step, const FactAnalysis &facts,
                  llvm::ArrayRef<mlir::OpResult> gradients);
  /// The contract of the rewritten step; `facts` are those of before. Gives
  /// names to what it speaks of.
  llvm::SmallVector<mlir::Attribute> (*promise)(StepOp step,
                                                const FactAnalysis &facts);
};

/// In alphabetical order.
llvm::ArrayRef<Relaxation> getRelaxations();
/// Null where there is none of this name.
const Relaxation *findRelaxation(llvm::StringRef name);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_RELAXATIONS_H
