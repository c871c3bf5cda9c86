//===- FactAnalysis.h - One forward walk over a step ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts of every value of a step, and whether each state is yielded with the
// agreement that it declares. For gradients this is exactly-once reduction.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_FACTANALYSIS_H
#define BAGUA_DIALECT_BAGUA_FACTANALYSIS_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "llvm/ADT/DenseMap.h"

namespace bagua {

/// Facts of all values of one step. O(ops * axes), a few times where states of
/// the rank's own take up gradients.
class FactAnalysis {
public:
  explicit FactAnalysis(StepOp step) : step(step), context(step) {}

  /// Walks the step. Emits an error and fails at a wrong reduction.
  llvm::LogicalResult run();

  /// Checks the yield: no state worse than declared. After run().
  llvm::LogicalResult verifyYield();

  /// The facts of a value, after run().
  const Facts &factsOf(mlir::Value value) const {
    return facts.find(value)->second;
  }
  const FactContext &getContext() const { return context; }

  /// What an argument promises: the facts it starts a step with.
  Facts declaredFacts(unsigned argument);

private:
  llvm::LogicalResult walk();
  /// Whether a state starts the next step with contributions that it was not
  /// known to hold.
  bool handOn();
  mlir::Value findOrigin(mlir::Value value, unsigned axis);

  StepOp step;
  FactContext context;
  llvm::DenseMap<mlir::Value, Facts> facts;
};

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_FACTANALYSIS_H
