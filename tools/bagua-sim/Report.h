//===- Report.h - Predictions as text and JSON ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of bagua-sim: one strategy with its resources and critical path,
// or a table of strategies.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_SIM_REPORT_H
#define BAGUA_TOOLS_BAGUA_SIM_REPORT_H

#include "bagua/Transforms/Bridge/Predict.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace bagua {

/// A short name of a task for people: the name of a compute op, or a collective
/// with its first tensor.
std::string labelOf(mlir::Operation *op);

llvm::json::Object toJson(const Prediction &prediction,
                          const BoundReport &bounded);

/// Prints one strategy: its times, what bounds it, the use of every resource,
/// and the critical path by layer.
void printPrediction(const Prediction &prediction, const BoundReport &bounded,
                     llvm::raw_ostream &os);

/// Prints a row for each prediction, in the order given. A strategy that
/// refuses the step keeps its row, with the reason.
void printTable(llvm::ArrayRef<Prediction> predictions,
                const BoundReport &bounded, llvm::raw_ostream &os);

/// The Chrome trace of one step. It has the same shape as a run's: process 0,
/// the program as thread 0, then the streams.
std::string traceOf(const Prediction &prediction);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_REPORT_H
