//===- Pushes.cpp - What servers compute when a push arrives --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under asp and ssp, ops after a push run whenever a push arrives, with that
// one term. At that time another push has not arrived, or has brought a value
// of another time.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/GraphProof.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace bagua;

LogicalResult bagua::verifyPushes(StepOp step) {
  if (!step.isAsynchronous())
    return success();
  // The push at whose arrival each value is computed.
  llvm::DenseMap<Value, PushOp> arrivals;
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (isa<PullOp>(op))
      continue; // a worker pulls at a time of its own
    auto arrival = dyn_cast<PushOp>(op);
    for (Value operand : op.getOperands()) {
      PushOp other = arrivals.lookup(operand);
      if (!other || other == arrival)
        continue;
      if (arrival) {
        InFlightDiagnostic diagnostic =
            op.emitOpError() << "expected a value that depends on one push, "
                                "found a value that depends on two, which are "
                                "applied one by one under consistency "
                             << stringifyConsistency(*step.getConsistency());
        diagnostic.attachNote(arrival.getLoc()) << "one push is here";
        diagnostic.attachNote(other.getLoc()) << "the other is here";
        return diagnostic;
      }
      arrival = other;
    }
    if (arrival)
      for (OpResult result : op.getResults())
        arrivals[result] = arrival;
  }
  return success();
}
