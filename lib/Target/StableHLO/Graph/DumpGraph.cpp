//===- DumpGraph.cpp - A graph as text ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line for each thing.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Flatten.h"

#include "bagua/Support/Words.h"

#include "llvm/ADT/STLExtras.h"

using namespace bagua;
using namespace bagua::importer;

template <>
inline constexpr std::array<std::string_view, 15> bagua::kWordsOf<OpKind> = {
    "elementwise",    "reshape",    "broadcast",  "constant",
    "pure",           "rank",       "opaque",     "all_reduce",
    "reduce_scatter", "all_gather", "all_to_all", "permute",
    "scale",          "sgd",        "adam"};

static void dumpValues(llvm::raw_ostream &output,
                       llvm::ArrayRef<ValueId> values) {
  llvm::interleaveComma(values, output,
                        [&](ValueId value) { output << '%' << value; });
}

static void dumpUpdate(llvm::raw_ostream &output, const FlatOp &op) {
  output << " states " << op.update.stateCount;
  if (op.update.lr)
    output << " lr " << *op.update.lr;
  if (op.update.momentum)
    output << " momentum " << *op.update.momentum;
  if (op.kind == OpKind::Adam)
    output << " beta1 " << op.update.beta1 << " beta2 " << op.update.beta2
           << " eps " << op.update.eps << " decay " << op.update.decay;
}

/// `%7 = all_reduce sum over [data] (%3) : tensor<4xf32>`.
static void dumpOp(llvm::raw_ostream &output, const Graph &graph,
                   const FlatOp &op) {
  output << "  ";
  dumpValues(output, op.results);
  output << (op.results.empty() ? "" : " = ")
         << llvm::StringRef(wordOf(op.kind));
  if (op.source && !isCommunication(op.kind))
    output << " \"" << op.source->getName().getStringRef() << '"';
  if (isReduction(op.kind))
    output << ' ' << reduceKindName(op.collective.kind);
  if (isCommunication(op.kind))
    output << " over " << graph.mesh.only(op.collective.axes).str();
  if (op.kind == OpKind::Scale)
    output << " by " << op.factor;
  if (op.kind == OpKind::Sgd || op.kind == OpKind::Adam)
    dumpUpdate(output, op);
  output << " (";
  dumpValues(output, op.operands);
  output << ") : ";
  llvm::interleaveComma(op.results, output, [&](ValueId result) {
    output << graph.values[result].type;
  });
  output << '\n';
}

void bagua::importer::dumpGraph(llvm::raw_ostream &output, const Graph &graph) {
  output << "graph @" << graph.name << " of " << graph.replicas
         << " replicas and " << graph.partitions << " partitions on "
         << graph.mesh.str() << '\n';
  for (const Argument &argument : graph.arguments)
    output << "  %" << argument.value << " = argument " << argument.index
           << " \"" << argument.path
           << "\" : " << graph.values[argument.value].type << '\n';
  for (const FlatOp &op : graph.ops)
    if (!op.isDead)
      dumpOp(output, graph, op);
  for (auto [index, result] : llvm::enumerate(graph.outputs))
    output << "  output " << index << " \"" << result.path << "\" %"
           << result.value << '\n';
}
