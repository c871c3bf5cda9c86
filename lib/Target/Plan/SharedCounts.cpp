//===- SharedCounts.cpp - Counts that several updates share ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares what the steps say of their counts with the updates that the plan's
// instructions make, which the runtime counts.
//
//===----------------------------------------------------------------------===//
#include "SharedCounts.h"

#include "bagua/Runtime/Moments.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace bagua;
namespace fb = bagua::runtime::fb;

namespace {
/// A step's states, and the tensors that its instructions update.
class StepCounts {
public:
  StepCounts(StepOp step, const fb::Plan &plan, const fb::Step &written)
      : step(step), arguments(step.numberArguments()), next(step) {
    for (auto [index, moments] :
         llvm::enumerate(runtime::findMoments(plan, written))) {
      updated.insert(moments.begin(), moments.end());
      if (written.instructions()->Get(index)->bias_correction() !=
          fb::BiasCorrection::None)
        corrected.append(moments.begin(), moments.end());
    }
  }

  StepOp getStep() const { return step; }
  /// The moments of updates with a bias correction.
  ArrayRef<uint32_t> getCorrected() const { return corrected; }
  bool updates(uint32_t moment) const { return updated.contains(moment); }

  /// The count of a moment; null if the step does not name one.
  StringAttr countOf(StringAttr moment) {
    auto found = arguments.find(moment);
    return found == arguments.end()
               ? StringAttr()
               : step.getArgument(found->second).getCounted();
  }
  /// Whether the state has another value after the step.
  bool changes(StringAttr state) {
    auto found = arguments.find(state);
    if (found == arguments.end())
      return false;
    BlockArgument argument = step.getBody().getArgument(found->second);
    return next.of(argument) != argument;
  }

private:
  StepOp step;
  llvm::DenseMap<StringAttr, unsigned> arguments;
  NextValues next;
  llvm::DenseSet<uint32_t> updated;
  SmallVector<uint32_t> corrected;
};
} // namespace

/// Why the count is not the number of the moment's updates in a step; empty if
/// it is.
static StringRef whyApart(StepCounts &step, StringAttr count, StringAttr name,
                          uint32_t moment) {
  if (step.changes(count) && !step.updates(moment))
    return "changes without them";
  if (!step.changes(count) && step.updates(moment))
    return "stays as it is beside them";
  if (step.updates(moment) && step.countOf(name) != count)
    return "is not said to count them";
  return "";
}

LogicalResult bagua::verifyCounts(ArrayRef<StepOp> steps,
                                  const fb::Plan &plan) {
  std::vector<StepCounts> counts;
  for (auto [step, written] : llvm::zip_equal(steps, *plan.steps()))
    counts.emplace_back(step, plan, *written);
  for (StepCounts &own : counts)
    for (uint32_t moment : own.getCorrected()) {
      StringRef text = plan.tensors()->Get(moment)->name()->c_str();
      auto name = StringAttr::get(own.getStep().getContext(), text);
      StringAttr count = own.countOf(name);
      for (StepCounts &other : counts)
        if (StringRef why =
                count ? whyApart(other, count, name, moment) : StringRef();
            !why.empty())
          return own.getStep().emitError()
                 << "corrects the updates of " << name
                 << " by their number, which the step says is " << count
                 << ", but in step '" << other.getStep().getSymName()
                 << "' that state " << why
                 << ": expected a count of their own, or updates=program";
    }
  return success();
}
