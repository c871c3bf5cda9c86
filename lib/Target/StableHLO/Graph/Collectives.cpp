//===- Collectives.cpp - Reading communication ops ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads kinds, dimensions, axes and pairs of collectives.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Collectives.h"

#include "StableHLO/Graph/MeshAxesGroups.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

std::optional<ReduceKind> bagua::importer::kindOfRegion(Region &region) {
  if (!region.hasOneBlock() || region.getNumArguments() != 2)
    return std::nullopt;
  Block &body = region.front();
  Operation *terminator = body.empty() ? nullptr : &body.back();
  if (!terminator || terminator->getNumOperands() != 1)
    return std::nullopt;
  // Stub dialects verify nothing, not even that a value comes from before it.
  auto skipConverts = [](Value value) {
    for (int step = 0; step < 8; ++step) {
      Operation *op = value.getDefiningOp();
      if (!op || op->getName().stripDialect() != "convert" ||
          op->getNumOperands() != 1)
        break;
      value = op->getOperand(0);
    }
    return value;
  };
  Operation *op = skipConverts(terminator->getOperand(0)).getDefiningOp();
  if (!op || op->getNumOperands() != 2)
    return std::nullopt;
  Value lhs = skipConverts(op->getOperand(0));
  Value rhs = skipConverts(op->getOperand(1));
  if (lhs == rhs || lhs.getParentBlock() != &body ||
      rhs.getParentBlock() != &body || !isa<BlockArgument>(lhs) ||
      !isa<BlockArgument>(rhs))
    return std::nullopt;
  StringRef name = op->getName().stripDialect();
  // `and` of booleans is their minimum.
  if (getElementTypeOrSelf(lhs.getType()).isInteger(1) && name == "and")
    return ReduceKind::Min;
  if (getElementTypeOrSelf(lhs.getType()).isInteger(1) && name == "or")
    return ReduceKind::Max;
  return llvm::StringSwitch<std::optional<ReduceKind>>(name)
      .Case("add", ReduceKind::Sum)
      .Case("minimum", ReduceKind::Min)
      .Case("maximum", ReduceKind::Max)
      .Default(std::nullopt);
}

/// Reads a dimension that an op of one operand names.
static LogicalResult readDimension(Operation *op, StringRef name,
                                   int64_t &dimension) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  if (!attr || op->getNumOperands() != 1)
    return emitError(op->getLoc())
           << "expected '" << op->getName() << "' of one operand with " << name;
  dimension = attr.getInt();
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (type && dimension >= 0 && dimension < type.getRank())
    return success();
  return emitError(op->getLoc())
         << "expected a dimension of " << op->getOperand(0).getType() << " as "
         << name << ", found " << dimension;
}

/// Reads a table of device ids with `columns` of them in a row, or any number.
static FailureOr<std::vector<std::vector<int64_t>>>
readTable(Operation *op, StringRef name, std::optional<int64_t> columns) {
  auto attr = op->getAttrOfType<DenseIntElementsAttr>(name);
  auto type = attr ? dyn_cast<RankedTensorType>(attr.getType()) : nullptr;
  if (!type || type.getRank() != 2 ||
      type.getDimSize(1) != columns.value_or(type.getDimSize(1)))
    return emitError(op->getLoc())
           << "expected " << name << " as a table of device ids, found "
           << op->getAttr(name);
  std::vector<std::vector<int64_t>> rows(type.getDimSize(0));
  size_t index = 0;
  for (const APInt &id : attr.getValues<APInt>())
    rows[index++ / type.getDimSize(1)].push_back(id.getSExtValue());
  return rows;
}

LogicalResult bagua::importer::readCollective(Operation *op, OpKind kind,
                                              Collective &collective) {
  if (isReduction(kind)) {
    std::optional<ReduceKind> reduction = op->getNumRegions() == 1
                                              ? kindOfRegion(op->getRegion(0))
                                              : std::nullopt;
    if (!reduction)
      return emitError(op->getLoc())
             << "expected '" << op->getName()
             << "' that adds, or takes the minimum or the maximum of, two "
                "scalars, found another region";
    collective.kind = *reduction;
  }
  if (kind == OpKind::ReduceScatter)
    return readDimension(op, "scatter_dimension", collective.splitDimension);
  if (kind == OpKind::AllGather)
    return readDimension(op, "all_gather_dim", collective.concatDimension);
  if (kind == OpKind::AllToAll)
    return failure(failed(readDimension(op, "split_dimension",
                                        collective.splitDimension)) ||
                   failed(readDimension(op, "concat_dimension",
                                        collective.concatDimension)));
  if (kind == OpKind::Permute &&
      (op->getNumOperands() != 1 ||
       op->getOperandTypes() != op->getResultTypes()))
    return emitError(op->getLoc())
           << "expected '" << op->getName()
           << "' of one operand, with a result of its type";
  return success();
}

/// Reads the groups as lists of devices; empty for "all devices".
static FailureOr<std::vector<std::vector<int64_t>>>
readGroups(Operation *op, int64_t devices) {
  if (auto axes = op->getAttrOfType<OpaqueAttr>("replica_groups"))
    return groupsOfMeshAxes(op, axes, devices);
  auto groups = readTable(op, "replica_groups", std::nullopt);
  if (succeeded(groups) && !groups->empty() && groups->front().empty())
    return emitError(op->getLoc())
           << "expected groups of at least one device, found groups of size 0";
  return groups;
}

/// Reads the pairs of a permutation: in turn, the device that sends and the one
/// that receives.
static FailureOr<std::vector<int64_t>> readPairs(const FlatOp &op,
                                                 int64_t devices) {
  auto rows = readTable(op.source, "source_target_pairs", 2);
  if (failed(rows))
    return failure();
  std::vector<int64_t> pairs;
  for (const std::vector<int64_t> &row : *rows)
    for (int64_t device : row) {
      if (device < 0 || device >= devices)
        return emitError(op.loc)
               << "expected devices below " << devices << ", found " << device;
      pairs.push_back(device);
    }
  llvm::DenseSet<int64_t> seen[2];
  for (auto [index, device] : llvm::enumerate(pairs))
    if (!seen[index % 2].insert(device).second)
      return emitError(op.loc)
             << "expected devices that "
             << (index % 2 ? "get something" : "send")
             << " once in source_target_pairs, found " << device << " twice";
  return pairs;
}

static std::string textOf(const std::vector<std::vector<int64_t>> &groups) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  constexpr size_t kShown = 8;
  stream << '[';
  for (size_t i = 0; i < std::min(groups.size(), kShown); ++i) {
    stream << (i ? ", [" : "[");
    llvm::interleaveComma(groups[i], stream);
    stream << ']';
  }
  stream << (groups.size() > kShown ? ", ...]" : "]");
  return stream.str();
}

/// Sets of devices that send to each other, directly or through others;
/// ascending.
static std::vector<std::vector<int64_t>>
componentsOf(const std::vector<int64_t> &pairs) {
  llvm::EquivalenceClasses<int64_t> classes;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    classes.unionSets(pairs[i], pairs[i + 1]);
  std::vector<std::vector<int64_t>> components;
  for (auto it = classes.begin(); it != classes.end(); ++it) {
    if (!it->isLeader())
      continue;
    components.emplace_back(classes.member_begin(it), classes.member_end());
    llvm::sort(components.back());
  }
  llvm::sort(components);
  return components;
}

FailureOr<std::vector<Sharding>>
bagua::importer::shardingsOfGroups(const Graph &graph, bool withPairs) {
  std::vector<Sharding> shardings;
  llvm::DenseSet<Attribute> seen;
  for (const FlatOp &op : graph.ops) {
    if (!isCommunication(op.kind))
      continue;
    bool isPermute = op.kind == OpKind::Permute;
    if (isPermute && !withPairs)
      continue;
    Attribute attr = op.source->getAttr(isPermute ? "source_target_pairs"
                                                  : "replica_groups");
    if (!attr || !seen.insert(attr).second)
      continue;
    std::vector<std::vector<int64_t>> groups;
    if (isPermute) {
      auto pairs = readPairs(op, graph.deviceCount());
      if (failed(pairs))
        return failure();
      groups = componentsOf(*pairs);
    } else {
      auto read = readGroups(op.source, graph.deviceCount());
      if (failed(read))
        return failure();
      groups = std::move(*read);
    }
    if (groups.empty())
      continue;
    llvm::sort(groups.front());
    Sharding sharding = shardingOfGroup(groups.front());
    // Other groups match no mesh; matchGroups reports them.
    if (llvm::all_of(sharding.allFactors, [&](const Sharding::Factor &factor) {
          return graph.deviceCount() % (factor.stride * factor.size) == 0;
        }))
      shardings.push_back(std::move(sharding));
  }
  return shardings;
}

/// The axes along which the groups of a reduction, gather or exchange of pieces
/// run.
static FailureOr<AxisMask> matchGroups(const Graph &graph, const FlatOp &op) {
  auto groups = readGroups(op.source, graph.deviceCount());
  if (failed(groups))
    return failure();
  std::optional<AxisMask> axes =
      groups->empty() ? graph.mesh.allAxes() : graph.mesh.matchGroups(*groups);
  if (!axes)
    return emitError(op.loc)
           << "expected groups along axes of the mesh " << graph.mesh.str()
           << ", found " << textOf(*groups);
  // Axes of one rank are dropped, unless such an axis is the whole set.
  for (auto [index, axis] : llvm::enumerate(graph.mesh.axes))
    if (axis.size == 1 && *axes != (AxisMask(1) << index))
      *axes &= ~(AxisMask(1) << index);
  return *axes;
}

/// Checks that groups list ranks in the order of their axes, in which pieces
/// are cut.
static LogicalResult expectSorted(const Graph &graph, const FlatOp &op) {
  auto groups = readGroups(op.source, graph.deviceCount());
  if (failed(groups))
    return failure();
  bool isSorted = llvm::all_of(
      *groups, [](const auto &group) { return llvm::is_sorted(group); });
  return isSorted ? success()
                  : LogicalResult(emitError(op.loc)
                                  << "expected groups in ascending order, "
                                     "found "
                                  << textOf(*groups));
}

/// An exchange of a device with itself alone is a copy.
static void makeCopy(FlatOp &op) {
  op.kind = OpKind::Scale;
  op.factor = 1;
}

/// Finds the fewest axes such that all groups along them send alike.
static LogicalResult resolvePairs(const Graph &graph, FlatOp &op) {
  auto pairs = readPairs(op, graph.deviceCount());
  if (failed(pairs))
    return failure();
  AxisMask best = 0;
  for (AxisMask mask = 1; mask <= graph.mesh.allAxes(); ++mask) {
    if (best && llvm::popcount(mask) >= llvm::popcount(best))
      continue;
    if (auto places = graph.mesh.matchPairs(*pairs, mask)) {
      best = mask;
      op.collective.pairs = std::move(*places);
    }
  }
  op.collective.axes = best; // some set matches, at the latest that of all axes
  bool isIdentity =
      static_cast<int64_t>(pairs->size()) == 2 * graph.deviceCount();
  for (size_t i = 0; isIdentity && i < pairs->size(); i += 2)
    isIdentity = (*pairs)[i] == (*pairs)[i + 1];
  if (isIdentity)
    makeCopy(op);
  return success();
}

LogicalResult bagua::importer::resolveGroups(Graph &graph) {
  llvm::DenseMap<Attribute, AxisMask> known;
  for (FlatOp &op : graph.ops) {
    if (!isCommunication(op.kind))
      continue;
    if (op.kind == OpKind::Permute) {
      if (failed(resolvePairs(graph, op)))
        return failure();
      continue;
    }
    Attribute attr = op.source->getAttr("replica_groups");
    auto found = attr ? known.find(attr) : known.end();
    if (found == known.end()) {
      FailureOr<AxisMask> axes = matchGroups(graph, op);
      if (failed(axes))
        return failure();
      found = known.try_emplace(attr, *axes).first;
    }
    op.collective.axes = found->second;
    if (op.kind != OpKind::AllReduce && failed(expectSorted(graph, op)))
      return failure();
    if (!op.collective.axes)
      makeCopy(op);
  }
  return success();
}
