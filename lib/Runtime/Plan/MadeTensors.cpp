//===- MadeTensors.cpp - The tensors that a step makes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A result that merely overlaps a tensor is not meant to be the tensor.
//
//===----------------------------------------------------------------------===//
#include "Plan/MadeTensors.h"

#include "Plan/Opcodes.h"

#include <cstdint>
#include <map>
#include <tuple>

namespace bagua::runtime {

std::vector<bool> findMade(const Plan &plan, const fb::Step &step) {
  const fb::Plan &root = plan.root();
  std::map<std::tuple<int32_t, int64_t, int64_t>, uint32_t> atPlace;
  for (uint32_t i = 0; i < root.tensors()->size(); ++i)
    if (const fb::Tensor &tensor = *root.tensors()->Get(i); tensor.arena() >= 0)
      atPlace[{tensor.arena(), tensor.offset(), elementsOf(tensor)}] = i;
  std::vector<bool> isMade(root.tensors()->size(), false);
  for (const fb::Instruction *op : *step.instructions()) {
    if (kindOf(op->opcode()) == InstructionKind::After || !op->outputs())
      continue;
    for (uint32_t number : *op->outputs()) {
      const fb::Value &value = *root.values()->Get(number);
      auto found = atPlace.find({value.arena(), value.offset(), value.count()});
      if (value.tensor() >= 0)
        isMade[value.tensor()] = true;
      else if (found != atPlace.end())
        isMade[found->second] = true;
    }
  }
  return isMade;
}

} // namespace bagua::runtime
