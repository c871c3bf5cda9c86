//===- Report.h - What the passes decided ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list of decisions, written by passes and read by people and scripts: which
// gradients share a bucket, how many bytes the buckets take. Debian's LLVM is
// built without pass statistics; these would say less anyway.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_REPORT_H
#define BAGUA_TRANSFORMS_UTILS_REPORT_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace bagua {

class Report {
public:
  /// Adds what a pass decided about a step or a module, unless that is on
  /// trial. Passes run on several steps at once.
  void add(mlir::Operation *op, llvm::StringRef pass,
           llvm::json::Object decisions);

  /// `{"decisions": [{"step": ..., "pass": ..., ...}]}`, a line each: those of
  /// modules first, without a step; then step by step, by name, and for each in
  /// the order in which the passes ran.
  void print(llvm::raw_ostream &os) const;

private:
  friend class ReportTrial;

  std::mutex mutex;
  /// Modules that are compiled to see what would become of them.
  llvm::SmallPtrSet<mlir::Operation *, 2> trials;
  /// JSON texts by the step's name; a module's is empty.
  std::map<std::string, std::vector<std::string>> decisions;
};

/// Has the passes of every context that is made with the registry write to the
/// report, which outlives them.
void attachReport(mlir::DialectRegistry &registry, Report &report);

/// Where a pass reports; null where nobody asked.
Report *getReport(mlir::MLIRContext *context);

/// While it lives, what passes decide about a module is nobody's decision and
/// stays out of the report, if there is one.
class ReportTrial {
public:
  explicit ReportTrial(mlir::ModuleOp module);
  ~ReportTrial();
  ReportTrial(const ReportTrial &) = delete;
  ReportTrial &operator=(const ReportTrial &) = delete;

private:
  Report *report;
  mlir::Operation *module;
};

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_REPORT_H
