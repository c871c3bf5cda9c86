//===- PhaseTable.cpp - Which step of a plan runs when --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables have few rows, so every question walks over all of them.
//
//===----------------------------------------------------------------------===//
#include "Plan/PhaseTable.h"

#include "bagua/Runtime/Plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <numeric>

namespace bagua::runtime {

static bool isAt(const fb::Phase &phase) { return phase.at() >= 0; }

static bool matches(const fb::Phase &phase, int64_t iteration) {
  if (isAt(phase))
    return false;
  if (phase.until() >= 0)
    return iteration < phase.until();
  return phase.every() == 0 || iteration % phase.every() == phase.offset();
}

// The loader has checked that the last row matches always.
uint32_t stepOf(const fb::Plan &plan, int64_t iteration) {
  for (const fb::Phase *phase : *plan.phases())
    if (matches(*phase, iteration))
      return phase->step();
  return plan.phases()->Get(plan.phases()->size() - 1)->step();
}

std::vector<uint32_t> stepsBefore(const fb::Plan &plan, int64_t iteration) {
  std::vector<uint32_t> steps;
  for (const fb::Phase *phase : *plan.phases())
    if (isAt(*phase) && phase->at() == iteration)
      steps.push_back(phase->step());
  return steps;
}

std::vector<int64_t> iterationsWithStepsBefore(const fb::Plan &plan) {
  std::vector<int64_t> iterations;
  for (const fb::Phase *phase : *plan.phases())
    if (isAt(*phase))
      iterations.push_back(phase->at());
  std::sort(iterations.begin(), iterations.end());
  iterations.erase(std::unique(iterations.begin(), iterations.end()),
                   iterations.end());
  return iterations;
}

std::vector<bool> stepsWithin(const fb::Plan &plan, int64_t iterations) {
  std::vector<bool> runs;
  for (int64_t count : iterationsByStep(plan, iterations))
    runs.push_back(count > 0);
  for (const fb::Phase *phase : *plan.phases())
    if (isAt(*phase) && phase->at() < iterations)
      runs[phase->step()] = true;
  return runs;
}

/// After how many iterations the rows with `every` repeat; `limit` if that are
/// more.
static int64_t periodOf(const fb::Plan &plan, int64_t limit) {
  int64_t period = 1;
  for (const fb::Phase *phase : *plan.phases())
    if (phase->every() > 0) {
      const int64_t factor = phase->every() / std::gcd(period, phase->every());
      if (factor > limit / period)
        return limit;
      period *= factor;
    }
  return period;
}

// Between two iterations at which a row with `until` ends, steps repeat with
// the period, so one period is counted: a run may resume after 10^12.
std::vector<int64_t> iterationsByStep(const fb::Plan &plan,
                                      int64_t iterations) {
  std::vector<int64_t> counts(plan.steps()->size());
  std::vector<int64_t> ends = {iterations};
  for (const fb::Phase *phase : *plan.phases())
    if (phase->until() > 0 && phase->until() < iterations)
      ends.push_back(phase->until());
  std::sort(ends.begin(), ends.end());
  const int64_t period = periodOf(plan, std::max<int64_t>(iterations, 1));
  int64_t begin = 0;
  for (int64_t end : ends) {
    const int64_t whole = (end - begin) / period;
    const int64_t rest = (end - begin) % period;
    for (int64_t i = 0; i < std::min(period, end - begin); ++i)
      counts[stepOf(plan, begin + i)] += whole + (i < rest ? 1 : 0);
    begin = end;
  }
  return counts;
}

bool runsInIterations(const fb::Plan &plan, uint32_t step) {
  return std::any_of(plan.phases()->begin(), plan.phases()->end(),
                     [&](const fb::Phase *phase) {
                       return phase->step() == step && !isAt(*phase);
                     });
}

std::string describePhase(const fb::Phase &phase) {
  if (isAt(phase))
    return absl::StrCat("at ", phase.at());
  if (phase.until() >= 0)
    return absl::StrCat("until ", phase.until());
  if (phase.every() > 0)
    return absl::StrCat("every ", phase.every(), " offset ", phase.offset());
  return "otherwise";
}

std::string strategiesOf(const fb::Plan &plan) {
  std::vector<std::string> texts;
  for (const fb::Step *step : *plan.steps())
    if (step->strategy() && step->strategy()->size() > 0)
      texts.push_back(plan.steps()->size() == 1
                          ? step->strategy()->str()
                          : absl::StrCat("@", step->name()->str(), "=",
                                         step->strategy()->str()));
  return absl::StrJoin(texts, " ");
}

const flatbuffers::Vector<uint32_t> *usersOf(const fb::Step &step,
                                             uint32_t tensor) {
  const fb::TensorUse *use = step.uses()->LookupByKey(tensor);
  return use ? use->instructions() : nullptr;
}

void addUse(fb::StepT &step, uint32_t tensor, uint32_t instruction) {
  auto place = std::lower_bound(
      step.uses.begin(), step.uses.end(), tensor,
      [](const auto &use, uint32_t number) { return use->tensor < number; });
  if (place == step.uses.end() || (*place)->tensor != tensor) {
    place = step.uses.insert(place, std::make_unique<fb::TensorUseT>());
    (*place)->tensor = tensor;
  }
  std::vector<uint32_t> &users = (*place)->instructions;
  if (users.empty() || users.back() != instruction)
    users.push_back(instruction);
}

} // namespace bagua::runtime
