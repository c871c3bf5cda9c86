//===- Auto.cpp - bagua-auto ----------------------------------------------===//
//
// Reads the step, asks Scheduling for the best plan of its communication, and
// compiles by that.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/PlanSearch.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/CommunicationReader.h"
#include "bagua/Transforms/Utils/Predict.h"
#include "bagua/Transforms/Utils/Report.h"
#include "bagua/Transforms/Utils/StepQueries.h"
#include "bagua/Transforms/Utils/Strategies.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>
#include <cmath>

namespace bagua {
#define GEN_PASS_DEF_AUTOPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// The strategy that is the plan.
static std::string textOf(const CommunicationPlan &plan, StringRef wire,
                          int64_t memoryBytes) {
  std::string text = "custom{buckets=" + printBuckets(plan.buckets);
  if (plan.scheduling.policy != SchedulePolicy::Wfbp)
    text += " policy=" + policyName(plan.scheduling.policy);
  if (plan.scheduling.policy == SchedulePolicy::Priority)
    text += " credit-bytes=" + std::to_string(plan.scheduling.creditBytes);
  if (plan.isUpdatedByRuntime)
    text += " updates=runtime";
  if (wire != "none")
    text += (" wire=" + wire).str();
  if (memoryBytes > 0)
    text += " memory=" + std::to_string(memoryBytes);
  return text + "}";
}

static std::string textOf(const PlanSearchResult::Rated &preset, StringRef wire,
                          int64_t memoryBytes) {
  std::string options;
  if (wire != "none")
    options += (" wire=" + wire).str();
  if (memoryBytes > 0)
    options += " memory=" + std::to_string(memoryBytes);
  return options.empty() ? preset.name
                         : preset.name + "{" + options.substr(1) + "}";
}

/// Once a second, a line for those who wait.
static auto makeProgress(int64_t limit) {
  using Clock = std::chrono::steady_clock;
  return [limit, next = Clock::now() + std::chrono::seconds(1)](
             int64_t evaluations, double bestNs) mutable {
    if (Clock::now() < next)
      return;
    next = Clock::now() + std::chrono::seconds(1);
    llvm::errs() << llvm::formatv(
        "bagua-auto: {0} of at most {1} simulations, best {2:F3} ms\n",
        evaluations, limit, bestNs * 1e-6);
  };
}

static llvm::json::Array describe(ArrayRef<PlanSearchResult::Rated> plans) {
  llvm::json::Array list;
  for (const PlanSearchResult::Rated &plan : plans)
    if (std::isfinite(plan.stepNs))
      list.push_back(
          llvm::json::Object{{"name", plan.name}, {"step_ns", plan.stepNs}});
  return list;
}

namespace {
struct AutoPass : public bagua::impl::AutoPassBase<AutoPass> {
  using AutoPassBase::AutoPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (wire != "none" && wire != "f16" && wire != "bf16") {
      module.emitError() << "expected wire none, f16 or bf16, found '" << wire
                         << "'";
      return signalPassFailure();
    }
    FailureOr<CommunicationProblem> problem = readCommunication(module);
    if (failed(problem))
      return signalPassFailure();
    std::string chosen = "custom";
    if (!problem->gradients.empty()) {
      FailureOr<NamedBoundProblem> bounded = readBound(*getOnlyStep(module));
      if (failed(bounded))
        return signalPassFailure();
      int64_t least =
          arenaBytes(*problem, leanestPlan(*problem, wire == "none" ? 1 : 2));
      if (memory > 0 && least > memory) {
        module.emitError() << "expected at most " << memory.getValue()
                           << " bytes of runtime memory, found " << least
                           << " with every gradient by itself, "
                           << least - memory << " too many";
        return signalPassFailure();
      }
      chosen = search(*problem, lowerBound(bounded->problem).ns);
    }
    OpPassManager manager(ModuleOp::getOperationName());
    if (failed(parsePassPipeline(llvm::cantFail(expandStrategy(chosen)),
                                 manager)) ||
        failed(runPipeline(manager, module)))
      return signalPassFailure();
    module->setAttr("bagua.strategy", StringAttr::get(&getContext(), chosen));
  }

private:
  std::string search(const CommunicationProblem &problem, double boundNs) {
    PlanSearchOptions options;
    options.evaluations = evaluations;
    // 16-bit gradients take half the bytes, so no bound of 32-bit ones holds.
    options.narrowing = wire == "none" ? 1 : 2;
    options.memoryBytes = memory;
    options.boundNs = wire == "none" ? boundNs : 0;
    options.progress = makeProgress(evaluations);
    PlanSearchResult found = searchPlan(problem, options);
    const PlanSearchResult::Rated &best =
        *llvm::min_element(found.presets, [](const auto &a, const auto &b) {
          return a.stepNs < b.stepNs;
        });
    // A preset is known by its name. What the passes make of the plan is what
    // counts in the end.
    std::string chosen = textOf(best, wire, memory);
    if (found.stepNs < best.stepNs) {
      std::string text = textOf(found.plan, wire, memory);
      if (predict(getOperation(), text).stepNs <=
          predict(getOperation(), chosen).stepNs)
        chosen = text;
    }
    if (Report *report = getReport(&getContext()))
      report->add(getOperation(), getArgument(),
                  llvm::json::Object{{"chosen", chosen},
                                     {"step_ns", found.stepNs},
                                     {"lower_bound_ns", boundNs},
                                     {"evaluations", found.evaluations},
                                     {"presets", describe(found.presets)},
                                     {"without", describe(found.without)}});
    return chosen;
  }
};
} // namespace
