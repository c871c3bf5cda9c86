//===- Retarget.cpp - A step on another cluster ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Purely data-parallel steps mention axes as one group only, which becomes the
// group of all axes of the new cluster. The axes of other steps are laid on the
// new cluster's axes.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/Retarget.h"

#include "bagua/Dialect/Bagua/MeshLayout.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

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

/// Drops durations that were computed for the old cluster's device.
static void dropRooflines(StepOp step) {
  for (auto op : step.getBody().front().getOps<ComputeOp>())
    if (op.getCostSource() == CostSource::Roofline &&
        (op.getFlops() || op.getBytes())) {
      op.removeCostNsAttr();
      op.removeCostSourceAttr();
    }
}

namespace {
/// By name of an old axis: the axes that stand for it.
using AxisNames = llvm::StringMap<SmallVector<StringAttr>>;
} // namespace

/// Lays the old axes on those of a cluster, which are cut if necessary.
static std::optional<AxisNames> layOn(ClusterOp old, ClusterOp cluster) {
  std::optional<AxisGroups> groups = layMesh(sizesOfAxes(old), cluster);
  if (!groups)
    return std::nullopt;
  AxisNames names;
  for (auto [index, group] : llvm::enumerate(*groups))
    for (unsigned axis : group)
      names[old.getAxis(index).getName()].push_back(StringAttr::get(
          cluster.getContext(), cluster.getAxis(axis).getName()));
  return names;
}

static void replaceAxes(StepOp step,
                        llvm::function_ref<AxesAttr(AxesAttr)> replaced) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](AxesAttr axes) -> std::optional<std::pair<Attribute, WalkResult>> {
        return {{replaced(axes), WalkResult::skip()}};
      });
  replacer.recursivelyReplaceElementsIn(step, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// Moves the steps of a cluster to another one, which may have been cut.
static LogicalResult retarget(ArrayRef<StepOp> steps, ClusterOp old,
                              ClusterOp cluster) {
  if (hasSameAxes(old, cluster))
    return success();
  AxesAttr all = old.getAllAxes();
  const auto *apart =
      llvm::find_if(steps, [&](StepOp step) { return !isOneGroup(step, all); });
  if (apart == steps.end()) {
    for (StepOp step : steps)
      replaceAxes(step, [&](AxesAttr axes) {
        return axes == all ? cluster.getAllAxes() : axes;
      });
    return success();
  }
  std::string found = textOf(cluster);
  std::optional<AxisNames> names = layOn(old, cluster);
  if (!names)
    return StepOp(*apart).emitError()
           << "expected a cluster on whose axes " << textOf(old)
           << " can be laid, found " << found
           << ": the step uses these axes separately";
  for (StepOp step : steps)
    replaceAxes(step, [&](AxesAttr axes) {
      SmallVector<StringAttr> stand;
      for (StringAttr name : axes.getNames())
        llvm::append_range(stand, (*names)[name.getValue()]);
      return AxesAttr::get(axes.getContext(), stand);
    });
  return success();
}

LogicalResult bagua::retarget(ModuleOp module, ClusterOp cluster) {
  llvm::MapVector<Operation *, SmallVector<StepOp>> stepsOf;
  for (auto old : module.getOps<ClusterOp>())
    stepsOf[old];
  for (auto step : module.getOps<StepOp>()) {
    ClusterOp old = step.lookupCluster();
    if (old.getDeviceAttr() != cluster.getDeviceAttr())
      dropRooflines(step);
    stepsOf[old].push_back(step);
  }
  for (auto &[op, steps] : stepsOf) {
    auto old = cast<ClusterOp>(op);
    OpBuilder builder(old);
    auto replacement = cast<ClusterOp>(builder.clone(*cluster.getOperation()));
    replacement.setSymName(old.getSymName());
    if (failed(::retarget(steps, old, replacement)))
      return failure();
    old.erase();
  }
  return success();
}
