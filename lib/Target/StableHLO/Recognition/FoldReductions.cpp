//===- FoldReductions.cpp - Means and reduce_scatters ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the division after a sum, and the part that each rank takes of one.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/FoldReductions.h"

#include "StableHLO/Recognition/Rewrites.h"
#include "StableHLO/Recognition/StateRecognition.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

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

/// The dimension along which each rank takes the part at its place among the
/// ranks of `axes`; nothing if it takes another part.
static std::optional<int64_t> ownPart(const Graph &graph, const FlatOp &slice,
                                      AxisMask axes) {
  ArrayRef<int64_t> whole = graph.values[slice.operands[0]].type.getShape();
  ArrayRef<int64_t> part = graph.values[slice.results[0]].type.getShape();
  std::optional<int64_t> cut;
  for (auto [dimension, sizes] :
       llvm::enumerate(llvm::zip_equal(whole, part))) {
    auto [size, partSize] = sizes;
    if (size == partSize) // begins at 0, whatever the operand is
      continue;
    if (cut || partSize * graph.mesh.sizeOf(axes) != size)
      return std::nullopt;
    cut = dimension;
  }
  auto starts = cut ? graph.deviceNumbers.find(slice.operands[1 + *cut])
                    : graph.deviceNumbers.end();
  if (starts == graph.deviceNumbers.end())
    return std::nullopt;
  for (auto [device, start] : llvm::enumerate(starts->second))
    if (start != graph.mesh.placeOf(device, axes) * part[*cut])
      return std::nullopt;
  return cut;
}

void bagua::importer::foldReduceScatters(Graph &graph,
                                         const ImportedStep &model) {
  Uses uses = graph.computeUses();
  std::vector<bool> dependsOnBatch = dependentsOfBatch(graph, model);
  for (FlatOp &op : graph.ops) {
    if (op.isDead || op.kind != OpKind::AllReduce ||
        op.collective.kind != ReduceKind::Sum || !op.collective.axes ||
        !dependsOnBatch[op.operands[0]])
      continue;
    ValueId sum = op.results[0];
    bool isOutput = llvm::any_of(
        graph.outputs, [&](const Output &out) { return out.value == sum; });
    ArrayRef<OpId> users = uses.of(sum);
    if (isOutput || users.size() != 1)
      continue;
    FlatOp &slice = graph.ops[users.front()];
    bool isSlice = slice.source && slice.operands[0] == sum &&
                   slice.source->getName().stripDialect() == "dynamic_slice";
    std::optional<int64_t> dimension =
        isSlice ? ownPart(graph, slice, op.collective.axes) : std::nullopt;
    if (!dimension)
      continue;
    op.kind = OpKind::ReduceScatter;
    op.collective.splitDimension = *dimension;
    graph.values[slice.results[0]].def = graph.values[sum].def;
    op.results[0] = slice.results[0];
    slice.isDead = true;
  }
}
