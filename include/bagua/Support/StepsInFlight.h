//===- StepsInFlight.h - How far steps overlap ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A limit that the session enforces and the simulator models.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_STEPSINFLIGHT_H
#define BAGUA_SUPPORT_STEPSINFLIGHT_H

namespace bagua {

/// A step begins only when the step this many before it has ended.
inline constexpr int kStepsInFlight = 2;

} // namespace bagua

#endif // BAGUA_SUPPORT_STEPSINFLIGHT_H
