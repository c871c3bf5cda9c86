//===- Names.cpp - Names of values that cross to the program --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the names of a step and invents more.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/Names.h"

using namespace mlir;
using namespace bagua;

StringAttr bagua::nameOf(StepOp step, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return step.getArgument(argument.getArgNumber()).getName();
  auto op = dyn_cast<StepOpInterface>(value.getDefiningOp());
  return op ? op.getResultName(cast<OpResult>(value).getResultNumber())
            : nullptr;
}

StepNames::StepNames(StepOp step) : step(step) {
  for (BlockArgument argument : step.getBody().getArguments())
    taken.insert(nameOf(step, argument).getValue());
  for (Operation &op : step.getBody().front())
    for (Value result : op.getResults())
      if (StringAttr name = nameOf(step, result))
        taken.insert(name.getValue());
}

StringAttr StepNames::claim(StringRef stem) {
  std::string name = stem.str();
  for (unsigned suffix = 1; !taken.insert(name).second; ++suffix)
    name = (stem + "." + Twine(suffix)).str();
  return StringAttr::get(step.getContext(), name);
}

StringAttr StepNames::nameValue(Value value) {
  if (StringAttr name = nameOf(step, value))
    return name;
  auto result = cast<OpResult>(value);
  auto op = cast<StepOpInterface>(result.getOwner());
  unsigned index = result.getResultNumber();
  StringAttr name = claim(op.getNameStem(index));
  if (op.setResultName(index, name))
    return name;
  taken.erase(name.getValue());
  return nullptr;
}
