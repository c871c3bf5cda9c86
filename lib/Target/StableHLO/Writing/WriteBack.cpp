//===- WriteBack.cpp - A planned step back in its module ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewires the module: its ops use the values that the ops of the planned step
// which stand for them use. Communication is written anew.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Writing/WriteBack.h"

#include "StableHLO/Graph/Flatten.h"
#include "StableHLO/Graph/OpTable.h"
#include "StableHLO/Writing/StepWriter.h"

#include "bagua/Dialect/Bagua/Origins.h"

#include "mlir/Analysis/TopologicalSortUtils.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

namespace {
class WriteBack {
public:
  WriteBack(StepOp step, Graph &graph, const ImportedStep &model,
            EmittedStep &emitted)
      : step(step), graph(graph), model(model), emitted(emitted),
        builder(graph.body->getTerminator()), writer(step, graph, builder) {}

  LogicalResult run();

private:
  /// By value of the step as it was imported, and by value of the graph.
  using Wiring = llvm::DenseMap<Value, Value>;
  using IdWiring = llvm::DenseMap<ValueId, Value>;

  LogicalResult readArguments();
  LogicalResult writeOp(Operation *op);
  LogicalResult writeCompute(ComputeOp op, ArrayRef<OriginRun> origin);
  LogicalResult writeMember(const EmittedOp &entry, Operation *user,
                            Wiring &wiring);
  /// `isWhole`: the wiring must have all operands of the source.
  LogicalResult rewire(Operation *source, Operation *user,
                       const IdWiring &wiring, bool isWhole);
  LogicalResult rewireUpdate(const FlatOp &op, Operation *user,
                             const IdWiring &wiring);
  LogicalResult setUse(OpOperand &use, Value value, Operation *user);
  LogicalResult setOutput(int32_t output, Value value, Operation *user);
  OpOperand &useOfOutput(int32_t output);
  LogicalResult writeStates();
  LogicalResult removeOld();
  LogicalResult refuseOrigin(Operation *op);

  StepOp step;
  Graph &graph;
  const ImportedStep &model;
  EmittedStep &emitted;
  OpBuilder builder;
  StepWriter writer;
  llvm::DenseSet<OpOperand *> setOutputs;
  /// The first ops of runs that have been written.
  llvm::DenseSet<int64_t> written;
  llvm::DenseSet<Operation *> oldCommunication;
};
} // namespace

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

/// Replaces a use of a value in the module by another value.
LogicalResult WriteBack::setUse(OpOperand &use, Value value, Operation *user) {
  // The two values may be one value that wrappers rename. A value that only
  // stands for another in the graph is not the same: a gradient stands for its
  // mean.
  auto id = graph.ids.find(value), usedId = graph.ids.find(use.get());
  bool isRenamed = id != graph.ids.end() && usedId != graph.ids.end() &&
                   id->second == usedId->second;
  if (use.get() == value || isRenamed)
    return success();
  auto type = dyn_cast<RankedTensorType>(use.get().getType());
  auto given = cast<RankedTensorType>(value.getType());
  if (!type || type.getElementType() != given.getElementType() ||
      type.getNumElements() != given.getNumElements())
    return user->emitError()
           << "expected a value of type " << use.get().getType()
           << " as the module has it, found " << given;
  use.set(writer.getBuilder().reshape(value, type.getShape()));
  return success();
}

/// Replaces the operands of the op and its regions by the wiring's values;
/// values that depend on no argument stay.
LogicalResult WriteBack::rewire(Operation *source, Operation *user,
                                const IdWiring &wiring, bool isWhole) {
  WalkResult result = source->walk([&](Operation *inner) {
    for (OpOperand &use : inner->getOpOperands()) {
      ValueId id = graph.idOf(use.get());
      auto found = id == kNone ? wiring.end() : wiring.find(id);
      bool isUnknown = isWhole && id != kNone && found == wiring.end() &&
                       !graph.values[id].isStatic;
      if (isUnknown)
        user->emitError() << "expected all values that '" << source->getName()
                          << "' uses to be in the module, found one missing";
      if (isUnknown ||
          (found != wiring.end() && failed(setUse(use, found->second, user))))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Rewires a structured update, which stands for all ops of the module between
/// its operands and its results.
LogicalResult WriteBack::rewireUpdate(const FlatOp &op, Operation *user,
                                      const IdWiring &wiring) {
  SmallVector<Value> pending;
  for (ValueId result : op.results)
    pending.push_back(graph.values[result].source);
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *source = pending.pop_back_val().getDefiningOp();
    if (!source || !seen.insert(source).second)
      continue;
    // Values that were written anew have no number.
    for (Value operand : source->getOperands())
      if (ValueId id = graph.idOf(operand); id != kNone && !wiring.count(id))
        pending.push_back(operand);
    if (failed(rewire(source, user, wiring, /*isWhole=*/false)))
      return failure();
  }
  return success();
}

/// Writes one op of the import: `wiring` has its operands, and gets its
/// results.
LogicalResult WriteBack::writeMember(const EmittedOp &entry, Operation *user,
                                     Wiring &wiring) {
  if (entry.output != kNone)
    return setOutput(entry.output, wiring.lookup(entry.op->getOperand(0)),
                     user);
  if (entry.isOfUpdate) {
    // The update stands for the module's own norms; nobody reads this value.
    wiring[entry.op->getResult(0)] = wiring.lookup(entry.op->getOperand(0));
    return success();
  }
  IdWiring byId;
  for (Value operand : entry.op->getOperands()) {
    auto id = emitted.valueIds.find(operand);
    if (id == emitted.valueIds.end())
      continue; // made for an update alone
    Value value = wiring.lookup(operand);
    auto [known, isNew] = byId.try_emplace(id->second, value);
    if (!isNew && known->second != value)
      return user->emitError() << "expected one new value for a value that the "
                                  "module uses twice, found two new values";
  }
  const FlatOp *op = entry.source == kNone ? nullptr : &graph.ops[entry.source];
  if (op && op->kind == OpKind::Scale) {
    Value value = entry.op->getNumOperands()
                      ? wiring.lookup(entry.op->getOperand(0))
                      : graph.values[op->operands[0]].source;
    HLOBuilder &hlo = writer.getBuilder();
    if (op->factor != 1)
      value = hlo.binary("multiply", value, hlo.splatLike(value, op->factor));
    wiring[entry.op->getResult(0)] = value;
    return success();
  }
  // An argument that the program gives is the argument itself.
  if (!op && entry.op->getNumOperands() == 1) {
    wiring[entry.op->getResult(0)] = wiring.lookup(entry.op->getOperand(0));
    return success();
  }
  bool isUpdate = op && op->kind == OpKind::Update;
  if (op && failed(isUpdate ? rewireUpdate(*op, user, byId)
                            : rewire(op->source, user, byId, /*isWhole=*/true)))
    return failure();
  for (Value result : entry.op->getResults())
    wiring[result] = graph.values[emitted.valueIds.lookup(result)].source;
  return success();
}

/// Writes one op of the import, or several that became one.
LogicalResult WriteBack::writeCompute(ComputeOp op,
                                      ArrayRef<OriginRun> origin) {
  auto count = static_cast<int64_t>(emitted.ops.size());
  SmallVector<EmittedOp> members;
  for (const OriginRun &run : origin) {
    if (run.first < 0 || run.last < run.first || run.last >= count)
      return refuseOrigin(op);
    llvm::append_range(
        members,
        ArrayRef(emitted.ops).slice(run.first, run.last - run.first + 1));
  }
  bool isNew = true;
  for (const OriginRun &run : origin)
    isNew &= written.insert(run.first).second;
  if (!isNew)
    return op->emitError() << "expected each op of the module once, found '"
                           << op.getName()
                           << "' again: micro-batches can't be written back";
  SmallVector<Value> inputs;
  SmallVector<OpResult> outputs;
  if (members.size() == 1) {
    inputs = llvm::to_vector(members.front().op->getOperands());
    outputs = llvm::to_vector(members.front().op->getResults());
  } else {
    SmallVector<ComputeOp> computes;
    for (const EmittedOp &member : members) {
      auto compute = dyn_cast<ComputeOp>(member.op);
      if (!compute)
        return refuseOrigin(op);
      computes.push_back(compute);
    }
    ComputeBorder border = borderOf(computes);
    inputs = std::move(border.inputs);
    outputs = std::move(border.outputs);
  }
  // A schedule adds states at the end, for the sake of the order alone.
  OperandRange given = op->getOperands();
  while (given.size() > inputs.size() && isa<BlockArgument>(given.back()))
    given = given.drop_back();
  if (TypeRange(ValueRange(inputs)) != given.getTypes() ||
      outputs.size() != op->getNumResults())
    return refuseOrigin(op);
  Wiring wiring;
  for (auto [input, operand] : llvm::zip_equal(inputs, given))
    wiring[input] = writer.get(operand);
  for (const EmittedOp &member : members)
    if (failed(writeMember(member, op, wiring)))
      return failure();
  for (auto [output, result] : llvm::zip_equal(outputs, op->getResults()))
    writer.set(result, wiring.lookup(output));
  return success();
}

LogicalResult WriteBack::refuseOrigin(Operation *op) {
  return op->emitError()
         << "expected an op of the step that '" << graph.name
         << "' is imported as, found '" << op->getName()
         << "' of another step: is this the module that the step was imported "
            "from?";
}

LogicalResult WriteBack::writeOp(Operation *op) {
  if (auto compute = dyn_cast<ComputeOp>(op)) {
    std::optional<Origin> origin = originOf(op);
    if (!origin)
      return op->emitError() << "expected compute of the module, found '"
                             << compute.getName() << "', which a pass wrote";
    return writeCompute(compute, *origin);
  }
  if (cast<StepOpInterface>(op).isUpdate())
    return op->emitError()
           << "expected updates by the program (updates=program or late), "
              "found '"
           << op->getName() << "' of the runtime's";
  return writer.write(op);
}

//===----------------------------------------------------------------------===//
// State and outputs
//===----------------------------------------------------------------------===//

LogicalResult WriteBack::readArguments() {
  Block &body = step.getBody().front();
  if (body.getNumArguments() != model.arguments.size())
    return step.emitError()
           << "expected the " << model.arguments.size() << " arguments of '"
           << graph.name << "', found " << body.getNumArguments();
  for (auto [index, argument] : llvm::enumerate(model.arguments)) {
    ArgumentAttr info = step.getArgument(index);
    if (info.getName() != argument.name)
      return step.emitError()
             << "expected argument " << index << " '" << argument.name
             << "' as in '" << graph.name << "', found " << info.getName();
    const FlatValue &value =
        graph.values[graph.arguments[argument.argument].value];
    if (body.getArgument(index).getType() != value.type)
      return step.emitError()
             << "expected argument '" << argument.name << "' of type "
             << value.type << ", found " << body.getArgument(index).getType();
    writer.set(body.getArgument(index), value.source);
  }
  return success();
}

static bool isCallOf(Operation *op, StringRef target) {
  auto name = op->getAttrOfType<StringAttr>("call_target_name");
  return name && name == target;
}

/// The use at which an output's value leaves the body of one device.
OpOperand &WriteBack::useOfOutput(int32_t output) {
  OpOperand *use =
      &graph.entry.getBody().front().getTerminator()->getOpOperand(output);
  while (Operation *def = use->get().getDefiningOp()) {
    bool isWrapper =
        isCallOf(def, "Sharding") || isCallOf(def, "SPMDShardToFullShape");
    if (isWrapper)
      use = &def->getOpOperand(0);
    else if (isIdentity(def))
      use = &def->getOpOperand(cast<OpResult>(use->get()).getResultNumber());
    else if (def->getName().getStringRef() == kManualComputation)
      use = &graph.body->getTerminator()->getOpOperand(
          cast<OpResult>(use->get()).getResultNumber());
    else
      break;
    if (use->getOwner() == graph.body->getTerminator())
      break;
  }
  return *use;
}

LogicalResult WriteBack::setOutput(int32_t output, Value value,
                                   Operation *user) {
  OpOperand &use = useOfOutput(output);
  if (!setOutputs.insert(&use).second && use.get() != value)
    return user->emitError() << "expected one value for output " << output
                             << ", which is another's, too";
  return setUse(use, value, user);
}

LogicalResult WriteBack::writeStates() {
  Operation *yield = step.getBody().front().getTerminator();
  unsigned state = 0;
  for (const StepArgument &argument : model.arguments)
    if (argument.isState() &&
        failed(setOutput(argument.output,
                         writer.get(yield->getOperand(state++)), yield)))
      return failure();
  return success();
}

/// Removes unused ops, above all the module's own communication.
LogicalResult WriteBack::removeOld() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*graph.body))) {
    OpKind kind = traitsOf(&op).kind;
    if (op.use_empty() && kind != OpKind::Opaque &&
        !op.hasTrait<OpTrait::IsTerminator>() && op.getNumResults() > 0)
      op.erase();
    else if (oldCommunication.contains(&op))
      return emitError(op.getLoc())
             << "expected communication that the plan has, found '"
             << op.getName() << "' that is left";
  }
  return success();
}

LogicalResult WriteBack::run() {
  // Identities would keep their operands alive together.
  for (Operation &op : llvm::make_early_inc_range(*graph.body))
    if (isIdentity(&op)) {
      op.replaceAllUsesWith(op.getOperands());
      for (Value result : op.getResults())
        graph.ids.erase(result); // another value may get its address
      op.erase();
    }
  for (Operation &op : *graph.body) {
    OpKind kind = traitsOf(&op).kind;
    if (isCommunication(kind))
      oldCommunication.insert(&op);
  }
  if (failed(readArguments()))
    return failure();
  for (Operation &op : step.getBody().front().without_terminator())
    if (failed(writeOp(&op)))
      return failure();
  if (failed(writeStates()))
    return failure();
  if (!sortTopologically(graph.body))
    return step.emitError() << "expected ops that can be put in order, found a "
                               "cycle of dependencies";
  return removeOld();
}

LogicalResult bagua::importer::writeBack(StepOp step, Graph &graph,
                                         const ImportedStep &model,
                                         EmittedStep &emitted) {
  if (failed(WriteBack(step, graph, model, emitted).run()))
    return failure();
  eraseUncalled(graph.entry, graph.functions);
  return success();
}
