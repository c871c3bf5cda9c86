//===- StepSummary.cpp - A step in a few numbers --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts what a step has.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/StepSummary.h"

using namespace mlir;
using namespace bagua;

StepSummary bagua::summarize(StepOp step,
                             std::optional<int64_t> allReducesFound) {
  StepSummary summary;
  summary.name = step.getSymName().str();
  for (auto argument : step.getArguments().getAsRange<ArgumentAttr>())
    if (argument.getRole() == Role::Param)
      ++summary.parameters;
  for (Operation &op : step.getBody().front()) {
    if (isa<AllReduceOp>(op))
      ++summary.allReducesFound;
    auto compute = dyn_cast<ComputeOp>(op);
    if (!compute)
      continue;
    ++summary.computeOps;
    summary.flops += static_cast<int64_t>(compute.getFlops().value_or(0));
    for (OpResult result : compute->getResults()) {
      StringAttr param = getGradientParam(result);
      if (!param)
        continue;
      auto type = cast<RankedTensorType>(result.getType());
      ++summary.gradients;
      summary.gradientBytes +=
          getElementCount(type) * getElementBytes(type.getElementType());
      summary.gradientNames.push_back(param.str());
    }
  }
  llvm::sort(summary.gradientNames);
  summary.allReducesFound = allReducesFound.value_or(summary.allReducesFound);
  return summary;
}

llvm::json::Object bagua::toJson(const StepSummary &summary) {
  llvm::json::Array names;
  for (const std::string &name : summary.gradientNames)
    names.push_back(name);
  llvm::json::Array kept;
  for (const std::string &reduction : summary.keptReductions)
    kept.push_back(reduction);
  return llvm::json::Object{{"name", summary.name},
                            {"gradients", summary.gradients},
                            {"gradient_bytes", summary.gradientBytes},
                            {"parameters", summary.parameters},
                            {"all_reduces_found", summary.allReducesFound},
                            {"flops", summary.flops},
                            {"compute_ops", summary.computeOps},
                            {"gradient_names", std::move(names)},
                            {"kept_reductions", std::move(kept)}};
}
