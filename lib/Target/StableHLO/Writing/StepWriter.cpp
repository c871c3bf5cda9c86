//===- StepWriter.cpp - A plan's communication as StableHLO ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each op.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Writing/StepWriter.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Dialect/Bagua/MeshLayout.h"
#include "bagua/Support/Parts.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

static RankedTensorType tensorOf(Type type) {
  return cast<RankedTensorType>(type);
}

/// The largest number of a channel in the module.
static int64_t channelsOf(const Graph &graph) {
  int64_t channels = 0;
  graph.entry->walk([&](Operation *op) {
    auto channel = op->getAttrOfType<OpaqueAttr>("channel_handle");
    if (!channel)
      return;
    StringRef text = channel.getAttrData().split("handle = ").second;
    int64_t number = 0;
    if (!text.consumeInteger(10, number))
      channels = std::max(channels, number);
  });
  return channels;
}

StepWriter::StepWriter(StepOp step, const Graph &graph, OpBuilder &builder)
    : cluster(step.lookupCluster()), topology(sizesOfAxes(cluster)),
      hlo(builder, graph.loc, graph.replicas > 1, channelsOf(graph)) {}

Value StepWriter::get(Value value) {
  auto type = tensorOf(value.getType());
  Value written = values.lookup(value);
  return getLayout(type) ? written : hlo.reshape(written, type.getShape());
}

//===----------------------------------------------------------------------===//
// Groups and parts
//===----------------------------------------------------------------------===//

std::vector<int64_t> StepWriter::indicesOf(AxesAttr axes) {
  std::vector<int64_t> indices;
  for (unsigned i = 0; i < cluster.getAxisCount(); ++i)
    if (axes.contains(cluster.getAxis(i).getName()))
      indices.push_back(i);
  return indices;
}

DeviceGroups StepWriter::groupsOf(AxesAttr axes) {
  std::vector<int64_t> over = indicesOf(axes);
  DeviceGroups groups;
  for (int64_t rank = 0; rank < topology.workers(); ++rank)
    if (topology.positionInGroup(rank, over) == 0)
      groups.push_back(topology.groupOf(rank, over));
  return groups;
}

std::vector<int32_t> StepWriter::positionsIn(AxesAttr axes) {
  std::vector<int64_t> over = indicesOf(axes);
  std::vector<int32_t> positions;
  for (int64_t rank = 0; rank < topology.workers(); ++rank)
    positions.push_back(
        static_cast<int32_t>(topology.positionInGroup(rank, over)));
  return positions;
}

int64_t StepWriter::localCount(Type type) {
  return maxLocalCount(getElementCount(tensorOf(type)),
                       getLayout(tensorOf(type)), cluster);
}

//===----------------------------------------------------------------------===//
// Rearrangement
//===----------------------------------------------------------------------===//

/// Writes a concat. In a striped bucket of whole tensors, part `r` consists of
/// the parts `r` of the tensors: the columns of a matrix with a row for each
/// part are put side by side.
Value StepWriter::writeConcat(ConcatOp op) {
  LayoutAttr striped = op.getStripedAttr();
  bool isLocal = getLayout(tensorOf(op.getOutput().getType())) != nullptr;
  SmallVector<Value> pieces;
  for (Value input : op.getInputs()) {
    Value value = hlo.flatten(get(input));
    if (striped && !isLocal) {
      int64_t parts = partCount(striped, cluster);
      int64_t count = stripedCount(tensorOf(input.getType()), striped, cluster);
      value = hlo.reshape(hlo.pad(value, count), {parts, count / parts});
    }
    pieces.push_back(value);
  }
  return hlo.flatten(hlo.concatenate(pieces, striped && !isLocal ? 1 : 0));
}

void StepWriter::writeSplit(SplitOp op) {
  LayoutAttr striped = op.getStripedAttr();
  bool isLocal = getLayout(tensorOf(op.getInput().getType())) != nullptr;
  Value whole = hlo.flatten(get(op.getInput()));
  int64_t parts = striped && !isLocal ? partCount(striped, cluster) : 1;
  if (parts > 1)
    whole = hlo.reshape(
        whole, {parts, tensorOf(whole.getType()).getNumElements() / parts});
  int64_t position = 0;
  for (Value output : op.getOutputs()) {
    auto type = tensorOf(output.getType());
    int64_t count = parts > 1 ? stripedCount(type, striped, cluster) / parts
                              : localCount(type);
    Value piece =
        hlo.flatten(hlo.slice(whole, parts > 1, position, position + count));
    set(output, hlo.slice(piece, 0, 0, localCount(type)));
    position += count;
  }
}

/// Writes a slice: the rank's own part, or the value itself for a root.
Value StepWriter::writeSlice(SliceOp op) {
  auto type = tensorOf(op.getOutput().getType());
  LayoutEntry entry = getLayout(type).getEntries().back();
  Value value = hlo.flatten(get(op.getInput()));
  if (entry.kind == LayoutEntry::Kind::Root)
    return value;
  int64_t count = localCount(type);
  std::vector<int32_t> starts = positionsIn(entry.getAxes());
  for (int32_t &start : starts)
    start *= static_cast<int32_t>(count);
  auto size = static_cast<int64_t>(groupsOf(entry.getAxes()).front().size());
  return hlo.sliceAt(hlo.pad(value, count * size), hlo.ownOf(starts), count);
}

Value StepWriter::writeLinear(LinearOp op) {
  Value sum;
  for (auto [input, coefficient] :
       llvm::zip_equal(op.getInputs(), op.getCoefficients())) {
    Value value = get(input);
    Value term =
        hlo.binary("multiply", hlo.splatLike(value, coefficient), value);
    sum = sum ? hlo.binary("add", sum, term) : term;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

Value StepWriter::writeReduceScatter(ReduceScatterOp op) {
  DeviceGroups groups = groupsOf(op.getOver());
  if (op.isInPieces())
    return hlo.reduceScatter(get(op.getInput()), *op.getSplitDim(),
                             op.getKind().getValue(), groups);
  auto size = static_cast<int64_t>(groups.front().size());
  Value value =
      hlo.pad(get(op.getInput()), localCount(op.getOutput().getType()) * size);
  return hlo.reduceScatter(value, 0, op.getKind().getValue(), groups);
}

Value StepWriter::writeAllGather(AllGatherOp op) {
  DeviceGroups groups = groupsOf(op.getOver());
  if (op.isInPieces())
    return hlo.allGather(get(op.getInput()), *op.getConcatDim(), groups);
  Value value = hlo.allGather(hlo.flatten(get(op.getInput())), 0, groups);
  return hlo.slice(value, 0, 0, localCount(op.getOutput().getType()));
}

/// Writes a broadcast as a sum to which the other ranks add zeros.
Value StepWriter::writeBroadcast(BroadcastOp op) {
  std::vector<int32_t> isOther = positionsIn(op.getOver());
  for (int32_t &position : isOther)
    position = position != 0;
  Value value = get(op.getInput());
  Value condition =
      hlo.convert(hlo.ownOf(isOther), IntegerType::get(op.getContext(), 1));
  Value own = hlo.select(condition, hlo.splatLike(value, 0), value);
  return hlo.allReduce(own, ReduceKind::Sum, groupsOf(op.getOver()));
}

static bool isOnServers(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  LayoutAttr layout = tensor ? getLayout(tensor) : nullptr;
  return layout && llvm::any_of(layout.getEntries(), [](const LayoutEntry &e) {
           return e.kind == LayoutEntry::Kind::Server;
         });
}

LogicalResult StepWriter::write(Operation *op) {
  for (ValueRange range :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : range)
      if (isOnServers(value))
        return op->emitError()
               << "expected a plan without servers, found '" << op->getName()
               << "', which can't be written as StableHLO";
  auto setResult = [&](Value written) {
    set(op->getResult(0), written);
    return success();
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AllReduceOp, ReduceOp>([&](auto op) {
        return setResult(hlo.allReduce(get(op.getInput()),
                                       op.getKind().getValue(),
                                       groupsOf(op.getOver())));
      })
      .Case(
          [&](ReduceScatterOp op) { return setResult(writeReduceScatter(op)); })
      .Case([&](AllGatherOp op) { return setResult(writeAllGather(op)); })
      .Case([&](BroadcastOp op) { return setResult(writeBroadcast(op)); })
      .Case([&](AllToAllOp op) {
        return setResult(hlo.allToAll(
            get(op.getInput()), *op.getSplitDim(), *op.getConcatDim(),
            op.getOutput().getType(), groupsOf(op.getOver())));
      })
      .Case([&](PermuteOp op) {
        return setResult(hlo.permute(get(op.getInput()), op.getPairs(),
                                     groupsOf(op.getOver())));
      })
      .Case([&](ConcatOp op) { return setResult(writeConcat(op)); })
      .Case([&](SplitOp op) {
        writeSplit(op);
        return success();
      })
      .Case([&](SliceOp op) { return setResult(writeSlice(op)); })
      .Case([&](AfterOp op) { return setResult(get(op.getInput())); })
      .Case([&](CastOp op) {
        return setResult(
            hlo.convert(get(op.getInput()),
                        tensorOf(op.getOutput().getType()).getElementType()));
      })
      .Case([&](LinearOp op) { return setResult(writeLinear(op)); })
      .Default([](Operation *op) {
        return op->emitError()
               << "expected communication that StableHLO has, found '"
               << op->getName() << "', which can't be written back";
      });
}
