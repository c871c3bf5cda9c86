//===- StepStrategies.cpp - A strategy for each step of a module ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a list of strategies; what each strategy means is StrategyText's.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/StepStrategies.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace bagua;

bool bagua::isStepList(StringRef text) { return text.ltrim().starts_with("@"); }

/// Splits at spaces outside braces.
static SmallVector<StringRef> splitEntries(StringRef text) {
  SmallVector<StringRef> entries;
  size_t begin = 0;
  int depth = 0;
  for (size_t index = 0; index <= text.size(); ++index) {
    char c = index < text.size() ? text[index] : ' ';
    depth += (c == '{') - (c == '}');
    if (index < text.size() && !(llvm::isSpace(c) && depth <= 0))
      continue;
    if (index > begin)
      entries.push_back(text.slice(begin, index));
    begin = index + 1;
  }
  return entries;
}

llvm::Expected<SmallVector<StepStrategy>> bagua::parseStepList(StringRef text) {
  auto fail = [](const Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  SmallVector<StepStrategy> list;
  for (StringRef entry : splitEntries(text)) {
    auto [step, strategy] = entry.split('=');
    if (!step.consume_front("@") || step.empty() || strategy.empty())
      return fail("expected @STEP=STRATEGY for each step, found '" + entry +
                  "'");
    if (llvm::any_of(list, [step = step](const StepStrategy &other) {
          return other.step == step;
        }))
      return fail("expected one strategy for step '" + step + "', found two");
    list.push_back({step.str(), strategy.str()});
  }
  return list;
}

FailureOr<SmallVector<StepOp>> bagua::findSteps(ModuleOp module,
                                                ArrayRef<StepStrategy> list) {
  SmallVector<StepOp> steps;
  SymbolTable symbols(module);
  for (const StepStrategy &entry : list) {
    auto step = symbols.lookup<StepOp>(entry.step);
    if (!step)
      return module.emitError() << "expected strategies for steps of the "
                                   "module, found one for '"
                                << entry.step << "'";
    steps.push_back(step);
  }
  for (auto step : module.getOps<StepOp>())
    if (!llvm::is_contained(steps, step))
      return step.emitError() << "expected a strategy for step '"
                              << step.getSymName() << "', found none";
  return steps;
}
