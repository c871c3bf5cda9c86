//===- Retarget.cpp - A step on another cluster ---------------------------===//
//
// Purely data-parallel steps mention axes as one group only, which becomes the
// group of all axes of the new cluster.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/Retarget.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bagua;

static std::string textOf(ClusterOp cluster) {
  std::string text = "[";
  for (unsigned i = 0; i < cluster.getAxisCount(); ++i)
    text += (i ? ", " : "") + cluster.getAxis(i).getName().str() + " = " +
            std::to_string(cluster.getAxis(i).getSize());
  return text + "]";
}

static bool hasSameAxes(ClusterOp a, ClusterOp b) {
  if (a.getAxisCount() != b.getAxisCount())
    return false;
  for (unsigned i = 0; i < a.getAxisCount(); ++i)
    if (a.getAxis(i).getName() != b.getAxis(i).getName() ||
        a.getAxis(i).getSize() != b.getAxis(i).getSize())
      return false;
  return true;
}

/// Whether no attribute or type under a step names some of the axes only.
static bool isOneGroup(StepOp step, AxesAttr all) {
  bool isOne = true;
  AttrTypeWalker walker;
  walker.addWalk([&](AxesAttr axes) { isOne &= axes.empty() || axes == all; });
  step->walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      walker.walk(type);
  });
  for (Type type : step.getBody().getArgumentTypes())
    walker.walk(type);
  return isOne;
}

/// Durations that the old cluster's device would need.
static void dropRooflines(StepOp step) {
  for (auto op : step.getBody().front().getOps<ComputeOp>())
    if (op.getCostSource() == CostSource::Roofline &&
        (op.getFlops() || op.getBytes())) {
      op.removeCostNsAttr();
      op.removeCostSourceAttr();
    }
}

LogicalResult bagua::retarget(ModuleOp module, ClusterOp cluster) {
  for (auto step : llvm::to_vector(module.getOps<StepOp>())) {
    ClusterOp old = step.lookupCluster();
    if (old.getDeviceAttr() != cluster.getDeviceAttr())
      dropRooflines(step);
    if (hasSameAxes(old, cluster))
      continue;
    AxesAttr all = old.getAllAxes();
    if (!isOneGroup(step, all))
      return step.emitError()
             << "expected a cluster with the axes " << textOf(old) << ", found "
             << textOf(cluster) << ": the step tells its axes apart";
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](AxesAttr axes) -> std::optional<Attribute> {
      if (axes == all)
        return cluster.getAllAxes();
      return std::nullopt;
    });
    replacer.recursivelyReplaceElementsIn(step, /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  }
  for (auto old : llvm::to_vector(module.getOps<ClusterOp>())) {
    OpBuilder builder(old);
    auto replacement = cast<ClusterOp>(builder.clone(*cluster.getOperation()));
    replacement.setSymName(old.getSymName());
    old.erase();
  }
  return success();
}
