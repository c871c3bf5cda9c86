//===- StepsInFlight.h - How far steps overlap ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the session allows and the simulator plays.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_STEPSINFLIGHT_H
#define BAGUA_SUPPORT_STEPSINFLIGHT_H

namespace bagua {

/// A step begins when the one so many before it has ended.
inline constexpr int kStepsInFlight = 2;

} // namespace bagua

#endif // BAGUA_SUPPORT_STEPSINFLIGHT_H
