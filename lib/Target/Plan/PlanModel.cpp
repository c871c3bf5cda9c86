//===- PlanModel.cpp - What a plan will hold, with indices ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a scheduled step: which values the runtime touches, by which names they
// cross to the program, and what waits for what.
//
//===----------------------------------------------------------------------===//
#include "PlanModel.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Scheduling/Prices/LateOps.h"
#include "bagua/Scheduling/Proof/ByteUsers.h"
#include "bagua/Transforms/Bridge/OpGraphReader.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/NamedPlaces.h"
#include "bagua/Transforms/Utils/Names.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace bagua;

int64_t PlanModel::bytesOf(Value value) const {
  return maxLocalBytes(value.getType(), cluster);
}

std::optional<uint32_t> PlanModel::findTensor(StringRef name) const {
  auto found = tensorNumbers.find(name);
  return found == tensorNumbers.end() ? std::nullopt
                                      : std::optional(found->second);
}

/// Whether numbers are reduced as what the runtime takes them for.
static bool canReduce(Type elementType, ReduceKind kind) {
  auto integer = dyn_cast<IntegerType>(elementType);
  bool orders = kind == ReduceKind::Min || kind == ReduceKind::Max;
  if (!integer || (integer.getWidth() > 1 && !integer.isUnsigned()))
    return true;
  return (integer.getWidth() == 1) == orders;
}

static auto stepOps(StepOp step) {
  return step.getBody().front().without_terminator();
}

LogicalResult PlanModel::readValues() {
  if (!step.isScheduled())
    return step.emitError("expected a step that bagua-opt has scheduled, found "
                          "one without streams: run bagua-opt "
                          "--bagua-strategy=... on it first");
  for (Operation &op : stepOps(step)) {
    auto stepOp = cast<StepOpInterface>(op);
    if (!stepOp.getStreamAttr() || !stepOp.getPlacesAttr())
      return op.emitOpError("expected a stream and places in a scheduled step");
  }
  NamedPlaces named;
  if (failed(named.read(step)))
    return failure();
  // An argument that says no place lies in the program's tensor of its name.
  for (BlockArgument argument : step.getBody().getArguments()) {
    ArgumentAttr info = step.getArgument(argument.getArgNumber());
    PlaceAttr place = info.getPlace();
    if (!place)
      place = PlaceAttr::get(step.getContext(), PlaceKind::Named,
                             info.getName(), 0);
    places[argument] = named.resolve(place);
  }
  for (Operation &op : stepOps(step)) {
    auto stepOp = cast<StepOpInterface>(op);
    for (auto [place, result] :
         llvm::zip_equal(stepOp.getPlacesAttr(), op.getResults()))
      places[result] = named.resolve(cast<PlaceAttr>(place));
    if (stepOp.isRunByProgram())
      continue;
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(op.getOperands()),
                             llvm::to_vector_of<Value>(op.getResults()))) {
      RankedTensorType type = logicalTensor(value.getType());
      if (!dataTypeOf(type.getElementType()))
        return op.emitOpError() << "has a value of type " << value.getType()
                                << ", which the runtime doesn't know";
      // Ops that compute would take such integers for the type in which they
      // travel.
      auto integer = dyn_cast<IntegerType>(type.getElementType());
      if (integer && (integer.isUnsigned() || integer.getWidth() == 1) &&
          stepOp.isElementwise() && !stepOp.getGroupAxes())
        return op.emitOpError()
               << "computes with values of type " << value.getType()
               << ", which the runtime only moves and reduces";
      ReduceKindAttr kind = stepOp.getReduction();
      if (kind && !canReduce(type.getElementType(), kind.getValue()))
        return op.emitOpError() << "has a " << reduceKindName(kind.getValue())
                                << " of values of type " << value.getType()
                                << ", which the runtime doesn't know";
      PlaceAttr place = places.lookup(value);
      if (!place || place.getKind() == PlaceKind::Program)
        return op.emitOpError("has a value in memory that the runtime never "
                              "sees");
      values.insert({value, Storage()});
    }
  }
  return success();
}

void PlanModel::addTensor(Value value, StringRef name) {
  auto [entry, isNew] = tensorNumbers.try_emplace(name, tensors.size());
  if (!isNew)
    return;
  TensorModel &tensor = tensors.emplace_back();
  tensor.name = name.str();
  tensor.type = cast<RankedTensorType>(value.getType());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    tensor.argument = step.getArgument(argument.getArgNumber());
    tensor.givenByProgram = !tensor.argument.isState();
  } else if (auto compute = dyn_cast<ComputeOp>(value.getDefiningOp())) {
    ResultAttr info =
        compute.getResultInfo(cast<OpResult>(value).getResultNumber());
    tensor.isGradient = getGradientParam(value) != nullptr;
    tensor.optional = info && info.getOptional();
    tensor.givenByProgram = true;
  }
}

/// Tensors that cross: arguments and named results that the runtime touches, a
/// state that it only writes (a param that is cast from its master) included.
LogicalResult PlanModel::readTensors() {
  for (auto &[value, storage] : values) {
    StringAttr name = nameOf(step, value);
    if (name)
      addTensor(value, name);
    else if (isa_and_nonnull<ComputeOp>(value.getDefiningOp()))
      return value.getDefiningOp()->emitOpError(
          "gives the runtime a value without a name");
  }
  llvm::DenseMap<StringAttr, unsigned> arguments = step.numberArguments();
  for (auto &[value, storage] : values)
    if (PlaceAttr place = places.lookup(value);
        place.getKind() == PlaceKind::Named)
      if (auto written = arguments.find(place.getName());
          written != arguments.end())
        addTensor(step.getBody().getArgument(written->second), place.getName());
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    if (!isa_and_nonnull<ComputeOp>(value.getDefiningOp()))
      continue;
    updatedByProgram.insert(step.getArgument(index).getName().getValue());
    if (values.contains(step.getBody().getArgument(index)))
      return value.getDefiningOp()->emitOpError()
             << "updates state '"
             << step.getArgument(index).getName().getValue()
             << "', which the runtime uses: not supported yet";
  }
  addLostTensors();
  return success();
}

bool PlanModel::isExpected(UpdateAttr update) const {
  return llvm::all_of(update.getStates().getAsRange<StringAttr>(),
                      [&](StringAttr state) {
                        return !updatedByProgram.contains(state.getValue());
                      });
}

/// Tensors that the contract names must be in the plan even if no instruction
/// touches them, so that a check finds that they were lost.
void PlanModel::addLostTensors() {
  auto contract = step->getAttrOfType<ArrayAttr>(kContractAttr);
  if (!contract)
    return;
  llvm::StringSet<> wanted;
  for (Attribute entry : contract) {
    if (auto relation = dyn_cast<RelationAttr>(entry)) {
      wanted.insert(relation.getTensor().getValue());
      wanted.insert(relation.getOf().getValue());
    } else if (auto update = cast<UpdateAttr>(entry); isExpected(update)) {
      for (auto state : update.getStates().getAsRange<StringAttr>())
        wanted.insert(state.getValue());
      if (auto rate = dyn_cast<StringAttr>(update.getLr()))
        wanted.insert(rate.getValue());
    }
  }
  for (BlockArgument argument : step.getBody().getArguments())
    if (StringAttr name = nameOf(step, argument);
        wanted.contains(name.getValue()))
      addTensor(argument, name);
  for (Operation &op : stepOps(step))
    for (Value result : op.getResults())
      if (StringAttr name = nameOf(step, result))
        if (wanted.contains(name.getValue()))
          addTensor(result, name);
}

void PlanModel::resolveStorage() {
  llvm::DenseMap<StringAttr, int32_t> arenaNumbers;
  for (auto &[value, storage] : values) {
    PlaceAttr place = places.lookup(value);
    if (place.getKind() == PlaceKind::Named)
      continue;
    int64_t &bytes = arenas[place.getName()];
    arenaNumbers.try_emplace(place.getName(), arenaNumbers.size());
    bytes = std::max(bytes, place.getOffset() + bytesOf(value));
  }
  for (auto &[value, storage] : values) {
    PlaceAttr place = places.lookup(value);
    if (place.getKind() == PlaceKind::Named) {
      storage.tensor = tensorNumbers.lookup(place.getName().getValue());
    } else {
      storage.arena = arenaNumbers.lookup(place.getName());
      storage.offset = place.getOffset();
    }
    StringAttr name = nameOf(step, value);
    if (name && storage.arena >= 0)
      tensors[tensorNumbers.lookup(name.getValue())].storage = storage;
  }
}

/// `all_reduce l3.weight.grad and 2 more`.
std::string PlanModel::labelOf(Operation *op) const {
  std::string label = op->getName().stripDialect().str();
  Value subject = op->getOperand(0);
  size_t more = 0;
  auto countOthers = [&more](Operation *op) {
    auto bucket = cast<StepOpInterface>(op).getBucket();
    if (bucket && bucket->whole.getDefiningOp() == op)
      more += bucket->tensors.size() - 1;
  };
  while (Operation *maker = subject.getDefiningOp()) {
    if (nameOf(step, subject) || isa<ComputeOp>(maker))
      break;
    countOthers(maker);
    subject = maker->getOperand(0);
  }
  countOthers(op);
  if (StringAttr name = nameOf(step, subject))
    label += (" " + name.getValue()).str();
  if (more)
    label += " and " + std::to_string(more) + " more";
  return label;
}

LogicalResult PlanModel::readDependencies(PlanInstruction &instruction,
                                          const NextValues &next) {
  Operation *op = instruction.op;
  for (Value operand : op->getOperands()) {
    if (auto argument = dyn_cast<BlockArgument>(operand)) {
      ArgumentAttr info = step.getArgument(argument.getArgNumber());
      if (!info.isState()) {
        instruction.ready.push_back(*findTensor(info.getName().getValue()));
        continue;
      }
      if (Operation *maker = next.of(argument).getDefiningOp())
        instruction.afterPrevious.push_back(instructionNumbers.lookup(maker));
      continue;
    }
    Operation *maker = operand.getDefiningOp();
    if (isa<ComputeOp>(maker)) {
      instruction.ready.push_back(*findTensor(nameOf(step, operand)));
      continue;
    }
    uint32_t number = instructionNumbers.lookup(maker);
    if (instructions[number].stream != instruction.stream)
      instruction.after.push_back(number);
  }
  for (auto *list :
       {&instruction.ready, &instruction.after, &instruction.afterPrevious}) {
    llvm::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  return success();
}

LogicalResult PlanModel::readInstructions() {
  llvm::StringMap<uint32_t> streamNumbers;
  for (Operation &op : stepOps(step)) {
    auto stepOp = cast<StepOpInterface>(op);
    if (stepOp.isRunByProgram())
      continue;
    StringRef stream = stepOp.getStreamAttr().getValue();
    auto [entry, isNew] = streamNumbers.try_emplace(stream, streams.size());
    if (isNew)
      streams.push_back(stream.str());
    instructionNumbers[&op] = instructions.size();
    instructions.push_back({&op, labelOf(&op), entry->second, {}, {}, {}});
  }
  NextValues next(step);
  for (PlanInstruction &instruction : instructions)
    if (failed(readDependencies(instruction, next)))
      return failure();
  return success();
}

/// Instructions that touch any byte of a tensor. Named ones, of no bytes too,
/// are memories behind the arenas.
void PlanModel::readUsers() {
  auto memoryOf = [&](const Storage &storage) {
    return storage.arena >= 0
               ? storage.arena
               : static_cast<int32_t>(arenas.size()) + storage.tensor;
  };
  auto rangeOf = [](const Storage &storage, int64_t bytes) {
    return storage.arena >= 0
               ? std::pair(storage.offset, storage.offset + bytes)
               : std::pair(int64_t{0}, int64_t{1});
  };
  ByteUsers uses;
  for (auto [number, instruction] : llvm::enumerate(instructions)) {
    auto op = cast<StepOpInterface>(instruction.op);
    for (Value value : llvm::concat<Value>(
             llvm::to_vector(op->getOperands().take_front(op.getReadCount())),
             llvm::to_vector_of<Value>(op->getResults()))) {
      const Storage &storage = values.find(value)->second;
      auto [begin, end] = rangeOf(storage, bytesOf(value));
      uses.add(memoryOf(storage), begin, end, static_cast<int32_t>(number));
    }
  }
  for (auto [number, tensor] : llvm::enumerate(tensors)) {
    Storage home = tensor.storage;
    if (home.arena < 0)
      home.tensor = static_cast<int32_t>(number);
    auto [begin, end] = rangeOf(home, maxLocalBytes(tensor.type, cluster));
    for (int32_t user : uses.find(memoryOf(home), begin, end))
      tensor.users.push_back(static_cast<uint32_t>(user));
  }
}

/// As the program runs its ops in a step: what is late before what needs it.
std::vector<ComputeOp> PlanModel::programOrder() {
  BlockOrder block(step);
  std::vector<int32_t> launchOrder(block.size());
  std::iota(launchOrder.begin(), launchOrder.end(), 0);
  std::vector<ComputeOp> order;
  for (int32_t op :
       executionOrder(launchOrder, findLateOps(readDataFlow(step))))
    if (auto compute = dyn_cast<ComputeOp>(block[op]))
      order.push_back(compute);
  return order;
}

std::optional<uint32_t> PlanModel::tensorOf(Value value) const {
  if (StringAttr name = nameOf(step, value))
    return findTensor(name);
  const Storage &storage = values.find(value)->second;
  if (storage.tensor >= 0)
    return storage.tensor;
  auto found = tensorAt.find({storage.arena, storage.offset, value.getType()});
  return found == tensorAt.end() ? std::nullopt : std::optional(found->second);
}

llvm::DenseSet<Value> PlanModel::statesOfInstructions() {
  llvm::DenseSet<Value> states;
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (Operation *maker = value.getDefiningOp();
        maker && !isa<ComputeOp>(maker))
      states.insert(step.getBody().getArgument(index));
  return states;
}

LogicalResult PlanModel::readProgram() {
  for (auto [number, tensor] : llvm::enumerate(tensors))
    if (tensor.storage.arena >= 0)
      tensorAt.try_emplace(
          {tensor.storage.arena, tensor.storage.offset, Type(tensor.type)},
          number);
  // States that instructions of the step before have computed. If no
  // instruction touches a state itself, the program keeps it current with the
  // tensors that it takes back.
  llvm::DenseSet<Value> newStates = statesOfInstructions();
  for (ComputeOp compute : programOrder()) {
    PlanProgramOp &entry = program.emplace_back();
    entry.op = compute;
    entry.late = compute.getLate();
    for (Value operand : compute->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (auto argument = dyn_cast<BlockArgument>(operand);
          argument && newStates.contains(argument))
        if (auto state = findTensor(nameOf(step, argument)))
          entry.waits.push_back(*state);
      if (!maker || isa<ComputeOp>(maker))
        continue;
      std::optional<uint32_t> tensor = tensorOf(operand);
      if (!tensor)
        return compute.emitOpError(
            "uses a value that the runtime computes, but that has no name");
      if (ArgumentAttr state = tensors[*tensor].argument)
        return compute.emitOpError()
               << "uses the next value of state '" << state.getName().getValue()
               << "' in the step that computes it, but under that name the "
                  "program gets the value from before the step";
      // For any other tensor, the op would get the value that the next step
      // computes.
      if (entry.late && !tensors[*tensor].givenByProgram)
        return compute.emitOpError()
               << "is late: expected it to take back only tensors that the "
                  "program gives, found tensor '"
               << tensors[*tensor].name << "'";
      entry.waits.push_back(*tensor);
    }
    for (OpResult result : compute->getResults())
      if (StringAttr name = nameOf(step, result))
        if (std::optional<uint32_t> tensor = findTensor(name))
          entry.gives.push_back(*tensor);
  }
  addTakenStates();
  return success();
}

/// States that only the program holds, whose next values instructions make.
void PlanModel::addTakenStates() {
  PlanProgramOp end;
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    Operation *maker = value.getDefiningOp();
    StringRef state = step.getArgument(index).getName().getValue();
    if (!maker || isa<ComputeOp>(maker) || findTensor(state))
      continue;
    if (std::optional<uint32_t> tensor = tensorOf(value)) {
      end.waits.push_back(*tensor);
      // A program asks programUpdates for params and optimizer states only.
      Role role = step.getArgument(index).getRole();
      if (role == Role::Param || role == Role::Optimizer)
        updatedByProgram.insert(state);
    }
  }
  if (!end.waits.empty())
    program.push_back(std::move(end));
}

LogicalResult PlanModel::read() {
  if (step.isAsynchronous())
    return step.emitError()
           << "expected consistency bsp, found "
           << stringifyConsistency(*step.getConsistency())
           << ", whose servers apply each push as it arrives: no plan can say "
              "that yet";
  if (failed(readValues()) || failed(readTensors()))
    return failure();
  resolveStorage();
  if (failed(readInstructions()))
    return failure();
  readUsers();
  return readProgram();
}
