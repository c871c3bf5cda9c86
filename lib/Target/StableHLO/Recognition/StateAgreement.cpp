//===- StateAgreement.cpp - Axes over which ranks disagree ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the least `varies` of every state, as a fixed point over steps. The
// rules are those of the dialect's own analysis, with gradients taken as
// reduced.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/StateAgreement.h"

#include "StableHLO/Graph/Cost.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

namespace {
class Agreement {
public:
  Agreement(const Graph &graph, ImportedStep &model)
      : graph(graph), model(model), masks(graph.values.size(), 0),
        reduced(graph.values.size(), 0) {
    for (const Gradient &gradient : model.gradients)
      reduced[gradient.value] = gradient.reduced;
  }

  /// Computes the fixed point.
  void infer();
  /// Replaces reductions of values on which ranks agree by factors.
  LogicalResult fold(Graph &writable);
  const std::vector<AxisMask> &getMasks() const { return masks; }
  void warnOfParams();

private:
  void walk();
  LogicalResult foldSame(FlatOp &op, AxisMask differing);
  std::vector<AxisMask> findUnproven() const;

  const Graph &graph;
  ImportedStep &model;
  /// By value: the axes over which it differs.
  std::vector<AxisMask> masks;
  /// By value of a gradient: the axes that the mean will run over.
  std::vector<AxisMask> reduced;
};
} // namespace

AxisMask bagua::importer::disagreementOf(const Graph &graph, const FlatOp &op,
                                         ValueId result,
                                         ArrayRef<AxisMask> of) {
  if (graph.values[result].isStatic)
    return graph.values[result].ofDevice;
  AxisMask mask = 0;
  for (ValueId operand : op.operands)
    mask |= of[operand];
  if (op.dependsOnRank)
    mask |= graph.mesh.allAxes();
  if (op.kind == OpKind::AllReduce || op.kind == OpKind::AllGather)
    mask &= ~op.collective.axes;
  else if (isCommunication(op.kind))
    mask |= op.collective.axes;
  return mask;
}

void Agreement::walk() {
  for (const StepArgument &argument : model.arguments)
    masks[graph.arguments[argument.argument].value] =
        argument.role == Role::Batch ? model.dataAxes : argument.varies;
  for (const FlatOp &op : graph.ops)
    if (!op.isDead)
      for (ValueId result : op.results)
        masks[result] =
            disagreementOf(graph, op, result, masks) & ~reduced[result];
}

/// By value: the axes over which it may differ as far as the module says. A
/// state that the step keeps alike need not start so.
std::vector<AxisMask> Agreement::findUnproven() const {
  std::vector<AxisMask> unproven = masks;
  for (const Argument &argument : graph.arguments)
    unproven[argument.value] |= argument.own;
  for (const FlatOp &op : graph.ops)
    if (!op.isDead)
      for (ValueId result : op.results)
        unproven[result] =
            masks[result] |
            (disagreementOf(graph, op, result, unproven) & ~reduced[result]);
  return unproven;
}

/// Replaces a reduction of a value on which ranks agree by that value, or by a
/// multiple of it.
LogicalResult Agreement::foldSame(FlatOp &op, AxisMask differing) {
  if (op.collective.kind != ReduceKind::Sum && differing) {
    op.collective.axes = differing;
    return success();
  }
  if (differing)
    return emitError(op.loc)
           << "expected a sum of a value that differs over its group, or over "
              "none of its axes, found one that differs over some";
  Type element = graph.values[op.results[0]].type.getElementType();
  if (!isa<FloatType>(element) && !element.isIntOrIndex())
    return emitError(op.loc)
           << "expected a sum of floating-point numbers or "
              "integers that are the same on all ranks, found "
           << element;
  if (element.isInteger(1) && op.collective.kind == ReduceKind::Sum)
    op.collective.kind = ReduceKind::Max; // whether any is true
  op.kind = OpKind::Scale;
  op.factor = 1;
  if (op.collective.kind == ReduceKind::Sum) {
    op.factor = static_cast<double>(graph.mesh.sizeOf(op.collective.axes));
    model.dependsOnMesh = true;
  }
  op.bytes = 2 * bytesOf(graph.values[op.operands[0]].type);
  return success();
}

LogicalResult Agreement::fold(Graph &writable) {
  std::vector<AxisMask> unproven = findUnproven();
  for (FlatOp &op : writable.ops) {
    if (op.isDead || !isReduction(op.kind))
      continue;
    ValueId operand = op.operands[0];
    AxisMask differing = op.collective.axes & unproven[operand];
    if (differing & ~masks[operand])
      writable.values[operand].unproven = unproven[operand] & ~masks[operand];
    if (differing == op.collective.axes)
      continue;
    if (op.kind == OpKind::ReduceScatter)
      return emitError(op.loc)
             << "expected 'stablehlo.reduce_scatter' of a value that differs "
                "over its whole group, found a value that is the same on some "
                "or all of its ranks";
    if (failed(foldSame(op, differing)))
      return failure();
  }
  return success();
}

/// Warns of params on which ranks come to disagree although the module doesn't
/// cut them.
void Agreement::warnOfParams() {
  // Nothing is known of values that the program's own communication makes
  // equal.
  std::vector<bool> isUnknown = afterOwnCommunication(graph);
  SmallVector<StringRef> names;
  AxisMask axes = 0;
  for (const StepArgument &argument : model.arguments) {
    AxisMask more = argument.varies & model.dataAxes &
                    ~graph.arguments[argument.argument].sharded;
    if (argument.role != Role::Param || !more ||
        isUnknown[graph.outputs[argument.output].value])
      continue;
    axes |= more;
    names.push_back(argument.name);
  }
  if (names.empty())
    return;
  InFlightDiagnostic warning = emitWarning(graph.loc);
  warning << "ranks over " << graph.mesh.only(axes).str()
          << " end the step with different values of param '" << names.front()
          << "'";
  if (names.size() > 1)
    warning << " and " << names.size() - 1 << " more";
  warning << ": no reduction of the step makes them equal";
}

void Agreement::infer() {
  // Each turn adds an axis to some state, so the loop ends.
  for (bool changed = true; changed;) {
    changed = false;
    walk();
    for (StepArgument &argument : model.arguments) {
      if (!argument.isState())
        continue;
      AxisMask next =
          argument.varies | masks[graph.outputs[argument.output].value];
      changed |= next != argument.varies;
      argument.varies = next;
    }
  }
}

std::vector<bool> bagua::importer::afterOwnCommunication(const Graph &graph) {
  std::vector<ValueId> made;
  for (const FlatOp &op : graph.ops)
    if (!op.isDead && op.communicates)
      made.insert(made.end(), op.results.begin(), op.results.end());
  return dependents(graph, made);
}

Disagreement bagua::importer::findDisagreement(const Graph &graph,
                                               const ImportedStep &model) {
  ImportedStep copy = model;
  Agreement agreement(graph, copy);
  agreement.infer();
  Disagreement found;
  for (const StepArgument &argument : copy.arguments)
    found.arguments.push_back(argument.varies);
  found.values = agreement.getMasks();
  return found;
}

LogicalResult bagua::importer::inferAgreement(Graph &graph,
                                              ImportedStep &model) {
  // A rank's own copy that is never combined with others' is no error.
  ImportedStep equalAtStart = model;
  for (StepArgument &argument : equalAtStart.arguments)
    argument.varies =
        argument.isState() ? graph.arguments[argument.argument].sharded : 0;
  Agreement warned(graph, equalAtStart);
  warned.infer();
  warned.warnOfParams();
  Agreement agreement(graph, model);
  agreement.infer();
  return agreement.fold(graph);
}
