//===- PlanJson.cpp - A plan as JSON --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every field under its name in the schema, in the schema's order. Enumerators
// print as their names, references between tables as the numbers they are.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include "absl/strings/str_format.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace bagua::runtime {
namespace {

using Json = nlohmann::ordered_json;

std::string text(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

template <typename T> Json list(const flatbuffers::Vector<T> *values) {
  Json result = Json::array();
  if (values)
    for (T value : *values)
      result.push_back(value);
  return result;
}

template <typename T>
Json listOf(const flatbuffers::Vector<flatbuffers::Offset<T>> *tables,
            Json (*toJson)(const T &)) {
  Json result = Json::array();
  if (tables)
    for (const T *table : *tables)
      result.push_back(toJson(*table));
  return result;
}

Json strings(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> *list) {
  Json result = Json::array();
  for (const flatbuffers::String *string : *list)
    result.push_back(text(string));
  return result;
}

Json layoutEntry(const fb::LayoutEntry &entry) {
  return {{"kind", fb::EnumNameLayoutKind(entry.kind())},
          {"axes", list(entry.axes())},
          {"server", entry.server()}};
}

Json axis(const fb::Axis &axis) {
  return {{"name", text(axis.name())}, {"size", axis.size()}};
}

Json cluster(const fb::Cluster &cluster) {
  return {{"axes", listOf(cluster.axes(), axis)},
          {"dedicated_servers", cluster.dedicated_servers()},
          {"has_colocated_servers", cluster.has_colocated_servers()},
          {"server_axes", list(cluster.server_axes())}};
}

Json arena(const fb::Arena &arena) {
  return {{"name", text(arena.name())}, {"bytes", arena.bytes()}};
}

Json tensor(const fb::Tensor &tensor) {
  return {{"name", text(tensor.name())},
          {"role", fb::EnumNameRole(tensor.role())},
          {"type", fb::EnumNameDataType(tensor.type())},
          {"shape", list(tensor.shape())},
          {"layout", listOf(tensor.layout(), layoutEntry)},
          {"arena", tensor.arena()},
          {"offset", tensor.offset()},
          {"given_by_program", tensor.given_by_program()},
          {"optional", tensor.optional()}};
}

Json value(const fb::Value &value) {
  Json json = {{"type", fb::EnumNameDataType(value.type())},
               {"count", value.count()},
               {"layout", listOf(value.layout(), layoutEntry)},
               {"tensor", value.tensor()},
               {"arena", value.arena()},
               {"offset", value.offset()}};
  if (const fb::ValueEncoding *encoding = value.encoding())
    json["encoding"] = {{"id", encoding->id()},
                        {"parameters", list(encoding->parameters())},
                        {"parts", list(encoding->parts())},
                        {"terms", list(encoding->terms())}};
  return json;
}

Json instruction(const fb::Instruction &op) {
  return {{"name", text(op.name())},
          {"opcode", fb::EnumNameOpcode(op.opcode())},
          {"stream", op.stream()},
          {"inputs", list(op.inputs())},
          {"outputs", list(op.outputs())},
          {"axes", list(op.axes())},
          {"kind", fb::EnumNameReduceKind(op.kind())},
          {"pattern", fb::EnumNameExchangePattern(op.pattern())},
          {"shape", list(op.shape())},
          {"split_dim", op.split_dim()},
          {"concat_dim", op.concat_dim()},
          {"striped", listOf(op.striped(), layoutEntry)},
          {"constants", list(op.constants())},
          {"bias_correction", fb::EnumNameBiasCorrection(op.bias_correction())},
          {"has_learning_rate", op.has_learning_rate()},
          {"learning_rate", op.learning_rate()},
          {"ready", list(op.ready())},
          {"after", list(op.after())},
          {"after_previous", list(op.after_previous())},
          {"cost_ns", op.cost_ns()},
          {"pairs", list(op.pairs())}};
}

Json update(const fb::Update &update) {
  return {
      {"opcode", fb::EnumNameOpcode(update.opcode())},
      {"states", list(update.states())},
      {"constants", list(update.constants())},
      {"bias_correction", fb::EnumNameBiasCorrection(update.bias_correction())},
      {"learning_rate_tensor", update.learning_rate_tensor()},
      {"learning_rate", update.learning_rate()}};
}

Json relation(const fb::Relation &relation) {
  Json json = {{"tensor", relation.tensor()},
               {"of", relation.of()},
               {"relation", fb::EnumNameRelationKind(relation.relation())},
               {"reduce", fb::EnumNameReduceKind(relation.reduce())},
               {"axes", list(relation.axes())},
               {"split_dim", relation.split_dim()},
               {"concat_dim", relation.concat_dim()},
               {"pairs", list(relation.pairs())},
               {"coefficient", relation.coefficient()}};
  if (relation.update())
    json["update"] = update(*relation.update());
  return json;
}

Json programOp(const fb::ProgramOp &op) {
  return {{"name", text(op.name())},
          {"phase", fb::EnumNameComputePhase(op.phase())},
          {"cost_ns", op.cost_ns()},
          {"waits", list(op.waits())},
          {"gives", list(op.gives())},
          {"late", op.late()}};
}

Json tensorUse(const fb::TensorUse &use) {
  return {{"tensor", use.tensor()}, {"instructions", list(use.instructions())}};
}

Json step(const fb::Step &step) {
  Json json = {{"name", text(step.name())},
               {"strategy", text(step.strategy())},
               {"instructions", listOf(step.instructions(), instruction)},
               {"uses", listOf(step.uses(), tensorUse)},
               {"contract", listOf(step.contract(), relation)},
               {"program", listOf(step.program(), programOp)}};
  if (const fb::Prediction *prediction = step.prediction())
    json["prediction"] = {{"step_ns", prediction->step_ns()},
                          {"exposed_ns", prediction->exposed_ns()},
                          {"bytes_sent", prediction->bytes_sent()}};
  return json;
}

Json phase(const fb::Phase &phase) {
  return {{"step", phase.step()},
          {"at", phase.at()},
          {"until", phase.until()},
          {"every", phase.every()},
          {"offset", phase.offset()}};
}

} // namespace

std::string planToJson(const Plan &plan) {
  const fb::Plan &root = plan.root();
  Json json = {{"version", root.version()},
               {"minor_version", root.minor_version()},
               {"fingerprint", absl::StrFormat("%016x", root.fingerprint())},
               {"features", strings(root.features())},
               {"name", text(root.name())},
               {"size_scale", root.size_scale()},
               {"cluster", cluster(*root.cluster())},
               {"streams", strings(root.streams())},
               {"arenas", listOf(root.arenas(), arena)},
               {"tensors", listOf(root.tensors(), tensor)},
               {"values", listOf(root.values(), value)},
               {"steps", listOf(root.steps(), step)},
               {"phases", listOf(root.phases(), phase)}};
  // Names come from a file: bytes that are not UTF-8 become U+FFFD.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace bagua::runtime
