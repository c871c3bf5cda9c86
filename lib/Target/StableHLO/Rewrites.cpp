//===- Rewrites.cpp - Rewrites of the flat graph --------------------------===//
//
// Replaces values, folds reshapes, finds and removes divisions by constants.
//
//===----------------------------------------------------------------------===//
#include "Rewrites.h"

#include <cmath>

using namespace bagua::importer;

/// 1 / value; a whole number where it is one but for rounding to float32.
static double reciprocal(double value) {
  double result = 1 / value, whole = std::round(result);
  return std::abs(result - whole) < 1e-6 * std::abs(result) ? whole : result;
}

/// `value / c`, `value * c` or `c * value`.
static std::optional<Division> divisionBy(const Graph &graph, OpId id,
                                          ValueId value) {
  const FlatOp &op = graph.ops[id];
  if (op.kind != OpKind::Elementwise || op.operands.size() != 2)
    return std::nullopt;
  llvm::StringRef name = op.source->getName().stripDialect();
  for (unsigned i : {0u, 1u}) {
    std::optional<double> constant = graph.values[op.operands[1 - i]].splat;
    if (op.operands[i] != value || !constant || *constant == 0)
      continue;
    if (name == "divide" && i == 0)
      return Division{id, i, *constant};
    if (name == "multiply")
      return Division{id, i, reciprocal(*constant)};
  }
  return std::nullopt;
}

std::optional<Division> bagua::importer::findDivision(const Graph &graph,
                                                      const Uses &uses,
                                                      ValueId value) {
  while (true) {
    for (const Output &output : graph.outputs)
      if (output.value == value)
        return std::nullopt;
    llvm::ArrayRef<OpId> users = uses.of(value);
    if (users.size() != 1)
      return std::nullopt;
    if (std::optional<Division> division = divisionBy(graph, users[0], value))
      return division;
    const FlatOp &user = graph.ops[users[0]];
    bool isView = user.kind == OpKind::Reshape ||
                  (user.kind == OpKind::Elementwise && user.source &&
                   user.source->getName().stripDialect() == "convert");
    if (!isView || user.results.size() != 1)
      return std::nullopt;
    value = user.results[0];
  }
}

void Replacements::apply(Graph &graph) const {
  for (FlatOp &op : graph.ops)
    for (ValueId &operand : op.operands)
      operand = resolve(operand);
  for (Output &output : graph.outputs)
    output.value = resolve(output.value);
  for (auto [value, target] : llvm::zip_equal(graph.values, targets))
    if (target != kNone)
      value.replacedBy = target;
}

void bagua::importer::removeDivision(Graph &graph, const Division &division,
                                     Replacements &replacements) {
  FlatOp &op = graph.ops[division.op];
  op.isDead = true;
  replacements.add(op.results[0], op.operands[division.operand]);
}

void bagua::importer::scaleDivision(Graph &graph, const Division &division,
                                    double factor) {
  FlatOp &op = graph.ops[division.op];
  op.operands = {op.operands[division.operand]};
  op.kind = OpKind::Scale;
  op.factor = factor;
}

void bagua::importer::foldReshapeRoundTrips(Graph &graph) {
  Replacements replacements(graph);
  for (FlatOp &op : graph.ops) {
    if (op.isDead || op.kind != OpKind::Reshape)
      continue;
    const FlatOp *first = graph.defOf(replacements.resolve(op.operands[0]));
    if (!first || first->kind != OpKind::Reshape)
      continue;
    ValueId origin = replacements.resolve(first->operands[0]);
    if (graph.values[origin].type == graph.values[op.results[0]].type)
      replacements.add(op.results[0], origin);
  }
  replacements.apply(graph);
  graph.removeDeadOps();
}
