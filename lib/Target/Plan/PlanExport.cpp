//===- PlanExport.cpp - A scheduled step as a plan file -------------------===//
//
// Puts a PlanModel into FlatBuffers. Deterministic: everything is written in
// the order of the IR.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/PlanExport.h"

#include "InstructionWriter.h"
#include "PlanModel.h"

#include "bagua/Runtime/Plan.h"
#include "bagua/Transforms/Utils/Relaxations.h"
#include "bagua/Transforms/Utils/StepQueries.h"

using namespace mlir;
using namespace bagua;

namespace {
class PlanWriter {
public:
  explicit PlanWriter(PlanModel &model) : model(model) {
    // Version and fingerprint must be stored even where they are zero.
    builder.ForceDefaults(true);
  }

  llvm::FailureOr<std::string> write();

private:
  flatbuffers::Offset<fb::Cluster> writeCluster();
  flatbuffers::Offset<fb::Tensor> writeTensor(const PlanTensor &tensor);
  flatbuffers::Offset<fb::Value> writeValue(Value value,
                                            const Storage &storage);
  llvm::FailureOr<uint32_t> findPromised(StringAttr name);
  llvm::FailureOr<flatbuffers::Offset<fb::Relation>>
  writeUpdate(UpdateAttr update);
  llvm::FailureOr<std::vector<flatbuffers::Offset<fb::Relation>>>
  writeContract();
  flatbuffers::Offset<fb::ProgramOp> writeProgramOp(const PlanProgramOp &entry);

  PlanModel &model;
  flatbuffers::FlatBufferBuilder builder;
};
} // namespace

flatbuffers::Offset<fb::Cluster> PlanWriter::writeCluster() {
  ClusterOp cluster = model.cluster;
  std::vector<flatbuffers::Offset<fb::Axis>> axes;
  for (auto axis : cluster.getAxes().getAsRange<AxisAttr>()) {
    auto name = builder.CreateString(axis.getName().str());
    axes.push_back(fb::CreateAxis(builder, name, axis.getSize()));
  }
  auto axisVector = builder.CreateVector(axes);
  AxesAttr serversOn = cluster.getServersOnAttr();
  auto serverAxes = builder.CreateVector(axisNumbers(cluster, serversOn));
  return fb::CreateCluster(builder, axisVector,
                           cluster.getServers().value_or(0),
                           serversOn != nullptr, serverAxes);
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

flatbuffers::Offset<fb::Tensor>
PlanWriter::writeTensor(const PlanTensor &tensor) {
  auto name = builder.CreateString(tensor.name);
  auto shape = builder.CreateVector(tensor.type.getShape().data(),
                                    tensor.type.getShape().size());
  auto layout = writeLayout(builder, model.cluster, getLayout(tensor.type));
  auto users = builder.CreateVector(tensor.users);
  return fb::CreateTensor(builder, name, roleOf(tensor),
                          elementTypeOf(tensor.type), shape, layout,
                          tensor.storage.arena, tensor.storage.offset,
                          tensor.givenByProgram, tensor.optional, users);
}

flatbuffers::Offset<fb::Value> PlanWriter::writeValue(Value value,
                                                      const Storage &storage) {
  auto type = cast<RankedTensorType>(value.getType());
  auto layout = writeLayout(builder, model.cluster, getLayout(type));
  return fb::CreateValue(builder, elementTypeOf(type), getElementCount(type),
                         layout, storage.tensor, storage.arena, storage.offset);
}

/// The number of a tensor that the contract names.
llvm::FailureOr<uint32_t> PlanWriter::findPromised(StringAttr name) {
  if (auto tensor = model.findTensor(name.getValue()))
    return *tensor;
  return model.step.emitError() << "has a contract about '" << name.getValue()
                                << "', which no op makes";
}

llvm::FailureOr<flatbuffers::Offset<fb::Relation>>
PlanWriter::writeUpdate(UpdateAttr update) {
  std::vector<uint32_t> states;
  for (auto state : update.getStates().getAsRange<StringAttr>()) {
    auto tensor = findPromised(state);
    if (failed(tensor))
      return failure();
    states.push_back(*tensor);
  }
  auto of = findPromised(update.getOf());
  if (failed(of))
    return failure();
  int32_t rateTensor = -1;
  if (auto name = dyn_cast<StringAttr>(update.getLr())) {
    auto tensor = findPromised(name);
    if (failed(tensor))
      return failure();
    rateTensor = static_cast<int32_t>(*tensor);
  }
  auto rate = dyn_cast<FloatAttr>(update.getLr());
  ArrayRef<float> constants = update.getConstants();
  auto stateNumbers = builder.CreateVector(states);
  auto written = fb::CreateUpdate(
      builder, *opcodeOf(stringifyUpdateRule(update.getRule())), stateNumbers,
      builder.CreateVector(constants.data(), constants.size()),
      static_cast<fb::BiasCorrection>(update.getBiasCorrection()), rateTensor,
      rate ? rate.getValue().convertToFloat() : 0);
  auto axes =
      builder.CreateVector(axisNumbers(model.cluster, update.getOver()));
  return fb::CreateRelation(
      builder, states.front(), *of, fb::RelationKind::Updated,
      static_cast<fb::ReduceKind>(update.getKind()), axes, 0, 0, written);
}

llvm::FailureOr<std::vector<flatbuffers::Offset<fb::Relation>>>
PlanWriter::writeContract() {
  std::vector<flatbuffers::Offset<fb::Relation>> relations;
  auto contract = model.step->getAttrOfType<ArrayAttr>(kContractAttr);
  if (!contract)
    return model.step.emitError("has no contract: expected a step that "
                                "bagua-relax has seen");
  for (Attribute entry : contract) {
    if (auto update = dyn_cast<UpdateAttr>(entry)) {
      if (!model.isExpected(update))
        continue;
      auto written = writeUpdate(update);
      if (failed(written))
        return failure();
      relations.push_back(*written);
      continue;
    }
    auto relation = cast<RelationAttr>(entry);
    auto tensor = findPromised(relation.getTensor());
    auto of = findPromised(relation.getOf());
    if (failed(tensor) || failed(of))
      return failure();
    auto axes =
        builder.CreateVector(axisNumbers(model.cluster, relation.getOver()));
    auto pairs = writePairs(builder, relation.getPairs().asArrayRef());
    relations.push_back(fb::CreateRelation(
        builder, *tensor, *of,
        static_cast<fb::RelationKind>(relation.getRelation()),
        static_cast<fb::ReduceKind>(relation.getKind()), axes,
        static_cast<uint32_t>(relation.getSplit()),
        static_cast<uint32_t>(relation.getConcat()), /*update=*/0, pairs));
  }
  return relations;
}

flatbuffers::Offset<fb::ProgramOp>
PlanWriter::writeProgramOp(const PlanProgramOp &entry) {
  ComputeOp op = entry.op;
  auto name = builder.CreateString(op ? op.getName().str() : "next states");
  auto waits = builder.CreateVector(entry.waits);
  auto gives = builder.CreateVector(entry.gives);
  return fb::CreateProgramOp(
      builder, name,
      op ? static_cast<fb::Phase>(op.getPhase()) : fb::Phase::Update,
      op ? op.getCostNs().value_or(0) : 0, waits, gives, entry.late);
}

llvm::FailureOr<std::string> PlanWriter::write() {
  std::vector<flatbuffers::Offset<fb::Arena>> arenas;
  for (auto &[name, bytes] : model.arenas) {
    auto arenaName = builder.CreateString(name.getValue().str());
    arenas.push_back(fb::CreateArena(builder, arenaName, bytes));
  }
  std::vector<flatbuffers::Offset<fb::Tensor>> tensors;
  tensors.reserve(model.tensors.size());
  for (const PlanTensor &tensor : model.tensors)
    tensors.push_back(writeTensor(tensor));
  std::vector<flatbuffers::Offset<fb::Value>> values;
  for (auto &[value, storage] : model.values)
    values.push_back(writeValue(value, storage));
  std::vector<flatbuffers::Offset<fb::Instruction>> instructions;
  for (const PlanInstruction &instruction : model.instructions) {
    auto written = writeInstruction(builder, model, instruction);
    if (failed(written))
      return failure();
    instructions.push_back(*written);
  }
  auto contract = writeContract();
  if (failed(contract))
    return failure();
  std::vector<flatbuffers::Offset<fb::ProgramOp>> program;
  program.reserve(model.program.size());
  for (const PlanProgramOp &entry : model.program)
    program.push_back(writeProgramOp(entry));

  auto module = model.step->getParentOfType<ModuleOp>();
  auto strategy = module->getAttrOfType<StringAttr>("bagua.strategy");
  auto scale = model.step->getAttrOfType<FloatAttr>("bagua.size_scale");
  auto name = builder.CreateString(model.step.getSymName().str());
  auto strategyName =
      builder.CreateString(strategy ? strategy.getValue().str() : "");
  auto cluster = writeCluster();
  auto streams = builder.CreateVectorOfStrings(model.streams);
  auto root = fb::CreatePlan(
      builder, runtime::kPlanVersion, /*fingerprint=*/0, name, strategyName,
      scale ? scale.getValueAsDouble() : 1.0, cluster, streams,
      builder.CreateVector(arenas), builder.CreateVector(tensors),
      builder.CreateVector(values), builder.CreateVector(instructions),
      builder.CreateVector(*contract), builder.CreateVector(program));
  return runtime::finishPlan(builder, root);
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
