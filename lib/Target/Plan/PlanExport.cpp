//===- PlanExport.cpp - A scheduled step as a plan file -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a PlanModel into the form of the file. Deterministic: everything is
// written in the order of the IR.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/PlanExport.h"

#include "ArenaJoin.h"
#include "InstructionWriter.h"
#include "PlanModel.h"
#include "SharedCounts.h"

#include "bagua/Runtime/Plan.h"
#include "bagua/Support/Parts.h"
#include "bagua/Target/SizeScale.h"
#include "bagua/Transforms/Bridge/Predict.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include <cmath>

using namespace mlir;
using namespace bagua;

namespace {
/// Writes one step after the other. What steps have in common gets numbers of
/// the plan: streams and arenas by name, tensors by name as long as steps agree
/// about them.
class PlanWriter {
public:
  explicit PlanWriter(ClusterOp common) : cluster(common) {}

  llvm::LogicalResult addStep(PlanModel &model);
  /// For after the last step: in each step the program waits for the states
  /// that it reads and that instructions of others update.
  llvm::LogicalResult addReadsOfOtherSteps();
  void addPhases(TrainingOp training);
  std::string write(StringRef name);

private:
  void writeCluster();
  void numberArenas();
  llvm::LogicalResult numberTensors();
  fb::TensorT makeTensor(const TensorModel &tensor) const;
  llvm::LogicalResult joinTensor(const TensorModel &tensor, uint32_t known);
  static llvm::LogicalResult expectOneOwner(PlanModel &updating,
                                            PlanModel &user);
  Storage placeOf(const Storage &storage) const;
  void writeValue(Value value, const Storage &storage);
  llvm::LogicalResult writeInstructions();
  llvm::FailureOr<uint32_t> findPromised(StringAttr name);
  llvm::LogicalResult writeUpdate(UpdateAttr update);
  llvm::LogicalResult writeRelation(RelationAttr relation);
  llvm::LogicalResult writeContract();
  void writeProgramOp(const PlanProgramOp &entry);
  void writePrediction();
  llvm::LogicalResult addReads(PlanModel &reader, fb::StepT &written,
                               const std::vector<PlanModel *> &updatedBy);
  fb::StepT &step() { return *plan.steps.back(); }
  std::vector<uint32_t> tensorsOf(const std::vector<uint32_t> &numbers) const;

  ClusterOp cluster;
  fb::PlanT plan;
  llvm::StringMap<uint32_t> streamNumbers, arenaNumbers, tensorNumbers;
  /// By the plan's number of a tensor: the first step that has it, and what it
  /// is there.
  std::vector<std::pair<PlanModel *, const TensorModel *>> firsts;
  llvm::SmallVector<PlanModel *> models;

  // The step that is being written, and the plan's numbers by the step's own.
  PlanModel *model = nullptr;
  std::vector<uint32_t> streams, arenas, tensors;
  uint32_t firstValue = 0;
};
} // namespace

/// A new last element of a list.
template <typename T> static T &append(std::vector<std::unique_ptr<T>> &list) {
  return *list.emplace_back(std::make_unique<T>());
}

void PlanWriter::writeCluster() {
  plan.cluster = std::make_unique<fb::ClusterT>();
  for (auto axis : cluster.getAxes().getAsRange<AxisAttr>()) {
    fb::AxisT &written = append(plan.cluster->axes);
    written.name = axis.getName().str();
    written.size = axis.getSize();
  }
  AxesAttr serversOn = cluster.getServersOnAttr();
  plan.cluster->dedicated_servers = cluster.getServers().value_or(0);
  plan.cluster->has_colocated_servers = serversOn != nullptr;
  plan.cluster->server_axes = axisNumbers(cluster, serversOn);
}

static fb::DataType elementTypeOf(RankedTensorType type) {
  return static_cast<fb::DataType>(*dataTypeOf(type.getElementType()));
}

static fb::Role roleOf(const TensorModel &tensor) {
  if (tensor.argument)
    return static_cast<fb::Role>(tensor.argument.getRole());
  return tensor.isGradient ? fb::Role::Gradient : fb::Role::Value;
}
static_assert(int(Role::Batch) == int(fb::Role::Batch) &&
              int(Role::Replica) == int(fb::Role::Replica));

/// As it is in the step, with the plan's numbers.
fb::TensorT PlanWriter::makeTensor(const TensorModel &tensor) const {
  fb::TensorT made;
  made.name = tensor.name;
  made.role = roleOf(tensor);
  made.type = elementTypeOf(tensor.type);
  made.shape = tensor.type.getShape().vec();
  made.layout = writeLayout(cluster, getLayout(tensor.type));
  Storage storage = placeOf(tensor.storage);
  made.arena = storage.arena;
  made.offset = storage.offset;
  made.given_by_program = tensor.givenByProgram;
  made.optional = tensor.optional;
  return made;
}

/// Checks that a tensor is what a step before says it is, and lies there.
llvm::LogicalResult PlanWriter::joinTensor(const TensorModel &tensor,
                                           uint32_t known) {
  fb::TensorT &joined = *plan.tensors[known];
  auto [other, first] = firsts[known];
  Storage place = placeOf(tensor.storage);
  if (roleOf(tensor) != joined.role || tensor.type != first->type ||
      place.arena != joined.arena || place.offset != joined.offset) {
    InFlightDiagnostic diagnostic = model->step.emitError();
    if (roleOf(tensor) != joined.role || tensor.type != first->type)
      diagnostic << "expected '" << tensor.name << "' as the "
                 << StringRef(fb::EnumNameRole(joined.role)).lower() << " of "
                 << first->type << " that step '" << other->step.getSymName()
                 << "' has under this name, found a "
                 << StringRef(fb::EnumNameRole(roleOf(tensor))).lower()
                 << " of " << tensor.type
                 << (tensor.argument || first->argument
                         ? ""
                         : "; `as \"...\"` gives a result another name");
    else
      diagnostic << "can't have tensor '" << tensor.name
                 << "' at the place that it has in step '"
                 << other->step.getSymName()
                 << "': expected it in the same bucket in both, with the same "
                    "tensors before it, or by itself in both (wfbp-a2a)";
    diagnostic.attachNote(other->step.getLoc()) << "the other step is here";
    return diagnostic;
  }
  // A tensor is given by the program in all steps or in none. Otherwise a wait
  // would not know which side makes it.
  if (!tensor.argument && tensor.givenByProgram != first->givenByProgram)
    return model->step.emitError()
           << "has tensor '" << tensor.name << "', which "
           << (tensor.givenByProgram ? "its program gives"
                                     : "its instructions make")
           << ", but step '" << other->step.getSymName()
           << "' has it the other way round: expected another name for one of "
              "them";
  // A step that runs between iterations gives nothing.
  joined.given_by_program |= tensor.givenByProgram;
  joined.optional |= tensor.optional;
  return success();
}

/// Checks that no state is updated by the program in one step and touched by
/// the runtime in another.
llvm::LogicalResult PlanWriter::expectOneOwner(PlanModel &updating,
                                               PlanModel &user) {
  for (unsigned index : updating.step.getStateArguments()) {
    StringRef state = updating.step.getArgument(index).getName().getValue();
    std::optional<uint32_t> used = user.findTensor(state);
    if (used && !user.tensors[*used].users.empty() &&
        updating.isUpdatedByProgram(state))
      return updating.step.emitError()
             << "leaves the update of state '" << state
             << "' to the program, but in step '" << user.step.getSymName()
             << "' the runtime uses that state: expected an update that the "
                "runtime can run, and updates=runtime";
  }
  return success();
}

void PlanWriter::numberArenas() {
  arenas.clear();
  for (auto &[name, bytes] : model->arenas) {
    auto [entry, isNew] =
        arenaNumbers.try_emplace(name.getValue(), plan.arenas.size());
    arenas.push_back(entry->second);
    if (isNew)
      append(plan.arenas).name = name.getValue().str();
    int64_t &whole = plan.arenas[entry->second]->bytes;
    whole = std::max(whole, arenaAligned(bytes)); // as bagua-place counts them
  }
}

llvm::LogicalResult PlanWriter::numberTensors() {
  tensors.clear();
  for (const TensorModel &tensor : model->tensors) {
    auto [entry, isNew] =
        tensorNumbers.try_emplace(tensor.name, plan.tensors.size());
    tensors.push_back(entry->second);
    if (isNew) {
      append(plan.tensors) = makeTensor(tensor);
      firsts.push_back({model, &tensor});
    } else if (failed(joinTensor(tensor, entry->second))) {
      return failure();
    }
  }
  return success();
}

Storage PlanWriter::placeOf(const Storage &storage) const {
  Storage place = storage;
  if (place.arena >= 0)
    place.arena = static_cast<int32_t>(arenas[place.arena]);
  if (place.tensor >= 0)
    place.tensor = static_cast<int32_t>(tensors[place.tensor]);
  return place;
}

std::vector<uint32_t>
PlanWriter::tensorsOf(const std::vector<uint32_t> &numbers) const {
  std::vector<uint32_t> result;
  for (uint32_t number : numbers)
    result.push_back(tensors[number]);
  return result;
}

static std::unique_ptr<fb::ValueEncodingT> writeEncoding(ClusterOp cluster,
                                                         EncodedType type) {
  auto written = std::make_unique<fb::ValueEncodingT>();
  Encoding encoding = type.getEncoding();
  written->id = static_cast<uint8_t>(encoding.id);
  written->parameters.assign(encoding.parameters.begin(),
                             encoding.parameters.begin() +
                                 type.getRow().parameters.size());
  written->parts = axisNumbers(cluster, type.getParts());
  written->terms = axisNumbers(cluster, type.getTerms());
  return written;
}

void PlanWriter::writeValue(Value value, const Storage &own) {
  Storage storage = placeOf(own);
  RankedTensorType type = logicalTensor(value.getType());
  fb::ValueT &written = append(plan.values);
  written.type = elementTypeOf(type);
  written.count = getElementCount(type);
  written.layout = writeLayout(cluster, getLayout(type));
  written.tensor = storage.tensor;
  written.arena = storage.arena;
  written.offset = storage.offset;
  if (auto encoded = dyn_cast<EncodedType>(value.getType()))
    written.encoding = writeEncoding(cluster, encoded);
}

/// The number of a tensor that the contract names.
llvm::FailureOr<uint32_t> PlanWriter::findPromised(StringAttr name) {
  if (auto tensor = model->findTensor(name.getValue()))
    return tensors[*tensor];
  return model->step.emitError() << "has a contract about '" << name.getValue()
                                 << "', which no op makes";
}

llvm::LogicalResult PlanWriter::writeUpdate(UpdateAttr update) {
  auto written = std::make_unique<fb::UpdateT>();
  for (auto state : update.getStates().getAsRange<StringAttr>()) {
    auto tensor = findPromised(state);
    if (failed(tensor))
      return failure();
    written->states.push_back(*tensor);
  }
  auto of = findPromised(update.getOf());
  if (failed(of))
    return failure();
  if (auto name = dyn_cast<StringAttr>(update.getLr())) {
    auto tensor = findPromised(name);
    if (failed(tensor))
      return failure();
    written->learning_rate_tensor = static_cast<int32_t>(*tensor);
  }
  if (auto rate = dyn_cast<FloatAttr>(update.getLr()))
    written->learning_rate = rate.getValue().convertToFloat();
  const UpdateRow &row = rowOf(update.getRule());
  written->opcode = *opcodeOf(row.hasOwnOp() ? row.word : "update");
  written->rule = row.hasOwnOp() ? 0 : static_cast<uint8_t>(row.rule);
  written->constants = update.getConstants().asArrayRef().vec();
  written->bias_correction =
      static_cast<fb::BiasCorrection>(update.getBiasCorrection());
  fb::RelationT &relation = append(step().contract);
  relation.tensor = written->states.front();
  relation.of = *of;
  relation.relation = fb::RelationKind::Updated;
  relation.reduce = static_cast<fb::ReduceKind>(update.getKind());
  relation.axes = axisNumbers(cluster, update.getOver());
  relation.update = std::move(written);
  return success();
}

llvm::LogicalResult PlanWriter::writeRelation(RelationAttr relation) {
  auto tensor = findPromised(relation.getTensor());
  auto of = findPromised(relation.getOf());
  if (failed(tensor) || failed(of))
    return failure();
  fb::RelationT &written = append(step().contract);
  written.tensor = *tensor;
  written.of = *of;
  written.relation = static_cast<fb::RelationKind>(relation.getRelation());
  written.reduce = static_cast<fb::ReduceKind>(relation.getKind());
  written.axes = axisNumbers(cluster, relation.getOver());
  written.split_dim = static_cast<uint32_t>(relation.getSplit());
  written.concat_dim = static_cast<uint32_t>(relation.getConcat());
  ArrayRef<int64_t> pairs = relation.getPairs().asArrayRef();
  written.pairs.assign(pairs.begin(), pairs.end());
  if (FloatAttr coefficient = relation.getCoefficient())
    written.coefficient = coefficient.getValue().convertToFloat();
  return success();
}

llvm::LogicalResult PlanWriter::writeContract() {
  auto contract = model->step->getAttrOfType<ArrayAttr>(kContractAttr);
  if (!contract)
    return model->step.emitError("expected a step with a contract, as "
                                 "bagua-relax writes it, found none");
  for (Attribute entry : contract) {
    auto update = dyn_cast<UpdateAttr>(entry);
    if (update && !model->isExpected(update))
      continue;
    if (failed(update ? writeUpdate(update)
                      : writeRelation(cast<RelationAttr>(entry))))
      return failure();
  }
  return success();
}

void PlanWriter::writeProgramOp(const PlanProgramOp &entry) {
  ComputeOp op = entry.op;
  fb::ProgramOpT &written = append(step().program);
  written.name = op ? op.getName().str() : "next states";
  written.phase = op ? static_cast<fb::ComputePhase>(op.getPhase())
                     : fb::ComputePhase::Update;
  written.cost_ns = op ? op.getCostNs().value_or(0) : 0;
  written.waits = tensorsOf(entry.waits);
  written.gives = tensorsOf(entry.gives);
  written.late = entry.late;
}

llvm::LogicalResult PlanWriter::writeInstructions() {
  for (auto [number, own] : llvm::enumerate(model->instructions)) {
    fb::InstructionT &written = append(step().instructions);
    if (failed(writeInstruction(*model, own, written)))
      return failure();
    written.stream = streams[own.stream];
    written.ready = tensorsOf(own.ready);
    llvm::sort(written.ready);
    for (auto *values : {&written.inputs, &written.outputs})
      for (uint32_t &value : *values)
        value += firstValue;
  }
  for (auto [number, tensor] : llvm::enumerate(model->tensors))
    for (uint32_t user : tensor.users)
      runtime::addUse(step(), tensors[number], user);
  return success();
}

llvm::LogicalResult PlanWriter::addStep(PlanModel &own) {
  model = &own;
  models.push_back(model);
  StepOp op = model->step;
  append(plan.steps).name = op.getSymName().str();
  auto strategy = op->getAttrOfType<StringAttr>(kStrategyAttr);
  if (!strategy)
    strategy = op->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(
        kStrategyAttr);
  if (strategy)
    step().strategy = strategy.getValue().str();
  if (auto scale = op->getAttrOfType<FloatAttr>(kSizeScaleAttr))
    plan.size_scale = scale.getValueAsDouble();
  streams.clear();
  for (const std::string &name : model->streams) {
    auto [entry, isNew] = streamNumbers.try_emplace(name, plan.streams.size());
    streams.push_back(entry->second);
    if (isNew)
      plan.streams.push_back(name);
  }
  numberArenas();
  if (failed(numberTensors()))
    return failure();
  for (PlanModel *other : models)
    if (failed(expectOneOwner(*model, *other)) ||
        failed(expectOneOwner(*other, *model)))
      return failure();
  firstValue = static_cast<uint32_t>(plan.values.size());
  for (auto &[value, storage] : model->values)
    writeValue(value, storage);
  if (failed(writeInstructions()) || failed(writeContract()))
    return failure();
  for (const PlanProgramOp &entry : model->program)
    writeProgramOp(entry);
  writePrediction();
  return success();
}

/// `updatedBy`: by tensor, a step whose instructions update it, or null.
llvm::LogicalResult
PlanWriter::addReads(PlanModel &reader, fb::StepT &written,
                     const std::vector<PlanModel *> &updatedBy) {
  for (auto [entry, op] : llvm::zip_equal(reader.program, written.program)) {
    // A late op waits for its own step's gradients, and so for all before them.
    if (!entry.op || entry.late)
      continue;
    for (Value operand : entry.op->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument)
        continue;
      ArgumentAttr read = reader.step.getArgument(argument.getArgNumber());
      auto found = tensorNumbers.find(read.getName().getValue());
      if (found == tensorNumbers.end() || !updatedBy[found->second] ||
          llvm::is_contained(op->waits, found->second))
        continue;
      if (read.getRole() == Role::Batch ||
          operand.getType() != firsts[found->second].second->type)
        return reader.step.emitError()
               << "reads '" << read.getName().getValue()
               << "': expected the role and type of the state by that name, "
                  "which step '"
               << updatedBy[found->second]->step.getSymName()
               << "' updates, found another";
      op->waits.push_back(found->second);
    }
  }
  return success();
}

llvm::LogicalResult PlanWriter::addReadsOfOtherSteps() {
  std::vector<PlanModel *> updatedBy(plan.tensors.size());
  for (PlanModel *updating : models)
    for (Value state : updating->statesOfInstructions()) {
      ArgumentAttr argument =
          updating->step.getArgument(cast<BlockArgument>(state).getArgNumber());
      if (auto found = tensorNumbers.find(argument.getName().getValue());
          found != tensorNumbers.end())
        updatedBy[found->second] = updating;
    }
  for (auto [reader, written] : llvm::zip_equal(models, plan.steps))
    if (failed(addReads(*reader, *written, updatedBy)))
      return failure();
  return success();
}

/// As bagua-sim does; nothing where it can't.
void PlanWriter::writePrediction() {
  FailureOr<Prediction> predicted = predictScheduled(model->step);
  if (failed(predicted))
    return;
  step().prediction = std::make_unique<fb::PredictionT>();
  step().prediction->step_ns = std::llround(predicted->stepNs);
  step().prediction->exposed_ns = std::llround(predicted->exposedNs);
  step().prediction->bytes_sent = std::llround(predicted->bytesSent);
}

/// Without a training, the only step runs always.
void PlanWriter::addPhases(TrainingOp training) {
  if (!training) {
    append(plan.phases);
    return;
  }
  llvm::StringMap<uint32_t> numbers;
  for (auto [number, step] : llvm::enumerate(plan.steps))
    numbers[step->name] = static_cast<uint32_t>(number);
  for (auto phase : training.getBody().front().getOps<PhaseOp>()) {
    fb::PhaseT &written = append(plan.phases);
    written.step = numbers.lookup(phase.getStep());
    written.at = phase.getIteration().value_or(-1);
    written.until = phase.getUntil().value_or(-1);
    written.every = phase.getEvery().value_or(0);
    written.offset = phase.getOffset().value_or(0);
  }
}

std::string PlanWriter::write(StringRef name) {
  plan.name = name.str();
  writeCluster();
  plan.minor_version = runtime::kPlanMinorVersion;
  return runtime::writePlan(plan);
}

/// The training of a module with several steps; null if it has one step alone.
static FailureOr<TrainingOp> findTraining(ModuleOp module) {
  auto trainings = llvm::to_vector(module.getOps<TrainingOp>());
  if (trainings.size() > 1)
    return trainings[1].emitError(
        "is the second training of its module: a plan holds one");
  if (!trainings.empty())
    return trainings.front();
  if (failed(getOnlyStep(module)))
    return failure();
  return TrainingOp();
}

/// The steps in the order of the module, all of which run.
static FailureOr<SmallVector<StepOp>> findSteps(ModuleOp module,
                                                TrainingOp training) {
  auto steps = llvm::to_vector(module.getOps<StepOp>());
  if (!training)
    return steps;
  llvm::StringSet<> run;
  for (auto phase : training.getBody().front().getOps<PhaseOp>()) {
    if (phase.isBackground())
      return phase.emitError("runs in the background, which no plan can say "
                             "yet");
    run.insert(phase.getStep());
  }
  for (StepOp step : steps) {
    if (!run.contains(step.getSymName()))
      return step.emitError()
             << "expected a phase of training '" << training.getSymName()
             << "' that runs it, found none";
    if (step.lookupCluster() != steps.front().lookupCluster())
      return step.emitError()
             << "expected the cluster of step '" << steps.front().getSymName()
             << "', found another";
  }
  return steps;
}

llvm::FailureOr<std::string> bagua::exportPlan(ModuleOp module) {
  FailureOr<TrainingOp> training = findTraining(module);
  if (failed(training))
    return failure();
  FailureOr<SmallVector<StepOp>> steps = findSteps(module, *training);
  if (failed(steps))
    return failure();
  PlanWriter writer(steps->front().lookupCluster());
  std::vector<std::unique_ptr<PlanModel>> models;
  for (StepOp step : *steps) {
    models.push_back(std::make_unique<PlanModel>(step));
    if (failed(models.back()->read()))
      return failure();
  }
  if (failed(joinArenas(models)))
    return failure();
  for (std::unique_ptr<PlanModel> &model : models)
    if (failed(writer.addStep(*model)))
      return failure();
  if (failed(writer.addReadsOfOtherSteps()))
    return failure();
  writer.addPhases(*training);
  std::string bytes = writer.write(*training ? training->getSymName()
                                             : steps->front().getSymName());
  // The loader must accept all that export accepts.
  if (auto loaded = runtime::Plan::fromBytes(bytes); !loaded.ok())
    return steps->front().emitError()
           << "makes a plan that the runtime would refuse: "
           << std::string(loaded.status().message());
  else if (failed(verifyCounts(*steps, (*loaded)->root())))
    return failure();
  return bytes;
}
