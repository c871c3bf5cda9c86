//===- Agreement.cpp - Over which axes ranks disagree ---------------------===//
//
// The least `varies` of every state, as a fixed point over steps: the facts of
// the dialect's own analysis, with gradients taken as reduced.
//
//===----------------------------------------------------------------------===//
#include "ImportedStep.h"

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

  LogicalResult run();

private:
  void walk();
  LogicalResult check();

  const Graph &graph;
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

LogicalResult Agreement::check() {
  for (const FlatOp &op : graph.ops) {
    if (op.isDead)
      continue;
    if (op.kind == OpKind::RankDependent &&
        model.dataAxes != graph.mesh.allAxes())
      return emitError(op.loc)
             << "expected '" << op.source->getName()
             << "' in steps over data axes alone, found the mesh "
             << graph.mesh.str();
    if (op.kind == OpKind::AllReduce &&
        (op.collective.axes & ~masks[op.operands[0]]))
      return emitError(op.loc)
             << "expected an all_reduce of a value that differs over its "
                "group, "
                "found one that is the same on all ranks of an axis";
  }
  return success();
}

LogicalResult Agreement::run() {
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
  return check();
}

LogicalResult bagua::importer::inferAgreement(const Graph &graph,
                                              ImportedStep &model) {
  return Agreement(graph, model).run();
}
