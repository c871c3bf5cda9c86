//===- StepSummary.h - A step in a few numbers ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The summary that every importer reports of its step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STEPSUMMARY_H
#define BAGUA_TARGET_STEPSUMMARY_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace bagua {

struct StepSummary {
  std::string name;
  /// Gradient tensors, and their bytes on one rank.
  int64_t gradients = 0;
  int64_t gradientBytes = 0;
  /// Param tensors.
  int64_t parameters = 0;
  /// all_reduces of the exported step, including those that became the meaning
  /// of a gradient. Only the importer knows their number; the step alone shows
  /// the others.
  int64_t allReducesFound = 0;
  /// Sum over compute ops, on one rank.
  int64_t flops = 0;
  int64_t computeOps = 0;
  /// Names of the gradients' params, ascending.
  std::vector<std::string> gradientNames;
  /// The exported reductions that are not of a gradient, and why. Only the
  /// importer knows these, too.
  std::vector<std::string> keptReductions;
};

/// Counts the summary from the step.
StepSummary summarize(StepOp step,
                      std::optional<int64_t> allReducesFound = std::nullopt);

/// The object that `--summary --json` prints.
llvm::json::Object toJson(const StepSummary &summary);

} // namespace bagua

#endif // BAGUA_TARGET_STEPSUMMARY_H
