//===- ProgramOps.cpp - Arithmetic that becomes the program's -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One op as compute, with the time of a roofline.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Algorithms/ProgramOps.h"

#include "bagua/Dialect/Bagua/Origins.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bagua;

ComputeOp bagua::giveToProgram(StepOp step, Operation *op) {
  OpBuilder builder(op);
  std::string name = op->getName().stripDialect().str();
  if (auto param = dyn_cast<BlockArgument>(op->getOperand(0)))
    name += (" " + step.getArgument(param.getArgNumber()).getName().getValue())
                .str();
  auto compute =
      builder.create<ComputeOp>(op->getLoc(), op->getResultTypes(),
                                op->getOperands(), PhaseKind::Update, name);
  compute.setBytes(trafficOf(op));
  if (std::optional<Origin> origin = originOf(op))
    setOrigin(compute, *origin);
  op->replaceAllUsesWith(compute);
  op->erase();
  return compute;
}

static void setRoofline(ComputeOp op, const DeviceRates &device) {
  Builder builder(op.getContext());
  op.setCostNsAttr(
      builder.getI64IntegerAttr(rooflineNs(0, *op.getBytes(), device)));
  op.setCostSourceAttr(
      CostSourceAttr::get(op.getContext(), CostSource::Roofline));
}

ComputeOp bagua::giveTimed(StepOp step, Operation *op) {
  ComputeOp compute = giveToProgram(step, op);
  if (std::optional<DeviceRates> device = ratesOf(step))
    setRoofline(compute, *device);
  return compute;
}

std::optional<DeviceRates> bagua::ratesOf(StepOp step) {
  DeviceAttr device = step.lookupCluster().getDeviceAttr();
  if (!device)
    return std::nullopt;
  return DeviceRates{device.getFlopPerS(), device.getBytesPerS(),
                     device.getLaunchNs()};
}

int64_t bagua::kernelNsOf(ComputeOp op, const DeviceRates &device) {
  return kernelNs(op.getFlops().value_or(0), op.getBytes().value_or(0), device);
}
