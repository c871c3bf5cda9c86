//===- CheckResult.h - What a check of a run has found --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of one rank or of all of them.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_REPLAY_CHECKRESULT_H
#define BAGUA_REPLAY_CHECKRESULT_H

#include <cstdint>
#include <string>
#include <vector>

namespace bagua::replay {

struct CheckResult {
  bool passed = true;
  double maxError = 0;
  /// The largest that any tensor was allowed; 0: every bit.
  double tolerance = 0;
  /// Tensors in the contract, or given and not in it; without any, nothing was
  /// checked and the check has failed.
  int64_t tensors = 0;
  /// Of the bits of all results that ranks share: runs that agree in it agree
  /// in these.
  uint64_t digest = 0;
  /// What went wrong, at most a few.
  std::vector<std::string> failures;

  void fail(double error, const std::string &what);
};

} // namespace bagua::replay

#endif // BAGUA_REPLAY_CHECKRESULT_H
