//===- StepVerifier.cpp - The checks of a step against its cluster --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only file that looks up axes, group sizes and servers: every axis exists
// and stands in cluster order, and sizes that depend on groups agree.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Support/Parts.h"

using namespace mlir;
using namespace bagua;

namespace {
/// Checks of one step against its cluster.
class StepVerifier {
public:
  StepVerifier(StepOp step, ClusterOp cluster) : step(step), cluster(cluster) {}

  LogicalResult verify();

private:
  LogicalResult verifyAxes(Operation *op, AxesAttr axes);
  LogicalResult verifyType(Operation *op, Type type);
  LogicalResult verifyOp(Operation *op);
  LogicalResult verifyRecords();
  LogicalResult verifyCounted(ArgumentAttr moment);

  StepOp step;
  ClusterOp cluster;
};
} // namespace

LogicalResult StepVerifier::verifyAxes(Operation *op, AxesAttr axes) {
  std::optional<unsigned> previous;
  for (StringAttr name : axes.getNames()) {
    std::optional<unsigned> index = cluster.findAxis(name.getValue());
    if (!index) {
      InFlightDiagnostic diagnostic =
          op->emitOpError()
          << "names axis '" << name.getValue() << "', which cluster '"
          << cluster.getSymName() << "' doesn't have; its axes are "
          << cluster.getAllAxes().str();
      diagnostic.attachNote(cluster.getLoc()) << "the cluster is here";
      return diagnostic;
    }
    if (previous && *index < *previous)
      return op->emitOpError()
             << "expected axes in the cluster's order "
             << cluster.getAllAxes().str() << ", found " << axes.str();
    previous = index;
  }
  return success();
}

LogicalResult StepVerifier::verifyType(Operation *op, Type type) {
  if (auto encoded = dyn_cast<EncodedType>(type)) {
    for (AxesAttr axes : {encoded.getParts(), encoded.getTerms()})
      if (axes && failed(verifyAxes(op, axes)))
        return failure();
    type = encoded.getTensor();
  }
  LayoutAttr layout = getLayout(cast<RankedTensorType>(type));
  if (!layout)
    return success();
  for (const LayoutEntry &entry : layout.getEntries()) {
    if (entry.kind != LayoutEntry::Kind::Server) {
      if (failed(verifyAxes(op, entry.getAxes())))
        return failure();
      continue;
    }
    int64_t servers = cluster.getServerCount();
    if (servers == 0)
      return op->emitOpError() << "has a value on servers, but cluster '"
                               << cluster.getSymName() << "' has none";
    if (entry.server >= servers)
      return op->emitOpError() << "expected a server below " << servers
                               << ", found " << entry.server;
  }
  return success();
}

LogicalResult StepVerifier::verifyOp(Operation *op) {
  auto stepOp = dyn_cast<StepOpInterface>(op);
  AxesAttr group = stepOp ? stepOp.getGroupAxes() : nullptr;
  if (group && failed(verifyAxes(op, group)))
    return failure();
  auto compute = dyn_cast<ComputeOp>(op);
  if (compute && compute.getVariesAttr() &&
      failed(verifyAxes(op, compute.getVariesAttr())))
    return failure();
  for (Type type : op->getResultTypes())
    if (failed(verifyType(op, type)))
      return failure();
  return stepOp ? stepOp.verifyOnCluster(cluster) : success();
}

/// Checks the attributes that passes write beside the step's own, and rely on.
LogicalResult StepVerifier::verifyRecords() {
  Attribute contract = step->getAttr(kContractAttr);
  if (contract && !isa<ArrayAttr>(contract))
    return step.emitOpError() << "expected a list in '" << kContractAttr
                              << "', found " << contract;
  if (contract)
    for (Attribute entry : cast<ArrayAttr>(contract)) {
      auto relation = dyn_cast<RelationAttr>(entry);
      auto update = dyn_cast<UpdateAttr>(entry);
      if (!relation && !update)
        return step.emitOpError() << "expected relations and updates in '"
                                  << kContractAttr << "', found " << entry;
      if (failed(verifyAxes(step,
                            relation ? relation.getOver() : update.getOver())))
        return failure();
    }
  if (Attribute meaning = step->getAttr(kMeaningAttr);
      meaning && !isa<DenseI64ArrayAttr>(meaning))
    return step.emitOpError()
           << "expected numbers in '" << kMeaningAttr << "', found " << meaning;
  if (Attribute algorithm = step->getAttr(kRelaxationAttr);
      algorithm && !isa<StringAttr>(algorithm))
    return step.emitOpError() << "expected a name in '" << kRelaxationAttr
                              << "', found " << algorithm;
  return success();
}

/// The count that a moment names is a number of the optimizer's.
LogicalResult StepVerifier::verifyCounted(ArgumentAttr moment) {
  StringAttr name = moment.getCounted();
  if (!name)
    return success();
  if (moment.getRole() != Role::Optimizer)
    return step.emitOpError()
           << "expected 'counted' of the optimizer's state, found it on "
           << stringifyRole(moment.getRole()) << ' ' << moment.getName();
  for (BlockArgument argument : step.getBody().getArguments())
    if (ArgumentAttr info = step.getArgument(argument.getArgNumber());
        info.getName() == name && info.getRole() == Role::Optimizer &&
        cast<RankedTensorType>(argument.getType()).getRank() == 0)
      return success();
  return step.emitOpError()
         << "expected a number of the optimizer's state as the count of "
         << moment.getName() << ", found " << name;
}

LogicalResult StepVerifier::verify() {
  if (failed(verifyAxes(step, step.getDataAxes())) || failed(verifyRecords()))
    return failure();
  for (BlockArgument argument : step.getBody().getArguments()) {
    ArgumentAttr info = step.getArgument(argument.getArgNumber());
    if (failed(verifyType(step, argument.getType())) ||
        (info.getVaries() && failed(verifyAxes(step, info.getVaries()))) ||
        failed(verifyCounted(info)))
      return failure();
  }
  for (Operation &op : step.getBody().front())
    if (failed(verifyOp(&op)))
      return failure();
  return success();
}

LogicalResult StepOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto cluster =
      symbols.lookupNearestSymbolFrom<ClusterOp>(*this, getClusterAttr());
  if (!cluster)
    return emitOpError() << "expected the name of a cluster, found "
                         << getClusterAttr();
  return StepVerifier(*this, cluster).verify();
}

//===----------------------------------------------------------------------===//
// Layouts.h
//===----------------------------------------------------------------------===//

/// The number of ranks among which an entry cuts a tensor; 1 for entries that
/// keep it whole.
static int64_t cutsOf(const LayoutEntry &entry, ClusterOp cluster) {
  if (entry.kind == LayoutEntry::Kind::Shard)
    return cluster.getGroupSize(entry.getAxes());
  if (entry.kind == LayoutEntry::Kind::Server &&
      entry.server == LayoutEntry::kAllServers)
    return std::max<int64_t>(1, cluster.getServerCount());
  return 1;
}

int64_t bagua::partCount(LayoutAttr layout, ClusterOp cluster) {
  int64_t parts = 1;
  for (const LayoutEntry &entry : layout.getEntries())
    parts *= cutsOf(entry, cluster);
  return parts;
}

int64_t bagua::maxLocalCount(int64_t count, LayoutAttr layout,
                             ClusterOp cluster) {
  if (layout)
    for (const LayoutEntry &entry : layout.getEntries())
      count = partSize(count, cutsOf(entry, cluster));
  return count;
}

static int64_t encodedLocalBytes(EncodedType type, ClusterOp cluster) {
  auto groupSize = [&](AxesAttr axes) {
    return axes ? cluster.getGroupSize(axes) : 1;
  };
  RankedTensorType tensor = type.getTensor();
  int64_t parts = groupSize(type.getParts());
  int64_t count =
      maxLocalCount(getElementCount(tensor), getLayout(tensor), cluster);
  return encodedSlotBytes(type.getEncoding(), partSize(count, parts),
                          getElementBytes(tensor.getElementType())) *
         parts * groupSize(type.getTerms());
}

int64_t bagua::maxLocalBytes(Type value, ClusterOp cluster) {
  if (auto encoded = dyn_cast<EncodedType>(value))
    return encodedLocalBytes(encoded, cluster);
  auto type = cast<RankedTensorType>(value);
  LayoutAttr layout = getLayout(type);
  int64_t part = maxLocalCount(getElementCount(type), layout, cluster) *
                 getElementBytes(type.getElementType());
  if (!layout || layout.getEntries().empty() ||
      layout.getEntries().back().kind != LayoutEntry::Kind::Server)
    return part;
  ArrayRef<LayoutEntry> shards = layout.getEntries().drop_back();
  return part * partCount(LayoutAttr::get(type.getContext(), shards), cluster);
}

int64_t bagua::stripedCount(RankedTensorType type, LayoutAttr striped,
                            ClusterOp cluster) {
  return maxLocalCount(getElementCount(type), striped, cluster) *
         partCount(striped, cluster);
}
