//===- Rewrites.cpp - Rewrites of the flat graph --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces values, folds reshapes, finds and removes divisions by constants.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/Rewrites.h"

#include "mlir/IR/TypeUtilities.h"

using namespace bagua::importer;

bool bagua::importer::isView(const FlatOp &op) {
  if (op.kind == OpKind::Reshape)
    return true;
  auto isFloat = [](mlir::Type type) {
    return mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
  };
  return op.kind == OpKind::Elementwise && op.source &&
         op.source->getName().stripDialect() == "convert" &&
         isFloat(op.source->getOperand(0).getType()) &&
         isFloat(op.source->getResult(0).getType());
}

/// `value / c`.
static std::optional<Division> divisionBy(const Graph &graph, OpId id,
                                          ValueId value) {
  const FlatOp &op = graph.ops[id];
  if (op.kind != OpKind::Elementwise || op.operands.size() != 2 ||
      op.source->getName().stripDialect() != "divide" ||
      op.operands[0] != value)
    return std::nullopt;
  std::optional<double> constant = graph.values[op.operands[1]].splat;
  if (!constant || *constant == 0)
    return std::nullopt;
  return Division{id, *constant};
}

std::optional<Division> bagua::importer::findDivision(const Graph &graph,
                                                      const Uses &uses,
                                                      ValueId value) {
  while (true) {
    for (const Output &output : graph.outputs)
      if (output.value == value && !output.isForMapping)
        return std::nullopt;
    llvm::ArrayRef<OpId> users = uses.of(value);
    if (users.size() != 1)
      return std::nullopt;
    if (std::optional<Division> division = divisionBy(graph, users[0], value))
      return division;
    const FlatOp &user = graph.ops[users[0]];
    if (!isView(user))
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
  replacements.add(op.results[0], op.operands[0]);
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
