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
  /// Adds a pass's decisions about a step or a module, unless the module is on
  /// trial. Passes run on several steps at once, so calls may overlap.
  void add(mlir::Operation *op, llvm::StringRef pass,
           llvm::json::Object decisions);

  /// `{"decisions": [{"step": ..., "pass": ..., ...}]}`, one line for each
  /// decision. Decisions about modules, which have no step, come first; then
  /// steps by name, each in the order in which the passes ran.
  void print(llvm::raw_ostream &os) const;

private:
  friend class ReportTrial;

  std::mutex mutex;
  /// Modules that are compiled only to predict their step time.
  llvm::SmallPtrSet<mlir::Operation *, 2> trials;
  /// JSON texts by the step's name; a module's is empty.
  std::map<std::string, std::vector<std::string>> decisions;
};

/// Attaches the report to every context that is made with the registry. The
/// report must outlive those contexts.
void attachReport(mlir::DialectRegistry &registry, Report &report);

/// The report of a context; null if none was attached.
Report *getReport(mlir::MLIRContext *context);

/// While it lives, decisions of passes about a module stay out of the report,
/// if there is one.
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
