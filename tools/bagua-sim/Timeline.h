//===- Timeline.h - A simulated step as a page ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, links and memory over time.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_SIM_TIMELINE_H
#define BAGUA_TOOLS_BAGUA_SIM_TIMELINE_H

#include "MeasuredStep.h"

#include "bagua/Transforms/Utils/Predict.h"

namespace bagua {

/// One HTML file. A link's use is a mean over each message's flow; memory is
/// what of the arenas holds a value that is still to be used. Streams of a real
/// run stand below those that are predicted; null: there is none.
std::string timelineOf(const Prediction &prediction, const BoundReport &bounded,
                       const MeasuredStep *measured = nullptr);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_TIMELINE_H
