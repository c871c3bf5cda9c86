//===- Relaxations.cpp - Algorithms of distributed training as rows -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table; each algorithm has a file of its own.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Algorithms/Relaxations.h"

#include "AllReduce.h"

using namespace mlir;
using namespace bagua;

static constexpr Relaxation kRelaxations[] = {
    // Synchronous data parallelism: the mean of all ranks.
    {kDataParallel, StrategyClass::Lossless, all_reduce::findGradients,
     all_reduce::promise, all_reduce::rewrite},
};

ArrayRef<Relaxation> bagua::getRelaxations() { return kRelaxations; }

const Relaxation *bagua::findRelaxation(std::string_view name) {
  const Relaxation *found =
      llvm::find_if(kRelaxations, [&](const Relaxation &relaxation) {
        return name == relaxation.name;
      });
  return found == std::end(kRelaxations) ? nullptr : found;
}

template <>
std::optional<RelaxationChoice> bagua::parseWord(std::string_view word) {
  const Relaxation *row = findRelaxation(word);
  return row ? std::optional(RelaxationChoice{row}) : std::nullopt;
}

template <>
std::string bagua::listWords<RelaxationChoice>(std::string_view separator,
                                               std::string_view before) {
  std::vector<std::string_view> names;
  for (const Relaxation &relaxation : kRelaxations)
    names.push_back(relaxation.name);
  return joinWords(names, separator, before);
}
