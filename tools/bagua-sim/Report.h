//===- Report.h - Predictions as text and JSON ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What bagua-sim prints: one strategy with its resources and critical path, or
// a table over strategies.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_SIM_REPORT_H
#define BAGUA_TOOLS_BAGUA_SIM_REPORT_H

#include "bagua/Transforms/Utils/Predict.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace bagua {

/// What a person would call a task: a compute op's name, a collective with its
/// first tensor.
std::string labelOf(mlir::Operation *op);

llvm::json::Object toJson(const Prediction &prediction,
                          const BoundReport &bounded);

/// One strategy: times, what binds, every resource's use, the critical path
/// by layer.
void printPrediction(const Prediction &prediction, const BoundReport &bounded,
                     llvm::raw_ostream &os);

/// A row each, in the order given; refusals keep theirs, with the reason.
void printTable(llvm::ArrayRef<Prediction> predictions,
                const BoundReport &bounded, llvm::raw_ostream &os);

/// A Chrome trace of one step, of the shape of a run's (process 0, thread 0 the
/// program, then the streams).
std::string traceOf(const Prediction &prediction);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_REPORT_H
