//===- MeasuredStep.h - A step of a real run ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the trace of a rank that BAGUA_TRACE has it write, and picks a step to
// be laid beside a prediction.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_SIM_MEASUREDSTEP_H
#define BAGUA_TOOLS_BAGUA_SIM_MEASUREDSTEP_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bagua {

/// Times count from the step's beginning, in ns.
struct MeasuredStep {
  struct Span {
    int64_t thread;
    double startNs, endNs;
    std::string label;
    int64_t bytes;
  };

  int64_t step = 0;
  /// Among how many steps it is the median by duration.
  size_t steps = 0;
  int64_t rank = 0;
  /// To the next step's beginning, or to the end of finish().
  double durationNs = 0;
  /// How much of that the program waited.
  double exposedNs = 0;
  /// By number: the program's, then streams'.
  std::vector<std::string> threads;
  std::vector<Span> spans;
};

/// An error names the file and what is not as expected.
llvm::Expected<MeasuredStep> readMeasuredStep(llvm::StringRef path);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_MEASUREDSTEP_H
