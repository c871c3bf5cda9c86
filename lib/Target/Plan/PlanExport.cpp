//===- PlanExport.cpp - A scheduled step as a plan file -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a PlanModel into the form of the file. Deterministic: everything is
// written in the order of the IR.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/PlanExport.h"

#include "InstructionWriter.h"
#include "PlanModel.h"

#include "bagua/Runtime/Plan.h"
#include "bagua/Support/Parts.h"
#include "bagua/Target/SizeScale.h"
#include "bagua/Transforms/Bridge/Predict.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include <cmath>

using namespace mlir;
using namespace bagua;

namespace {
class PlanWriter {
public:
  explicit PlanWriter(PlanModel &model) : model(model) {}

  llvm::FailureOr<std::string> write();

private:
  void writeCluster();
  void writeTensor(const PlanTensor &tensor);
  void writeValue(Value value, const Storage &storage);
  llvm::FailureOr<uint32_t> findPromised(StringAttr name);
  llvm::LogicalResult writeUpdate(UpdateAttr update);
  llvm::LogicalResult writeRelation(RelationAttr relation);
  llvm::LogicalResult writeContract();
  void writeProgramOp(const PlanProgramOp &entry);
  void writePrediction();

  PlanModel &model;
  fb::PlanT plan;
};
} // namespace

/// A new last element of a list.
template <typename T> static T &append(std::vector<std::unique_ptr<T>> &list) {
  return *list.emplace_back(std::make_unique<T>());
}

void PlanWriter::writeCluster() {
  ClusterOp cluster = model.cluster;
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

static fb::Role roleOf(const PlanTensor &tensor) {
  if (tensor.argument)
    return static_cast<fb::Role>(tensor.argument.getRole());
  return tensor.isGradient ? fb::Role::Gradient : fb::Role::Value;
}
static_assert(int(Role::Batch) == int(fb::Role::Batch) &&
              int(Role::Replica) == int(fb::Role::Replica));

void PlanWriter::writeTensor(const PlanTensor &tensor) {
  fb::TensorT &written = append(plan.tensors);
  written.name = tensor.name;
  written.role = roleOf(tensor);
  written.type = elementTypeOf(tensor.type);
  written.shape = tensor.type.getShape().vec();
  written.layout = writeLayout(model.cluster, getLayout(tensor.type));
  written.arena = tensor.storage.arena;
  written.offset = tensor.storage.offset;
  written.given_by_program = tensor.givenByProgram;
  written.optional = tensor.optional;
  written.users = tensor.users;
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

void PlanWriter::writeValue(Value value, const Storage &storage) {
  RankedTensorType type = logicalTensor(value.getType());
  fb::ValueT &written = append(plan.values);
  written.type = elementTypeOf(type);
  written.count = getElementCount(type);
  written.layout = writeLayout(model.cluster, getLayout(type));
  written.tensor = storage.tensor;
  written.arena = storage.arena;
  written.offset = storage.offset;
  if (auto encoded = dyn_cast<EncodedType>(value.getType()))
    written.encoding = writeEncoding(model.cluster, encoded);
}

/// The number of a tensor that the contract names.
llvm::FailureOr<uint32_t> PlanWriter::findPromised(StringAttr name) {
  if (auto tensor = model.findTensor(name.getValue()))
    return *tensor;
  return model.step.emitError() << "has a contract about '" << name.getValue()
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
  fb::RelationT &relation = append(plan.contract);
  relation.tensor = written->states.front();
  relation.of = *of;
  relation.relation = fb::RelationKind::Updated;
  relation.reduce = static_cast<fb::ReduceKind>(update.getKind());
  relation.axes = axisNumbers(model.cluster, update.getOver());
  relation.update = std::move(written);
  return success();
}

llvm::LogicalResult PlanWriter::writeRelation(RelationAttr relation) {
  auto tensor = findPromised(relation.getTensor());
  auto of = findPromised(relation.getOf());
  if (failed(tensor) || failed(of))
    return failure();
  fb::RelationT &written = append(plan.contract);
  written.tensor = *tensor;
  written.of = *of;
  written.relation = static_cast<fb::RelationKind>(relation.getRelation());
  written.reduce = static_cast<fb::ReduceKind>(relation.getKind());
  written.axes = axisNumbers(model.cluster, relation.getOver());
  written.split_dim = static_cast<uint32_t>(relation.getSplit());
  written.concat_dim = static_cast<uint32_t>(relation.getConcat());
  ArrayRef<int64_t> pairs = relation.getPairs().asArrayRef();
  written.pairs.assign(pairs.begin(), pairs.end());
  return success();
}

llvm::LogicalResult PlanWriter::writeContract() {
  auto contract = model.step->getAttrOfType<ArrayAttr>(kContractAttr);
  if (!contract)
    return model.step.emitError("has no contract: expected a step that "
                                "bagua-relax has seen");
  for (Attribute entry : contract) {
    auto update = dyn_cast<UpdateAttr>(entry);
    if (update && !model.isExpected(update))
      continue;
    if (failed(update ? writeUpdate(update)
                      : writeRelation(cast<RelationAttr>(entry))))
      return failure();
  }
  return success();
}

void PlanWriter::writeProgramOp(const PlanProgramOp &entry) {
  ComputeOp op = entry.op;
  fb::ProgramOpT &written = append(plan.program);
  written.name = op ? op.getName().str() : "next states";
  written.phase =
      op ? static_cast<fb::Phase>(op.getPhase()) : fb::Phase::Update;
  written.cost_ns = op ? op.getCostNs().value_or(0) : 0;
  written.waits = entry.waits;
  written.gives = entry.gives;
  written.late = entry.late;
}

llvm::FailureOr<std::string> PlanWriter::write() {
  for (auto &[name, bytes] : model.arenas) {
    fb::ArenaT &arena = append(plan.arenas);
    arena.name = name.getValue().str();
    arena.bytes = arenaAligned(bytes); // as bagua-place counts them
  }
  for (const PlanTensor &tensor : model.tensors)
    writeTensor(tensor);
  for (auto &[value, storage] : model.values)
    writeValue(value, storage);
  for (const PlanInstruction &instruction : model.instructions)
    if (failed(writeInstruction(model, instruction, append(plan.instructions))))
      return failure();
  if (failed(writeContract()))
    return failure();
  for (const PlanProgramOp &entry : model.program)
    writeProgramOp(entry);

  auto module = model.step->getParentOfType<ModuleOp>();
  if (auto strategy = module->getAttrOfType<StringAttr>("bagua.strategy"))
    plan.strategy = strategy.getValue().str();
  if (auto scale = model.step->getAttrOfType<FloatAttr>(kSizeScaleAttr))
    plan.size_scale = scale.getValueAsDouble();
  plan.name = model.step.getSymName().str();
  writeCluster();
  plan.streams = model.streams;
  writePrediction();
  plan.minor_version = runtime::kPlanMinorVersion;
  return runtime::writePlan(plan);
}

/// As bagua-sim does; nothing where it can't.
void PlanWriter::writePrediction() {
  FailureOr<Prediction> predicted = predictScheduled(model.step);
  if (failed(predicted))
    return;
  plan.prediction = std::make_unique<fb::PredictionT>();
  plan.prediction->step_ns = std::llround(predicted->stepNs);
  plan.prediction->exposed_ns = std::llround(predicted->exposedNs);
  plan.prediction->bytes_sent = std::llround(predicted->bytesSent);
}

llvm::FailureOr<std::string> bagua::exportPlan(ModuleOp module) {
  FailureOr<StepOp> step = getOnlyStep(module);
  if (failed(step))
    return failure();
  PlanModel model(*step);
  if (failed(model.read()))
    return failure();
  llvm::FailureOr<std::string> bytes = PlanWriter(model).write();
  if (failed(bytes))
    return failure();
  // What export accepts, the loader accepts.
  if (auto loaded = runtime::Plan::fromBytes(*bytes); !loaded.ok())
    return model.step.emitError()
           << "makes a plan that the runtime would refuse: "
           << std::string(loaded.status().message());
  return bytes;
}
