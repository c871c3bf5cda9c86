//===- NamedPlaces.cpp - Where the tensors that have names lie ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names are unique in a step, so each has one value and one place.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/NamedPlaces.h"

using namespace mlir;
using namespace bagua;

LogicalResult NamedPlaces::add(Operation *op, StringAttr name,
                               PlaceAttr place) {
  bool isInArena = place && place.getKind() == PlaceKind::Arena;
  homes[name] = isInArena ? place : nullptr;
  if (place && place.getKind() == PlaceKind::Named && place.getName() != name)
    return op->emitOpError() << "expected tensor " << name
                             << " under its own name or in an arena, found it "
                                "in tensor "
                             << place.getName();
  return success();
}

LogicalResult NamedPlaces::read(StepOp step) {
  for (BlockArgument argument : step.getBody().getArguments()) {
    ArgumentAttr info = step.getArgument(argument.getArgNumber());
    if (failed(add(step, info.getName(), info.getPlace())))
      return failure();
  }
  auto ops = step.getBody().front().without_terminator();
  for (Operation &op : ops) {
    auto stepOp = cast<StepOpInterface>(op);
    for (OpResult result : op.getResults())
      if (StringAttr name = stepOp.getResultName(result.getResultNumber()))
        if (failed(add(&op, name,
                       cast<PlaceAttr>(
                           stepOp.getPlacesAttr()[result.getResultNumber()]))))
          return failure();
  }
  for (Operation &op : ops)
    for (auto place :
         cast<StepOpInterface>(op).getPlacesAttr().getAsRange<PlaceAttr>())
      if (place.getKind() == PlaceKind::Named &&
          !homes.contains(place.getName()))
        return op.emitOpError() << "has a result in tensor " << place.getName()
                                << ", which the step doesn't name";
  return success();
}
