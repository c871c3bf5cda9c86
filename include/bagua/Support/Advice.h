//===- Advice.h - What to do about a fault, in one wording ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wording of errors that tools and the runtime both give.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_ADVICE_H
#define BAGUA_SUPPORT_ADVICE_H

#include <cstdint>
#include <string>

namespace bagua {

/// Says that the plan is for `planned` ranks, `servers` of them servers, but
/// that `place` (such as `the world`) has `found` ranks, and how a plan for
/// that number is made.
inline std::string adviseOnRanks(int64_t planned, int64_t servers,
                                 const std::string &place, int64_t found) {
  std::string apart =
      servers > 0 ? " (" + std::to_string(servers) + " of them servers)" : "";
  return "the plan is for " + std::to_string(planned) + " ranks" + apart +
         ", " + place + " has " + std::to_string(found) +
         "; a plan for this number is made from the same step by "
         "bagua-translate --import-... --cluster=rank=" +
         std::to_string(found) +
         ", bagua-opt --bagua-strategy=... and bagua-translate --export-plan";
}

} // namespace bagua

#endif // BAGUA_SUPPORT_ADVICE_H
