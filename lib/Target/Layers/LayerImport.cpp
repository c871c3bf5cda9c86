//===- LayerImport.cpp - Tables of layers to bagua.step -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes one forward and one backward op for each layer, with measured times,
// and an update for each tensor.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/LayerImport.h"

#include "LayerTable.h"

#include "bagua/Target/Clusters.h"
#include "bagua/Target/SizeScale.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

namespace {
class LayerEmitter {
public:
  LayerEmitter(MLIRContext *context, const LayerTable &table,
               const LayerImportOptions &options)
      : table(table), options(options), builder(context),
        loc(UnknownLoc::get(context)), params(table.layers.size()),
        gradients(table.layers.size()), activations(table.layers.size()),
        errors(table.layers.size()) {}

  OwningOpRef<ModuleOp> run();

private:
  StepOp emitStepOp(ClusterOp cluster);
  void emitForward(unsigned index);
  void emitBackward(unsigned index);
  ComputeOp emitCompute(Location loc, PhaseKind phase, const Twine &name,
                        TypeRange results, ValueRange operands, int64_t ns,
                        ArrayRef<Attribute> infos = {});

  const LayerTable &table;
  const LayerImportOptions &options;
  OpBuilder builder;
  Location loc;
  Value batch;
  std::vector<SmallVector<Value, 2>> params, gradients;
  std::vector<Value> activations, errors;
};
} // namespace

/// The name of a layer's tensor. A tensor without a name gets the layer's if it
/// is the layer's only one, else the layer's with a number.
static std::string tensorName(const Layer &layer, size_t index) {
  const std::string &own = layer.params[index].name;
  if (!own.empty())
    return layer.name + "." + own;
  return layer.params.size() == 1 ? layer.name
                                  : layer.name + "." + std::to_string(index);
}

ComputeOp LayerEmitter::emitCompute(Location loc, PhaseKind phase,
                                    const Twine &name, TypeRange results,
                                    ValueRange operands, int64_t ns,
                                    ArrayRef<Attribute> infos) {
  auto compute =
      builder.create<ComputeOp>(loc, results, operands, phase, name.str());
  compute.setCostNs(ns);
  compute.setCostSource(CostSource::Measured);
  if (!infos.empty())
    compute.setResultInfoAttr(builder.getArrayAttr(infos));
  return compute;
}

StepOp LayerEmitter::emitStepOp(ClusterOp cluster) {
  SmallVector<Attribute> infos;
  SmallVector<Type> types;
  auto add = [&](Role role, StringRef name, RankedTensorType type) {
    infos.push_back(ArgumentAttr::get(builder.getContext(), role,
                                      builder.getStringAttr(name), nullptr,
                                      nullptr, nullptr));
    types.push_back(scaleType(type, options.sizeScale));
  };
  for (const Layer &layer : table.layers)
    for (auto [index, param] : llvm::enumerate(layer.params))
      add(Role::Param, tensorName(layer, index), param.type);
  std::string batchName = "batch";
  while (llvm::any_of(table.layers,
                      [&](auto &layer) { return layer.name == batchName; }))
    batchName += "_";
  add(Role::Batch, batchName, table.layers.front().activation);
  auto step =
      builder.create<StepOp>(loc, "step", cluster.getSymName(),
                             cluster.getAllAxes(), builder.getArrayAttr(infos));
  recordSizeScale(step, options.sizeScale);
  Block *body = builder.createBlock(&step.getBody());
  unsigned next = 0;
  for (auto [index, layer] : llvm::enumerate(table.layers))
    for (size_t i = 0; i < layer.params.size(); ++i)
      params[index].push_back(body->addArgument(types[next++], layer.loc));
  batch = body->addArgument(types[next], loc);
  return step;
}

void LayerEmitter::emitForward(unsigned index) {
  const Layer &layer = table.layers[index];
  SmallVector<Value> operands;
  for (unsigned input : layer.inputs)
    operands.push_back(activations[input]);
  if (layer.inputs.empty())
    operands.push_back(batch);
  operands.append(params[index].begin(), params[index].end());
  activations[index] =
      emitCompute(layer.loc, PhaseKind::Forward, layer.name,
                  TypeRange(scaleType(layer.activation, options.sizeScale)),
                  operands, layer.forwardNs)
          .getResult(0);
}

/// Adds a layer's backward: it uses the errors of the layers after it and the
/// activations of those before it, and makes the error of its input and its
/// gradients.
void LayerEmitter::emitBackward(unsigned index) {
  const Layer &layer = table.layers[index];
  SmallVector<Value> operands;
  for (unsigned after : layer.backwardInputs)
    operands.push_back(errors[after]);
  if (layer.backwardInputs.empty())
    operands.push_back(activations[index]);
  Value input = layer.inputs.empty() ? batch : activations[layer.inputs[0]];
  operands.push_back(input);
  operands.append(params[index].begin(), params[index].end());
  SmallVector<Type> results = {input.getType()};
  SmallVector<Attribute> infos = {builder.getUnitAttr()};
  for (size_t i = 0; i < layer.params.size(); ++i) {
    results.push_back(params[index][i].getType());
    infos.push_back(ResultAttr::get(builder.getContext(),
                                    builder.getStringAttr(tensorName(layer, i)),
                                    nullptr, false));
  }
  if (layer.params.empty())
    infos.clear();
  ComputeOp op = emitCompute(layer.loc, PhaseKind::Backward, layer.name,
                             results, operands, layer.backwardNs, infos);
  errors[index] = op.getResult(0);
  gradients[index].append(op.getResults().begin() + 1, op.getResults().end());
}

OwningOpRef<ModuleOp> LayerEmitter::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  ClusterOp given = options.cluster;
  ClusterOp cluster =
      given ? cast<ClusterOp>(builder.clone(*given.getOperation()))
            : buildDefaultCluster(builder, loc, {{"data", 1}});
  emitStepOp(cluster);
  for (unsigned i = 0; i < table.layers.size(); ++i)
    emitForward(i);
  for (unsigned i : table.backwardOrder)
    emitBackward(i);
  // The table doesn't describe the optimizer, so the program runs it.
  SmallVector<Value> next;
  for (auto [index, layer] : llvm::enumerate(table.layers))
    for (size_t i = 0; i < layer.params.size(); ++i) {
      Value param = params[index][i];
      next.push_back(builder
                         .create<ComputeOp>(
                             layer.loc, TypeRange(param.getType()),
                             ValueRange{param, gradients[index][i]},
                             PhaseKind::Update, "opt." + tensorName(layer, i))
                         .getResult(0));
    }
  builder.create<YieldOp>(loc, next);
  if (failed(verify(*module)))
    return nullptr;
  return module;
}

OwningOpRef<ModuleOp> bagua::importLayers(llvm::SourceMgr &sources,
                                          MLIRContext *context,
                                          const LayerImportOptions &options) {
  context->loadDialect<BaguaDialect>();
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  if (failed(checkSizeScale(options.sizeScale, UnknownLoc::get(context))))
    return nullptr;
  FailureOr<LayerTable> table = readLayerTable(context, buffer->getBuffer(),
                                               buffer->getBufferIdentifier());
  if (failed(table))
    return nullptr;
  return LayerEmitter(context, *table, options).run();
}
