//===- FactAnalysis.h - One forward walk over a step ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the facts of every value of a step, and checks that each state is
// yielded with the agreement that it declares. For gradients this means that
// each is reduced exactly once.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_FACTANALYSIS_H
#define BAGUA_DIALECT_BAGUA_FACTANALYSIS_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "llvm/ADT/DenseMap.h"

namespace bagua {

/// Facts of all values of one step. O(ops * axes), a few times if states of a
/// rank's own take up gradients.
class FactAnalysis {
public:
  explicit FactAnalysis(StepOp step) : step(step), context(step) {}

  /// Walks the step. Emits an error and fails at a wrong reduction.
  llvm::LogicalResult run();

  /// Checks that no yielded state agrees less than declared. Needs run().
  llvm::LogicalResult verifyYield();

  /// The facts of a value. Needs run().
  const Facts &factsOf(mlir::Value value) const {
    return facts.find(value)->second;
  }
  const FactContext &getContext() const { return context; }

  /// The facts with which an argument starts a step, as it declares them.
  Facts declaredFacts(unsigned argument);

private:
  llvm::LogicalResult walk();
  /// Adds to the states' facts the contributions to a mean that the step leaves
  /// in them. Returns whether any of these are new.
  bool handOn();
  mlir::Value findOrigin(mlir::Value value, unsigned axis);

  StepOp step;
  FactContext context;
  llvm::DenseMap<mlir::Value, Facts> facts;
};

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_FACTANALYSIS_H
