//===- FlatBuckets.cpp - Gradients that a step reduces as one -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the pieces that a step cuts out of a reduced tensor with those of
// which the tensor was made.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/FlatBuckets.h"

#include "StableHLO/Recognition/Rewrites.h"
#include "StableHLO/Recognition/StateAgreement.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

static bool isNamed(const FlatOp &op, StringRef name) {
  return op.source && op.source->getName().stripDialect() == name;
}

/// The op's attribute of one number for each dimension; empty if there is none.
static SmallVector<int64_t> listOf(const FlatOp &op, StringRef name) {
  if (auto list = op.source->getAttrOfType<DenseI64ArrayAttr>(name))
    return llvm::to_vector(list.asArrayRef());
  if (auto list = op.source->getAttrOfType<DenseIntElementsAttr>(name))
    return llvm::to_vector(list.getValues<int64_t>());
  return {};
}

/// The piece of a concatenation of flat tensors that a slice cuts out of it;
/// kNone if it cuts anything else.
static ValueId pieceOf(const Graph &graph, const FlatOp &concat,
                       const FlatOp &slice) {
  SmallVector<int64_t> begin = listOf(slice, "start_indices"),
                       end = listOf(slice, "limit_indices"),
                       stride = listOf(slice, "strides");
  if (begin.size() != 1 || end.size() != 1 || stride != ArrayRef<int64_t>{1})
    return kNone;
  int64_t at = 0;
  for (ValueId piece : concat.operands) {
    int64_t next = at + graph.countOf(piece);
    if (at == begin[0] && next == end[0])
      return piece;
    at = next;
  }
  return kNone;
}

namespace {
class BucketSplitter {
public:
  BucketSplitter(Graph &graph, const ImportedStep &model)
      : graph(graph), model(model), uses(graph.computeUses()),
        isOutput(graph.values.size(), false) {
    for (const Output &output : graph.outputs)
      isOutput[output.value] = true;
  }
  void split(OpId id);

private:
  bool canBeApart(ValueId piece, const importer::Collective &collective);

  Graph &graph;
  const ImportedStep &model;
  /// By value: the axes along which it differs; empty until it is asked for.
  std::vector<AxisMask> differing;
  Uses uses;
  std::vector<bool> isOutput;
};
} // namespace

/// Whether a reduction of the piece alone is one that the IR has.
bool BucketSplitter::canBeApart(ValueId piece,
                                const importer::Collective &collective) {
  if (differing.empty())
    differing = findDisagreement(graph, model).values;
  AxisMask along = collective.axes & differing[piece];
  return collective.kind != ReduceKind::Sum || !along ||
         along == collective.axes;
}

void BucketSplitter::split(OpId id) {
  const FlatOp reduce = graph.ops[id];
  const FlatOp *concat = graph.defOf(reduce.operands[0]);
  if (!concat || !isNamed(*concat, "concatenate") ||
      graph.values[reduce.operands[0]].type.getRank() != 1)
    return;
  importer::Collective collective = reduce.collective;
  ValueId whole = reduce.results[0];
  if (std::optional<Division> division = findDivision(graph, uses, whole)) {
    auto ranks = static_cast<double>(graph.mesh.sizeOf(collective.axes));
    const FlatOp &op = graph.ops[division->op];
    if (op.operands[0] != whole || division->divisor != ranks ||
        collective.kind != ReduceKind::Sum ||
        !isa<FloatType>(graph.values[whole].type.getElementType()))
      return;
    collective.kind = ReduceKind::Mean;
    if (isOutput[whole])
      return;
    whole = op.results[0];
  }
  ArrayRef<OpId> users = uses.of(whole);
  if (isOutput[whole] || users.empty())
    return;
  SmallVector<ValueId> pieces;
  for (OpId user : users) {
    const FlatOp &slice = graph.ops[user];
    pieces.push_back(isNamed(slice, "slice") ? pieceOf(graph, *concat, slice)
                                             : kNone);
    if (pieces.back() == kNone ||
        graph.values[pieces.back()].type !=
            graph.values[slice.results[0]].type ||
        !canBeApart(pieces.back(), collective))
      return;
  }
  // A slice becomes the reduction, since it stands behind all of them.
  for (auto [user, piece] : llvm::zip_equal(users, pieces)) {
    FlatOp &op = graph.ops[user];
    op.kind = OpKind::AllReduce;
    op.source = reduce.source;
    op.loc = reduce.loc;
    op.callScope = reduce.callScope;
    op.operands = {piece};
    op.flops = op.bytes = 0;
    op.collective = collective;
  }
}

void bagua::importer::splitBuckets(Graph &graph, const ImportedStep &model) {
  BucketSplitter splitter(graph, model);
  for (auto [index, op] : llvm::enumerate(graph.ops))
    if (!op.isDead && op.kind == OpKind::AllReduce)
      splitter.split(static_cast<OpId>(index));
  graph.removeDeadOps();
}
