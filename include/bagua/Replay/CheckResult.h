//===- CheckResult.h - The result of checking a run -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result for one rank, or for all ranks together.
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
  /// The largest tolerance of any tensor; 0 if every bit must agree.
  double tolerance = 0;
  /// The number of tensors checked: those in the contract, and those given but
  /// not in it. If it is 0, nothing was checked, and the check has failed.
  int64_t tensors = 0;
  /// Iterations that were checked.
  int64_t steps = 0;
  /// A digest of the bits of all results that ranks share: if the digests of
  /// two runs agree, so do these bits.
  uint64_t digest = 0;
  /// Tensors that could be checked in no or only the first iterations, and why.
  std::vector<std::string> unchecked;
  /// Descriptions of the first few failures.
  std::vector<std::string> failures;

  void fail(double error, const std::string &what);
};

} // namespace bagua::replay

#endif // BAGUA_REPLAY_CHECKRESULT_H
