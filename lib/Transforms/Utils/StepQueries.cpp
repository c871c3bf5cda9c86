//===- StepQueries.cpp - Questions that passes ask of a step --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The answer to each question, in one place.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/StepQueries.h"

using namespace mlir;
using namespace bagua;

LogicalResult bagua::expectSound(Operation *op,
                                 const std::optional<std::string> &wrong) {
  if (!wrong)
    return success();
  return op->emitError() << "is a fault of the compiler: " << *wrong;
}

FailureOr<StepOp> bagua::getOnlyStep(ModuleOp module) {
  auto steps = llvm::to_vector(module.getOps<StepOp>());
  if (steps.size() != 1)
    return module.emitError()
           << "expected a module with one bagua.step, found " << steps.size();
  return steps.front();
}

AxesAttr bagua::joinAxes(StepOp step, ArrayRef<AxesAttr> lists) {
  SmallVector<StringAttr> names;
  for (StringAttr name : step.lookupCluster().getAllAxes().getNames())
    if (llvm::any_of(
            lists, [&](AxesAttr axes) { return axes && axes.contains(name); }))
      names.push_back(name);
  return names.empty() ? nullptr : AxesAttr::get(step.getContext(), names);
}

NextValues::NextValues(StepOp step)
    : step(step), operands(step.getArguments().size(), -1) {
  for (auto [operand, argument] : llvm::enumerate(step.getStateArguments()))
    operands[argument] = static_cast<int32_t>(operand);
}

Value NextValues::of(BlockArgument argument) const {
  int32_t operand = operands[argument.getArgNumber()];
  StepOp yielding = step;
  return operand < 0 ? Value() : yielding.getYield().getValues()[operand];
}

PlaceAttr bagua::getPlace(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return cast<StepOp>(argument.getOwner()->getParentOp())
        .getArgument(argument.getArgNumber())
        .getPlace();
  auto places = cast<StepOpInterface>(value.getDefiningOp()).getPlacesAttr();
  return places
             ? cast<PlaceAttr>(places[cast<OpResult>(value).getResultNumber()])
             : nullptr;
}

bool bagua::hasPartOnEveryRank(RankedTensorType type) {
  LayoutAttr layout = getLayout(type);
  return !layout ||
         llvm::all_of(layout.getEntries(), [](const LayoutEntry &entry) {
           return entry.kind == LayoutEntry::Kind::Shard;
         });
}

bool bagua::isWhole(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !getLayout(tensor);
}

int64_t bagua::trafficOf(Operation *op) {
  int64_t bytes = 0;
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        bytes +=
            getElementCount(tensor) * getElementBytes(tensor.getElementType());
  return bytes;
}
