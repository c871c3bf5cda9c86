//===- Sweep.h - Strategies over a range of clusters ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simulates one step and one list of strategies on clusters that differ in one
// number.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_SIM_SWEEP_H
#define BAGUA_TOOLS_BAGUA_SIM_SWEEP_H

#include "bagua/Transforms/Bridge/Predict.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace bagua {

/// The number that changes: rate, latency or size of the outermost axis.
enum class SweepKind { Bandwidth, Latency, Ranks };

struct SweepPoint {
  /// The value of the number: bytes a second, ns, or ranks in all.
  int64_t value;
  double boundNs;
  /// The step time of each strategy; nothing if it refuses the step.
  std::vector<std::optional<double>> stepNs;
};

struct Sweep {
  SweepKind kind;
  std::string step, axis;
  std::vector<std::string> strategies;
  /// Points by ascending value.
  std::vector<SweepPoint> points;
};

/// Sweeps from an eighth of the value of the module's cluster to eight times
/// that value; for ranks from a quarter, and the dedicated servers grow in
/// proportion. Emits errors.
llvm::FailureOr<Sweep> sweep(mlir::ModuleOp module, SweepKind kind,
                             llvm::ArrayRef<std::string> strategies);

/// Prints a table with a row for each value and a column for each strategy.
void printSweep(const Sweep &sweep, llvm::raw_ostream &os);
llvm::json::Object toJson(const Sweep &sweep);
/// The sweep as one HTML file.
std::string pageOf(const Sweep &sweep);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_SWEEP_H
