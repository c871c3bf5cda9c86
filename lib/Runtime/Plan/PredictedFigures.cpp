//===- PredictedFigures.cpp - What a plan's step was predicted to take ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the terms of what is measured.
//
//===----------------------------------------------------------------------===//
#include "Plan/PhaseTable.h"

#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Runtime/StepFigures.h"

namespace bagua::runtime {

std::optional<StepFigures> predictedFigures(const Plan &plan,
                                            int64_t iteration) {
  const fb::Prediction *found =
      plan.root().steps()->Get(stepOf(plan.root(), iteration))->prediction();
  if (!found)
    return std::nullopt;
  StepFigures figures;
  figures.step = -1;
  figures.duration = std::chrono::nanoseconds(found->step_ns());
  figures.exposed = std::chrono::nanoseconds(found->exposed_ns());
  figures.bytesSent = found->bytes_sent();
  return figures;
}

} // namespace bagua::runtime
