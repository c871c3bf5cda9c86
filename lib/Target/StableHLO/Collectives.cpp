//===- Collectives.cpp - Reading communication ops ------------------------===//
//
// Kind, dimensions and axes of all_reduce and all_to_all, and means.
//
//===----------------------------------------------------------------------===//
#include "Collectives.h"
#include "Rewrites.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The combination that an all_reduce's region computes of two scalars, also in
/// a wider type; nothing if it isn't one that the IR has.
static std::optional<ReduceKind> kindOfRegion(Region &region) {
  if (!region.hasOneBlock() || region.getNumArguments() != 2)
    return std::nullopt;
  Block &body = region.front();
  Operation *terminator = body.empty() ? nullptr : &body.back();
  if (!terminator || terminator->getNumOperands() != 1)
    return std::nullopt;
  auto skipConverts = [](Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (op->getName().stripDialect() != "convert")
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
  return llvm::StringSwitch<std::optional<ReduceKind>>(
             op->getName().stripDialect())
      .Case("add", ReduceKind::Sum)
      .Case("minimum", ReduceKind::Min)
      .Case("maximum", ReduceKind::Max)
      .Default(std::nullopt);
}

LogicalResult bagua::importer::readCollective(Operation *op, OpKind kind,
                                              Collective &collective) {
  if (kind == OpKind::AllReduce) {
    std::optional<ReduceKind> reduction = op->getNumRegions() == 1
                                              ? kindOfRegion(op->getRegion(0))
                                              : std::nullopt;
    if (!reduction)
      return emitError(op->getLoc())
             << "expected an all_reduce that adds, or takes the minimum or the "
                "maximum of, two scalars, found another region";
    collective.kind = *reduction;
    return success();
  }
  auto split = op->getAttrOfType<IntegerAttr>("split_dimension");
  auto concat = op->getAttrOfType<IntegerAttr>("concat_dimension");
  if (!split || !concat || op->getNumOperands() != 1)
    return emitError(op->getLoc())
           << "expected an all_to_all of one operand with split_dimension and "
              "concat_dimension";
  collective.splitDimension = split.getInt();
  collective.concatDimension = concat.getInt();
  return success();
}

/// The groups as lists of devices; empty for "all devices".
static FailureOr<std::vector<std::vector<int64_t>>> readGroups(Operation *op) {
  auto attr = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  auto type = attr ? dyn_cast<RankedTensorType>(attr.getType()) : nullptr;
  if (!type || type.getRank() != 2)
    return emitError(op->getLoc())
           << "expected replica_groups as a table of device ids, found "
           << op->getAttr("replica_groups");
  std::vector<std::vector<int64_t>> groups(type.getDimSize(0));
  if (!groups.empty() && type.getDimSize(1) == 0)
    return emitError(op->getLoc())
           << "expected groups of at least one device, found groups of size 0";
  size_t index = 0;
  for (const APInt &id : attr.getValues<APInt>())
    groups[index++ / type.getDimSize(1)].push_back(id.getSExtValue());
  return groups;
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

static bool isCollective(const FlatOp &op) {
  return op.kind == OpKind::AllReduce || op.kind == OpKind::AllToAll;
}

FailureOr<std::vector<Sharding>>
bagua::importer::shardingsOfGroups(const Graph &graph) {
  std::vector<Sharding> shardings;
  llvm::DenseSet<Attribute> seen;
  for (const FlatOp &op : graph.ops) {
    Attribute attr =
        isCollective(op) ? op.source->getAttr("replica_groups") : nullptr;
    if (!attr || !seen.insert(attr).second)
      continue;
    FailureOr<std::vector<std::vector<int64_t>>> groups = readGroups(op.source);
    if (failed(groups))
      return failure();
    if (groups->empty())
      continue;
    llvm::sort(groups->front());
    Sharding sharding = shardingOfGroup(groups->front());
    // Others match no mesh, which is said where they are matched.
    if (llvm::all_of(sharding.allFactors, [&](const Sharding::Factor &factor) {
          return graph.deviceCount() % (factor.stride * factor.size) == 0;
        }))
      shardings.push_back(std::move(sharding));
  }
  return shardings;
}

LogicalResult bagua::importer::resolveGroups(Graph &graph) {
  llvm::DenseMap<Attribute, AxisMask> known;
  for (FlatOp &op : graph.ops) {
    if (!isCollective(op))
      continue;
    Attribute attr = op.source->getAttr("replica_groups");
    auto found = attr ? known.find(attr) : known.end();
    if (found == known.end()) {
      FailureOr<std::vector<std::vector<int64_t>>> groups =
          readGroups(op.source);
      if (failed(groups))
        return failure();
      std::optional<AxisMask> axes = groups->empty()
                                         ? graph.mesh.allAxes()
                                         : graph.mesh.matchGroups(*groups);
      if (!axes)
        return emitError(op.loc)
               << "expected groups along axes of the mesh " << graph.mesh.str()
               << ", found " << textOf(*groups);
      // A group of ranks that differ in nothing is none.
      for (auto [index, axis] : llvm::enumerate(graph.mesh.axes))
        if (axis.size == 1 && *axes != (AxisMask(1) << index))
          *axes &= ~(AxisMask(1) << index);
      found = known.try_emplace(attr, *axes).first;
      bool isSorted = llvm::all_of(
          *groups, [](const auto &group) { return llvm::is_sorted(group); });
      if (op.kind == OpKind::AllToAll && !isSorted)
        return emitError(op.loc) << "expected groups in ascending order, found "
                                 << textOf(*groups);
    }
    op.collective.axes = found->second;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Means
//===----------------------------------------------------------------------===//

void bagua::importer::foldMeans(Graph &graph) {
  Uses uses = graph.computeUses();
  Replacements replacements(graph);
  for (FlatOp &op : graph.ops) {
    if (op.isDead || op.kind != OpKind::AllReduce ||
        op.collective.kind != ReduceKind::Sum)
      continue;
    ValueId result = op.results[0];
    if (!isa<FloatType>(graph.values[result].type.getElementType()))
      continue;
    auto size = static_cast<double>(graph.mesh.sizeOf(op.collective.axes));
    std::optional<Division> division = findDivision(graph, uses, result);
    if (!division)
      continue;
    if (division->divisor == size) {
      op.collective.kind = ReduceKind::Mean;
      removeDivision(graph, *division, replacements);
    }
  }
  replacements.apply(graph);
}
