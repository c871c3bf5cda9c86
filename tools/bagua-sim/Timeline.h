//===- Timeline.h - A simulated step as a page ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws streams, links and memory over time.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_SIM_TIMELINE_H
#define BAGUA_TOOLS_BAGUA_SIM_TIMELINE_H

#include "MeasuredStep.h"

#include "bagua/Transforms/Bridge/Predict.h"

namespace bagua {

/// The page as one HTML file. The use of a link is a mean over each message's
/// flow. Memory counts the parts of arenas whose value will still be used. The
/// streams of a measured step stand below those of the prediction; `measured`
/// may be null.
std::string timelineOf(const Prediction &prediction, const BoundReport &bounded,
                       const MeasuredStep *measured = nullptr);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_TIMELINE_H
