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
#include "absl/types/span.h"

#include <algorithm>
#include <optional>
#include <utility>

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

namespace {

/// Products of two 64-bit numbers.
__extension__ using Wide = __int128;

/// The iterations that are `offset` beyond a multiple of `period`, with 0 <=
/// offset < period.
struct Progression {
  Wide offset = 0;
  Wide period = 1;

  /// How many of them are below `end`.
  int64_t countBelow(int64_t end) const {
    return end <= offset
               ? 0
               : static_cast<int64_t>((end - 1 - offset) / period + 1);
  }
};

/// x with a x = 1 modulo `modulus`, of which `a` has no divisor.
Wide inverse(Wide a, Wide modulus) {
  Wide x = 1, next = 0, rest = modulus;
  for (a %= modulus; rest != 0;) {
    const Wide quotient = a / rest;
    a = std::exchange(rest, a - quotient * rest);
    x = std::exchange(next, x - quotient * next);
  }
  return ((x % modulus) + modulus) % modulus;
}

/// The iterations that two progressions have in common, if one is below `end`.
std::optional<Progression> meet(const Progression &one,
                                const Progression &other, int64_t end) {
  Wide divisor = one.period;
  for (Wide rest = other.period; rest != 0;)
    divisor = std::exchange(rest, divisor % rest);
  const Wide distance = other.offset - one.offset;
  if (distance % divisor != 0)
    return std::nullopt;
  // In units of the divisor: one.offset + t one.period is of the other.
  const Wide modulus = other.period / divisor;
  const Wide first = ((distance / divisor) % modulus + modulus) % modulus;
  const Wide t = first * inverse(one.period / divisor, modulus) % modulus;
  if (t > 0 && t > (end - one.offset) / one.period)
    return std::nullopt;
  Progression both;
  both.offset = one.offset + t * one.period;
  // Beyond `end` it does not matter how far.
  both.period = modulus > Wide{end} / one.period + 1
                    ? Wide{end} + both.offset + 1
                    : one.period * modulus;
  return both.offset < end ? std::optional(both) : std::nullopt;
}

/// How many iterations of [begin, end) are of `of` and of none of `others`. A
/// progression that meets none of the others is counted at once.
int64_t countWithout(const Progression &of,
                     absl::Span<const Progression> others, int64_t begin,
                     int64_t end) {
  int64_t count = of.countBelow(end) - of.countBelow(begin);
  for (size_t i = 0; i < others.size() && count > 0; ++i)
    if (auto both = meet(of, others[i], end))
      count -= countWithout(*both, others.subspan(0, i), begin, end);
  return count;
}

} // namespace

// Between two iterations at which a row with `until` ends, only rows with
// `every` and the last one are left. They are counted by their periods: a run
// may resume after 10^12 iterations.
std::vector<int64_t> iterationsByStep(const fb::Plan &plan,
                                      int64_t iterations) {
  std::vector<int64_t> counts(plan.steps()->size());
  int64_t begin = 0;
  std::vector<Progression> every;
  std::vector<uint32_t> steps;
  auto countRows = [&](int64_t end, size_t rows) {
    for (size_t i = 0; i < rows; ++i)
      counts[steps[i]] += countWithout(
          every[i], absl::MakeSpan(every).subspan(0, i), begin, end);
  };
  // A row with `until` hides the rows behind it up to its end.
  for (const fb::Phase *phase : *plan.phases()) {
    if (isAt(*phase))
      continue;
    if (phase->until() >= 0) {
      const int64_t end = std::min(phase->until(), iterations);
      if (end <= begin)
        continue;
      // The rows before it come first; the rest is the row's own.
      every.push_back({});
      steps.push_back(phase->step());
      countRows(end, every.size());
      every.pop_back();
      steps.pop_back();
      begin = end;
      continue;
    }
    Progression row;
    if (phase->every() > 0)
      row = {phase->offset(), phase->every()};
    every.push_back(row);
    steps.push_back(phase->step());
  }
  countRows(iterations, every.size());
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

bool isUsedIn(const fb::Step &step, uint32_t tensor) {
  const auto *users = usersOf(step, tensor);
  return users && users->size() > 0;
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
