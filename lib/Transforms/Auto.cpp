//===- Auto.cpp - bagua-auto ----------------------------------------------===//
//
// Searches over the table of strategies and their options, the simulator being
// the judge, and compiles by the best.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Predict.h"
#include "bagua/Transforms/Report.h"
#include "bagua/Transforms/Strategies.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace bagua {
#define GEN_PASS_DEF_AUTOPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// From so many of the best strategies the search starts.
static constexpr size_t kStarts = 3;
/// A change that gains less is not worth its words.
static constexpr double kLeastGain = 1e-4;

namespace {
/// A strategy with values for all of its options.
struct Candidate {
  const Strategy *strategy;
  SmallVector<StrategyOption> options;
  double stepNs = 0;

  /// With the options that are not the default.
  std::string text() const;
};

class Search {
public:
  Search(ModuleOp module, int64_t budget, StringRef wire)
      : module(module), budget(budget), wire(wire) {}

  /// The best that was found; nothing if every strategy refuses the step.
  std::optional<Candidate> run();

  std::string refusal;
  int64_t evaluations = 0;
  llvm::json::Array presets, changes;

private:
  bool evaluate(Candidate &candidate);
  void improve(Candidate &candidate);

  ModuleOp module;
  int64_t budget;
  StringRef wire;
};
} // namespace

std::string Candidate::text() const {
  std::string given;
  for (auto [option, original] : llvm::zip_equal(options, optionsOf(*strategy)))
    if (option.value != original.value)
      given += (given.empty() ? "" : " ") + option.name + "=" + option.value;
  return strategy->name.str() + (given.empty() ? "" : "{" + given + "}");
}

/// Other values of an option that are worth a try.
static SmallVector<std::string> neighboursOf(const StrategyOption &option) {
  if (option.name == "form")
    return {"flat", "leader", "rail", "multilevel", "cheapest"};
  if (option.name == "servers")
    return {"spread", "balanced"};
  int64_t number;
  if (StringRef(option.value).getAsInteger(10, number))
    return {};
  if (number == 0)
    return {"1048576", "4194304"};
  return {std::to_string(number / 2), std::to_string(number * 2)};
}

bool Search::evaluate(Candidate &candidate) {
  ++evaluations;
  Prediction prediction = predict(module, candidate.text());
  candidate.stepNs = prediction.stepNs;
  if (prediction.refusal.empty())
    return true;
  if (refusal.empty())
    refusal = prediction.refusal;
  return false;
}

/// Changes one option at a time as long as that helps.
void Search::improve(Candidate &best) {
  bool isBetter = true;
  while (isBetter) {
    isBetter = false;
    for (size_t i = 0; i < best.options.size(); ++i)
      for (const std::string &value : neighboursOf(best.options[i])) {
        if (evaluations >= budget)
          return;
        Candidate changed = best;
        changed.options[i].value = value;
        if (value == best.options[i].value || !evaluate(changed) ||
            changed.stepNs >= best.stepNs * (1 - kLeastGain))
          continue;
        changes.push_back(
            llvm::json::Object{{"strategy", changed.text()},
                               {"gained_ns", best.stepNs - changed.stepNs}});
        best = changed;
        isBetter = true;
      }
  }
}

std::optional<Candidate> Search::run() {
  std::vector<Candidate> found;
  for (const Strategy &strategy : getStrategies()) {
    if (strategy.name == "auto")
      continue;
    Candidate candidate{&strategy, optionsOf(strategy)};
    for (StrategyOption &option : candidate.options)
      if (option.name == "wire")
        option.value = wire.str();
    if (!evaluate(candidate))
      continue;
    presets.push_back(llvm::json::Object{{"strategy", candidate.text()},
                                         {"step_ns", candidate.stepNs}});
    found.push_back(candidate);
  }
  if (found.empty())
    return std::nullopt;
  auto isFaster = [](const Candidate &a, const Candidate &b) {
    return a.stepNs < b.stepNs;
  };
  llvm::stable_sort(found, isFaster);
  found.resize(std::min(found.size(), kStarts));
  for (Candidate &candidate : found)
    improve(candidate);
  return *llvm::min_element(found, isFaster);
}

namespace {
struct AutoPass : public bagua::impl::AutoPassBase<AutoPass> {
  using AutoPassBase::AutoPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Search search(module, evaluations, wire.getValue());
    std::optional<Candidate> best = search.run();
    if (!best) {
      module.emitError() << "no strategy compiles the step: " << search.refusal;
      return signalPassFailure();
    }
    std::string text = best->text();
    OpPassManager manager(ModuleOp::getOperationName());
    if (failed(
            parsePassPipeline(llvm::cantFail(expandStrategy(text)), manager)) ||
        failed(runPipeline(manager, module)))
      return signalPassFailure();
    module->setAttr("bagua.strategy", StringAttr::get(&getContext(), text));
    if (Report *report = getReport(&getContext()))
      report->add(module, getArgument(),
                  llvm::json::Object{{"chosen", text},
                                     {"step_ns", best->stepNs},
                                     {"evaluations", search.evaluations},
                                     {"presets", std::move(search.presets)},
                                     {"changes", std::move(search.changes)}});
  }
};
} // namespace
