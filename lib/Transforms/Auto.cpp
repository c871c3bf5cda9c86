//===- Auto.cpp - bagua-auto ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the step, asks Scheduling for the best plan of its communication, and
// compiles the step by that plan.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/PlanGraph.h"
#include "bagua/Scheduling/Search/PlanSearch.h"
#include "bagua/Transforms/Bridge/CommunicationReader.h"
#include "bagua/Transforms/Bridge/Predict.h"
#include "bagua/Transforms/Bridge/StrategyPipeline.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Report.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

#include <chrono>
#include <cmath>
#include <map>

namespace bagua {
#define GEN_PASS_DEF_AUTOPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// Emits a remark once a second, for users who wait.
static auto makeProgress(ModuleOp module, int64_t limit) {
  using Clock = std::chrono::steady_clock;
  return
      [module, limit, next = Clock::now() + std::chrono::seconds(1)](
          int64_t evaluations, double bestNs) mutable {
        if (Clock::now() < next)
          return;
        next = Clock::now() + std::chrono::seconds(1);
        module.emitRemark()
            << llvm::formatv(
                   "bagua-auto: {0} of at most {1} simulations, best {2:F3} ms",
                   evaluations, limit, bestNs * 1e-6)
                   .str();
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
    UserChoices choices{wire, updates, memory};
    FailureOr<CommunicationProblem> problem =
        readCommunication(module, choices.allows(UpdatesBy::Late));
    if (failed(problem))
      return signalPassFailure();
    problem->canServeWire = isReducible(choices.wire);
    // Without gradients there is nothing to decide.
    CommunicationPlan nothing;
    nothing.isUpdatedByRuntime = !choices.allows(UpdatesBy::Program);
    std::string chosen = textOf(nothing, choices);
    if (!problem->gradients.empty()) {
      StepOp step = *getOnlyStep(module);
      warnOfUnpriced(step);
      FailureOr<NamedBoundProblem> bounded = readBound(step);
      if (failed(bounded))
        return signalPassFailure();
      if (memory > 0)
        measureOtherBytes(*problem, choices);
      int64_t least = arenaBytes(*problem, leanestPlan(*problem, choices));
      if (memory > 0 && least > memory) {
        step.emitError() << "expected at most " << memory.getValue()
                         << " bytes of runtime memory, found " << least
                         << " with every gradient by itself, " << least - memory
                         << " too many";
        return signalPassFailure();
      }
      chosen = search(*problem, choices, lowerBound(bounded->problem).ns);
    }
    OpPassManager manager(ModuleOp::getOperationName());
    if (failed(parsePassPipeline(llvm::cantFail(expandDecisions(chosen)),
                                 manager)) ||
        failed(runPipeline(manager, module)))
      return signalPassFailure();
    module->setAttr(kStrategyAttr, StringAttr::get(&getContext(), chosen));
  }

private:
  /// Measures the arena bytes that are not the gradients': those that the
  /// leanest plan's step takes beyond the plan's own.
  void measureOtherBytes(CommunicationProblem &problem, UserChoices choices) {
    choices.memoryBytes = 0;
    for (UpdatesBy side : {UpdatesBy::Program, UpdatesBy::Runtime}) {
      if (!choices.allows(side))
        continue;
      CommunicationPlan lean = leanestPlan(problem, choices);
      lean.isUpdatedByRuntime = side == UpdatesBy::Runtime;
      Prediction prediction = predict(getOperation(), textOf(lean, choices));
      if (!prediction.refusal.empty())
        continue;
      int64_t &other = lean.isUpdatedByRuntime ? problem.otherBytesByRuntime
                                               : problem.otherBytesByProgram;
      other = std::max<int64_t>(0, prediction.peakBytes -
                                       arenaBytes(problem, lean));
    }
  }

  std::string search(const CommunicationProblem &problem,
                     const UserChoices &choices, double boundNs) {
    PlanSearchOptions options;
    options.evaluations = evaluations;
    options.choices = choices;
    // 16-bit gradients take half the bytes, so the bound for 32-bit ones does
    // not hold.
    options.boundNs = choices.wire.isNone() ? boundNs : 0;
    // A log needs no progress, and would get the parts of each remark one by
    // one.
    if (llvm::sys::Process::StandardErrIsDisplayed())
      options.progress = makeProgress(getOperation(), evaluations);
    PlanSearchResult found = searchPlan(problem, options);
    std::string chosen = chooseTime(found, choices);
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

  /// The text of the best candidate and its time. A preset is taken under its
  /// own name. A candidate's time is that of the step which the passes make of
  /// it; a candidate that they refuse is left out. The time is infinite if they
  /// refuse all.
  std::pair<std::string, double> choose(const PlanSearchResult &found,
                                        const UserChoices &choices) {
    std::vector<PlanCandidate> presets;
    for (const PlanSearchResult::Rated &preset : found.presets)
      if (std::isfinite(preset.stepNs))
        presets.push_back({textOf(*findStrategy(preset.name), choices),
                           preset.stepNs, preset.collectives});
    PlanCandidate plan{textOf(found.plan, choices), found.stepNs,
                       found.collectives};
    auto textAt = [&](size_t index) {
      return index < presets.size() ? presets[index].text : plan.text;
    };
    std::map<size_t, double> measured;
    auto measure = [&](size_t index) -> std::optional<double> {
      Prediction prediction = predict(getOperation(), textAt(index));
      if (prediction.refusal.empty())
        return measured[index] = prediction.stepNs;
      getOnlyStep(getOperation())->emitRemark()
          << "leaves out " << textAt(index)
          << ", which can't be compiled: " << prediction.refusal;
      return std::nullopt;
    };
    if (std::optional<size_t> index = pickCandidate(presets, plan, measure))
      return {textAt(*index), measured.at(*index)};
    return {plan.text, HUGE_VAL}; // says why it can't be
  }

  /// A late update may have to wait although it would have filled a gap; so the
  /// plan is also tried with no late updates.
  std::string chooseTime(const PlanSearchResult &found,
                         const UserChoices &choices) {
    auto [late, lateNs] = choose(found, choices);
    if (!choices.allows(UpdatesBy::Late))
      return late;
    UserChoices inTime = choices;
    inTime.updates = AllowedUpdates::Program;
    auto [early, earlyNs] = choose(found, inTime);
    return earlyNs < lateNs ? early : late;
  }
};
} // namespace
