//===- UnreducedArithmetic.h - Arithmetic in front of reductions ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic that no contract could speak of becomes the program's.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_UNREDUCEDARITHMETIC_H
#define BAGUA_TRANSFORMS_ALGORITHMS_UNREDUCEDARITHMETIC_H

#include "bagua/Dialect/Bagua/FactAnalysis.h"

namespace bagua {

/// Gives the program, with a remark, the arithmetic between a gradient and the
/// step's own reduction of it: no relation can say what becomes of the
/// gradient, but one can say what becomes of the result of that arithmetic.
/// Does the same for arithmetic that makes a statistic from a batch, or from
/// what the program computes. Returns the number of ops. Invalidates the facts
/// if there are any.
int64_t giveUnreduced(StepOp step, const FactAnalysis &facts);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_UNREDUCEDARITHMETIC_H
