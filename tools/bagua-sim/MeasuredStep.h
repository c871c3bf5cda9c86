//===- MeasuredStep.h - A step of a real run ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the trace that a rank writes under BAGUA_TRACE, and picks a step to
// compare with a prediction.
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

/// A step of one rank. Times are in ns from the step's beginning.
struct MeasuredStep {
  struct Span {
    int64_t thread;
    double startNs, endNs;
    std::string label;
    int64_t bytes;
  };

  int64_t step = 0;
  /// The number of steps in the trace, of which this one has the median
  /// duration.
  size_t steps = 0;
  int64_t rank = 0;
  /// The time to the next step's beginning, or to the end of finish().
  double durationNs = 0;
  /// The part of the duration in which the program waited.
  double exposedNs = 0;
  /// The names of the threads by number: first the program, then the streams.
  std::vector<std::string> threads;
  std::vector<Span> spans;
};

/// Reads the trace in `path`. An error names the file and what was unexpected.
llvm::Expected<MeasuredStep> readMeasuredStep(llvm::StringRef path);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_MEASUREDSTEP_H
