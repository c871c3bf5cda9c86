//===- Agreement.cpp - Over which axes ranks disagree ---------------------===//
//
// The least `varies` of every state, as a fixed point over steps: the facts of
// the dialect's own analysis, with gradients taken as reduced.
//
//===----------------------------------------------------------------------===//
#include "Cost.h"
#include "ImportedStep.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

namespace {
class Agreement {
public:
  Agreement(Graph &graph, ImportedStep &model)
      : graph(graph), model(model), masks(graph.values.size(), 0),
        reduced(graph.values.size(), 0) {
    for (const Gradient &gradient : model.gradients)
      reduced[gradient.value] = gradient.reduced;
  }

  LogicalResult run();

private:
  void walk();
  LogicalResult check();
  LogicalResult foldSame(FlatOp &op);
  void warnOfParams(ArrayRef<AxisMask> declared);

  Graph &graph;
  ImportedStep &model;
  /// Axes over which each value differs.
  std::vector<AxisMask> masks;
  /// Of gradients: the axes that the mean will run over.
  std::vector<AxisMask> reduced;
};
} // namespace

void Agreement::walk() {
  for (const StepArgument &argument : model.arguments)
    masks[graph.arguments[argument.argument].value] =
        argument.role == Role::Batch ? model.dataAxes : argument.varies;
  for (const FlatOp &op : graph.ops) {
    if (op.isDead)
      continue;
    AxisMask mask = 0;
    for (ValueId operand : op.operands)
      mask |= masks[operand];
    if (op.kind == OpKind::RankDependent)
      mask |= model.dataAxes;
    if (op.kind == OpKind::AllReduce)
      mask &= ~op.collective.axes;
    if (op.kind == OpKind::AllToAll)
      mask |= op.collective.axes;
    for (ValueId result : op.results)
      masks[result] = mask & ~reduced[result];
  }
}

/// A reduction of what ranks have alike is that value, or a multiple of it.
LogicalResult Agreement::foldSame(FlatOp &op) {
  AxisMask differing = op.collective.axes & masks[op.operands[0]];
  if (op.collective.kind != ReduceKind::Sum && differing) {
    op.collective.axes = differing;
    return success();
  }
  if (differing)
    return emitError(op.loc)
           << "expected a sum of a value that differs over its group, or over "
              "none of its axes, found one that differs over some";
  op.kind = OpKind::Scale;
  op.factor = 1;
  if (op.collective.kind == ReduceKind::Sum) {
    op.factor = static_cast<double>(graph.mesh.sizeOf(op.collective.axes));
    model.dependsOnMesh = true;
  }
  op.bytes = 2 * bytesOf(graph.values[op.operands[0]].type);
  return success();
}

LogicalResult Agreement::check() {
  for (FlatOp &op : graph.ops) {
    if (op.isDead)
      continue;
    if (op.kind == OpKind::RankDependent &&
        model.dataAxes != graph.mesh.allAxes())
      return emitError(op.loc)
             << "expected '" << op.source->getName()
             << "' in steps over data axes alone, found the mesh "
             << graph.mesh.str();
    if (op.kind == OpKind::AllReduce &&
        (op.collective.axes & ~masks[op.operands[0]]) && failed(foldSame(op)))
      return failure();
  }
  return success();
}

/// Params on which ranks come to disagree, though the module doesn't cut them.
void Agreement::warnOfParams(ArrayRef<AxisMask> declared) {
  SmallVector<StringRef> names;
  AxisMask axes = 0;
  for (auto [argument, before] : llvm::zip_equal(model.arguments, declared)) {
    AxisMask more = argument.varies & ~before & model.dataAxes;
    if (argument.role != Role::Param || !more)
      continue;
    axes |= more;
    names.push_back(argument.name);
  }
  if (names.empty())
    return;
  Mesh over;
  for (auto [index, axis] : llvm::enumerate(graph.mesh.axes))
    if (axes >> index & 1)
      over.axes.push_back(axis);
  InFlightDiagnostic warning = emitWarning(graph.loc);
  warning << "ranks come to disagree over " << over.str() << " on param '"
          << names.front() << "'";
  if (names.size() > 1)
    warning << " and " << names.size() - 1 << " more";
  warning << ": no reduction of the step makes them equal";
}

LogicalResult Agreement::run() {
  SmallVector<AxisMask> declared;
  for (const StepArgument &argument : model.arguments)
    declared.push_back(argument.varies);
  // Each turn adds an axis to some state, so this ends.
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
  warnOfParams(declared);
  return check();
}

LogicalResult bagua::importer::inferAgreement(Graph &graph,
                                              ImportedStep &model) {
  return Agreement(graph, model).run();
}
