//===- StepParts.cpp - What an op is to a step's schedule -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks backwards from gradients, then forwards from communication.
//
//===----------------------------------------------------------------------===//
#include "StepParts.h"

using namespace bagua;

std::vector<StepPart> bagua::classifyOps(const OpGraph &step) {
  const int32_t size = step.size();
  // An op that leads to a gradient must not be put off.
  std::vector<bool> reachesGradient(size, false);
  for (int32_t op = size; op-- > 0;) {
    if (step[op].makesGradient)
      reachesGradient[op] = true;
    if (reachesGradient[op])
      for (int32_t from : step.operandsOf(op))
        if (!OpGraph::isState(from))
          reachesGradient[from] = true;
  }
  std::vector<StepPart> parts(size);
  for (int32_t op = 0; op < size; ++op) {
    bool isProgram = step[op].kind == GraphOpKind::Compute, isLate = false;
    for (int32_t from : step.operandsOf(op))
      if (!OpGraph::isState(from))
        isLate |= parts[from] == StepPart::Late ||
                  (parts[from] == StepPart::Comm && isProgram);
    if (isLate && !reachesGradient[op])
      parts[op] = StepPart::Late;
    else if (isProgram)
      parts[op] = StepPart::Main;
    else
      parts[op] = reachesGradient[op] ? StepPart::Activation : StepPart::Comm;
  }
  return parts;
}
