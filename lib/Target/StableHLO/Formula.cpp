//===- Formula.cpp - A value as a function of numbers ---------------------===//
//
// Arithmetic in double precision. Ops whose pieces could differ without any of
// the points showing it (a clip, a comparison of elements) are not understood;
// integer scalars, such as a count of steps that stops at the largest, are.
//
//===----------------------------------------------------------------------===//
#include "Formula.h"

using namespace bagua;
using namespace bagua::importer;

constexpr size_t kLongest = 200;

static bool isScalar(const Graph &graph, ValueId value) {
  return graph.values[value].type.getRank() == 0;
}

static bool isFloat(const Graph &graph, ValueId value) {
  return mlir::isa<mlir::FloatType>(graph.values[value].type.getElementType());
}

/// Null for an op that is not understood.
static Rule ruleIn(const Graph &graph, const FlatOp &op) {
  if (!op.source || op.results.size() != 1)
    return nullptr;
  bool isView = op.kind == OpKind::Reshape || op.kind == OpKind::Broadcast;
  if (isView && graph.countOf(op.operands[0]) != graph.countOf(op.results[0]) &&
      graph.countOf(op.operands[0]) != 1)
    return nullptr;
  if (!isView && op.kind != OpKind::Elementwise)
    return nullptr;
  bool counts = isScalar(graph, op.results[0]) &&
                llvm::none_of(op.operands, [&](ValueId operand) {
                  return isFloat(graph, operand);
                });
  bool isChosen = op.operands.size() == 3 && graph.values[op.operands[0]].splat;
  return isPiecewise(op.source) && !counts && !isChosen ? nullptr
                                                        : ruleOf(op.source);
}

Formula::Formula(const Graph &graph, ValueId root,
                 llvm::ArrayRef<ValueId> stops)
    : graph(graph), root(root) {
  visit(root, stops);
}

void Formula::visit(ValueId value, llvm::ArrayRef<ValueId> stops) {
  if (!valid || graph.values[value].splat || !seen.insert(value).second)
    return;
  const FlatOp *op = graph.defOf(value);
  bool isLeaf = !op || llvm::is_contained(stops, value);
  Rule rule = isLeaf ? nullptr : ruleIn(graph, *op);
  if (rule && nodes.size() < kLongest) {
    // Of a choice that is made already, what is not chosen does not count.
    std::optional<double> chosen = op->operands.size() == 3
                                       ? graph.values[op->operands[0]].splat
                                       : std::nullopt;
    for (auto [index, operand] : llvm::enumerate(op->operands))
      if (!chosen || index == (*chosen != 0 ? 1 : 2))
        visit(operand, stops);
    nodes.push_back({rule, op, value});
    if (isScalar(graph, value) && isFloat(graph, value))
      passed.push_back(value);
    return;
  }
  // A number that the program computes otherwise: a schedule's rate.
  valid &= isLeaf || isScalar(graph, value);
  open.push_back(value);
}

double Formula::at(const Numbers &numbers) const {
  Numbers known = numbers;
  auto get = [&](ValueId value) {
    std::optional<double> splat = graph.values[value].splat;
    return splat ? *splat : known.lookup(value);
  };
  for (const Node &node : nodes) {
    double inputs[3] = {0, 0, 0};
    for (auto [index, operand] : llvm::enumerate(node.op->operands))
      inputs[index] = get(operand);
    known[node.value] = node.rule(inputs[0], inputs[1], inputs[2]);
  }
  return get(root);
}
