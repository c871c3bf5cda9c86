//===- Sweep.h - Strategies over a range of clusters ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same step and strategies, with one number of the cluster changed.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_SIM_SWEEP_H
#define BAGUA_TOOLS_BAGUA_SIM_SWEEP_H

#include "bagua/Transforms/Utils/Predict.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace bagua {

/// What is changed, always of the outermost axis: rate, latency or size.
enum class SweepKind { Bandwidth, Latency, Ranks };

struct SweepPoint {
  /// Bytes a second, ns, or ranks in all.
  int64_t value;
  double boundNs;
  /// By strategy; nothing where it refuses.
  std::vector<std::optional<double>> stepNs;
};

struct Sweep {
  SweepKind kind;
  std::string step, axis;
  std::vector<std::string> strategies;
  /// By ascending value.
  std::vector<SweepPoint> points;
};

/// From an eighth to eight times what the module's cluster has; ranks from a
/// quarter, and dedicated servers with them. Emits errors.
llvm::FailureOr<Sweep> sweep(mlir::ModuleOp module, SweepKind kind,
                             llvm::ArrayRef<std::string> strategies);

/// A row a value, a column a strategy.
void printSweep(const Sweep &sweep, llvm::raw_ostream &os);
llvm::json::Object toJson(const Sweep &sweep);
/// One HTML file.
std::string pageOf(const Sweep &sweep);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_SWEEP_H
