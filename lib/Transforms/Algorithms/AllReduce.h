//===- AllReduce.h - Synchronous data parallelism -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank updates by the mean of all ranks' gradients.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TRANSFORMS_ALGORITHMS_ALLREDUCE_H
#define BAGUA_LIB_TRANSFORMS_ALGORITHMS_ALLREDUCE_H

#include "bagua/Transforms/Algorithms/Relaxations.h"

/// The functions of a row (Relaxation).
namespace bagua::all_reduce {

llvm::SmallVector<mlir::OpResult> findGradients(StepOp step,
                                                const FactAnalysis &facts);
llvm::SmallVector<mlir::Attribute>
promise(StepOp step, const FactAnalysis &facts,
        llvm::ArrayRef<mlir::OpResult> gradients);
void rewrite(StepOp step, const FactAnalysis &facts,
             llvm::ArrayRef<mlir::OpResult> gradients);

} // namespace bagua::all_reduce

#endif // BAGUA_LIB_TRANSFORMS_ALGORITHMS_ALLREDUCE_H
