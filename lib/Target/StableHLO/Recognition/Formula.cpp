//===- Formula.cpp - A value as a function of numbers ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates arithmetic in double precision. An op whose pieces could differ
// without any of the points showing it (a clip, a comparison, rounding) is not
// understood.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/Formula.h"

using namespace bagua;
using namespace bagua::importer;

constexpr size_t kLongest = 200;

static bool isScalar(const Graph &graph, ValueId value) {
  return graph.values[value].type.getRank() == 0;
}

static bool isFloat(const Graph &graph, ValueId value) {
  return mlir::isa<mlir::FloatType>(graph.values[value].type.getElementType());
}

/// Whether the result's type has every number of the operand's.
static bool keepsNumbers(const FlatOp &op) {
  mlir::Type from = mlir::getElementTypeOrSelf(op.source->getOperand(0));
  mlir::Type to = mlir::getElementTypeOrSelf(op.source->getResult(0));
  auto wide = mlir::dyn_cast<mlir::FloatType>(to);
  auto narrow = mlir::dyn_cast<mlir::FloatType>(from);
  // An integer type of 32 bits is wide enough for a count.
  return wide && (narrow ? narrow.getWidth() <= wide.getWidth()
                         : wide.getWidth() >= 32);
}

/// The rule of an op; null if it is not understood. Integers wrap, and divide
/// in steps.
static Rule ruleIn(const Graph &graph, const FlatOp &op) {
  if (!op.source || op.results.size() != 1)
    return nullptr;
  bool isView = op.kind == OpKind::Reshape || op.kind == OpKind::Broadcast;
  if (isView && graph.countOf(op.operands[0]) != graph.countOf(op.results[0]) &&
      graph.countOf(op.operands[0]) != 1)
    return nullptr;
  if (!isView && op.kind != OpKind::Elementwise)
    return nullptr;
  bool isChosen = op.operands.size() == 3 && graph.values[op.operands[0]].splat;
  bool isConvert = op.source->getName().stripDialect() == "convert";
  bool counts = !isFloat(graph, op.results[0]) &&
                op.source->getName().stripDialect() == "add";
  if ((isPiecewise(op.source) && !isChosen) ||
      (isConvert && !keepsNumbers(op)) ||
      (!isView && !isFloat(graph, op.results[0]) && !counts && !isChosen))
    return nullptr;
  return ruleOf(op.source);
}

Formula::Formula(const Graph &graph, ValueId root,
                 llvm::ArrayRef<ValueId> stops)
    : graph(graph), root(visit(root, stops)) {}

unsigned Formula::addPlace(ValueId value, double number) {
  auto place = static_cast<unsigned>(initial.size());
  initial.push_back(number);
  return places[value] = place;
}

unsigned Formula::visit(ValueId value, llvm::ArrayRef<ValueId> stops) {
  if (auto known = places.find(value); known != places.end())
    return known->second;
  valid &= places.size() < kLongest;
  if (!valid)
    return 0;
  if (std::optional<double> splat = graph.values[value].splat)
    return addPlace(value, *splat);
  unsigned place = addPlace(value, 0);
  const FlatOp *op = graph.defOf(value);
  bool isLeaf = !op || llvm::is_contained(stops, value);
  Rule rule = isLeaf ? nullptr : ruleIn(graph, *op);
  if (!rule) {
    // A scalar that the program computes in another way is a leaf: a schedule's
    // rate.
    valid &= isLeaf || isScalar(graph, value);
    open.push_back(value);
    openPlaces.push_back(place);
    return place;
  }
  Node node{rule, {}, place};
  // In a choice that is already made, the operand that is not chosen is
  // ignored.
  size_t ignored = 3;
  if (op->operands.size() == 3)
    ignored = graph.values[op->operands[0]].splat.value_or(0) != 0 ? 2 : 1;
  for (auto [index, operand] : llvm::enumerate(op->operands))
    if (index != ignored)
      node.operands[index] = visit(operand, stops);
  nodes.push_back(node);
  if (isScalar(graph, value) && isFloat(graph, value))
    passed.push_back(value);
  return place;
}

double Formula::at(llvm::ArrayRef<double> numbers) const {
  llvm::SmallVector<double, 64> known(initial);
  for (auto [place, number] : llvm::zip_equal(openPlaces, numbers))
    known[place] = number;
  for (const Node &node : nodes)
    known[node.result] =
        node.rule(known[node.operands[0]], known[node.operands[1]],
                  known[node.operands[2]]);
  return known[root];
}
