//===- ProgramUpdates.cpp - Who runs a step's optimizer -------------------===//
//
// Structured updates as the program's compute.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/ProgramUpdates.h"

#include "bagua/Scheduling/LaunchScheduling.h"
#include "bagua/Scheduling/Roofline.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/OpGraphReader.h"
#include "bagua/Transforms/Utils/Relaxations.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/BitVector.h"

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
  op->replaceAllUsesWith(compute);
  op->erase();
  return compute;
}

static void setRoofline(ComputeOp op, DeviceAttr device) {
  Builder builder(op.getContext());
  op.setCostNsAttr(builder.getI64IntegerAttr(rooflineNs(
      0, *op.getBytes(),
      {device.getFlopPerS(), device.getBytesPerS(), device.getLaunchNs()})));
  op.setCostSourceAttr(
      CostSourceAttr::get(op.getContext(), CostSource::Roofline));
}

/// Whether an op undoes a conversion that was made for the wire: on the way
/// between them the value was only sent.
static bool isBackFromWire(Operation *op) {
  auto isConversion = [](Operation *op) {
    auto stepOp = cast<StepOpInterface>(op);
    return stepOp.isTransit() && !stepOp.getGroupAxes();
  };
  if (!isConversion(op))
    return false;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  for (Operation *maker = op->getOperand(0).getDefiningOp(); maker;
       maker = maker->getOperand(0).getDefiningOp()) {
    if (isConversion(maker))
      return getElementTypeOrSelf(maker->getOperand(0).getType()) == element;
    if (!cast<StepOpInterface>(maker).getGroupAxes())
      return false;
  }
  return false;
}

static bool isWhole(Type type) {
  return !getLayout(cast<RankedTensorType>(type));
}

/// With the duration that the cluster's device would need, if it has one.
static void giveTimed(StepOp step, Operation *op) {
  ComputeOp compute = giveToProgram(step, op);
  if (DeviceAttr device = step.lookupCluster().getDeviceAttr())
    setRoofline(compute, device);
}

/// From the last op to the first, so that users are decided before what they
/// use.
int64_t bagua::giveUpdatesToProgram(StepOp step) {
  int64_t given = 0;
  auto isProgram = [](Operation *user) {
    auto stepOp = dyn_cast<StepOpInterface>(user); // null for the yield
    return !stepOp || stepOp.isRunByProgram();
  };
  BlockOrder block(step);
  for (size_t index = block.size(); index-- > 0;) {
    Operation *op = block[index];
    if (cast<StepOpInterface>(op).isArithmetic() && !isBackFromWire(op) &&
        llvm::all_of(op->getResultTypes(), isWhole) &&
        llvm::all_of(op->getUsers(), isProgram)) {
      giveTimed(step, op);
      ++given;
    }
  }
  return given;
}

/// What the runtime would hand over within the step, but can't by name.
static bool isForComputeAlone(Operation *op) {
  auto stepOp = cast<StepOpInterface>(op);
  return stepOp.isArithmetic() && !stepOp.isUpdate() && !isBackFromWire(op) &&
         llvm::all_of(op->getResultTypes(), isWhole) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), llvm::IsaPred<ComputeOp>);
}

/// What is given becomes late compute itself, which may read other states, and
/// a user of what came before it.
FailureOr<SharedStep> bagua::giveProgramsOwn(StepOp step,
                                             const ClusterModel &cluster) {
  for (int64_t given = 0;;) {
    FailureOr<OpGraph> graph = readGraph(step, cluster);
    if (failed(graph))
      return failure();
    BlockOrder block(step);
    llvm::BitVector isOwn(block.size());
    for (int32_t index : findProgramsOwn(*graph))
      isOwn.set(index);
    int64_t before = given;
    for (size_t index = block.size(); index-- > 0;) {
      Operation *op = block[index];
      auto stepOp = cast<StepOpInterface>(op);
      bool isUpdatable =
          stepOp.isArithmetic() && llvm::all_of(op->getResultTypes(), isWhole);
      bool isItsOwn =
          isOwn[index] || (stepOp.isUpdate() && !keepsContract(step, stepOp));
      if (!isForComputeAlone(op) && !(isItsOwn && isUpdatable))
        continue;
      giveTimed(step, op);
      ++given;
    }
    if (given == before)
      return SharedStep{std::move(*graph), given};
  }
}
