//===- CompoundFaults.h - Faults at graph level that take several ops -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a wrong lowering could write in the place of a reduction, of feedback or
// of two boxes of one name. Each returns the op that it was done to, or null if
// the step has nothing that it applies to; then the step is as it was.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_COMPOUNDFAULTS_H
#define BAGUA_UNITTESTS_PROOFS_COMPOUNDFAULTS_H

#include "Random.h"

#include "bagua/Dialect/Bagua/Bagua.h"

namespace bagua::proofs {

/// One rank's copy of what is to be reduced, or pieces of several ranks'
/// copies, instead of the reduction or before it.
mlir::Operation *keepOneCopy(StepOp step, Random &random);

/// What is to be reduced changes places between ranks first.
mlir::Operation *mixRanks(StepOp step, Random &random);

/// What is to be reduced is rounded to integers first.
mlir::Operation *roundTerms(StepOp step, Random &random);

/// What is to be reduced shares a bucket with what varies, and the bucket is
/// summed, or rounded, or one rank's is taken.
mlir::Operation *launderTerms(StepOp step, Random &random);

/// The program makes the whole of its own part of the mean, or all take what
/// one rank has made.
mlir::Operation *computeOnParts(StepOp step, Random &random);

/// The program's own communication instead of the reduction.
mlir::Operation *hideReduction(StepOp step, Random &random);

/// A residual is not added, or what is left over is not kept.
mlir::Operation *dropResidual(StepOp step, Random &random);

/// A residual is added twice.
mlir::Operation *repeatResidual(StepOp step, Random &random);

/// What a residual is added to is not sent, but the same without it.
mlir::Operation *withholdResidual(StepOp step, Random &random);

/// A residual is added 0 times, or what is left over is not what was not sent.
mlir::Operation *spoilResidual(StepOp step, Random &random);

/// Two residuals change places, before their use or after it.
mlir::Operation *exchangeResiduals(StepOp step, Random &random);

/// Under asp and ssp, servers use the same gradient of another push as well.
mlir::Operation *pushTwice(StepOp step, Random &random);

/// States keep their values, to which the next ones are added.
mlir::Operation *addToStates(StepOp step, Random &random);

/// What an update makes of one of its states is used, but not kept.
mlir::Operation *loseUpdate(StepOp step, Random &random);

/// All uses of two compute ops that differ in nothing but what they do.
mlir::Operation *exchangeTwins(StepOp step, Random &random);

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_COMPOUNDFAULTS_H
