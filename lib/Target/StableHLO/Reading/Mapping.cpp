//===- Mapping.cpp - What the user states about an exported step ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the JSON file of --mapping. Unknown keys are errors, because a misspelt
// key would otherwise have no effect.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Reading/Mapping.h"

#include "mlir/IR/Location.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

namespace {
class MappingParser {
public:
  MappingParser(MLIRContext *context, StringRef name)
      : loc(FileLineColLoc::get(context, name, 0, 0)) {}

  FailureOr<Mapping> parse(StringRef text);

private:
  LogicalResult parseState(const llvm::json::Object &object);
  LogicalResult parseInput(const llvm::json::Object &object);
  LogicalResult parseGradient(const llvm::json::Object &object);
  LogicalResult checkKeys(const llvm::json::Object &object,
                          ArrayRef<StringRef> keys);
  LogicalResult readPosition(const llvm::json::Object &object, StringRef key,
                             Position &position);
  LogicalResult readRole(const llvm::json::Object &object,
                         std::optional<Role> &role);

  Location loc;
  Mapping mapping;
};
} // namespace

LogicalResult MappingParser::checkKeys(const llvm::json::Object &object,
                                       ArrayRef<StringRef> keys) {
  for (const auto &entry : object)
    if (!llvm::is_contained(keys, StringRef(entry.first))) {
      InFlightDiagnostic diagnostic = emitError(loc);
      diagnostic << "expected one of the keys ";
      llvm::interleaveComma(keys, diagnostic);
      return diagnostic << ", found '" << StringRef(entry.first) << "'";
    }
  return success();
}

LogicalResult MappingParser::readPosition(const llvm::json::Object &object,
                                          StringRef key, Position &position) {
  if (std::optional<int64_t> number = object.getInteger(key)) {
    position = *number;
    return success();
  }
  if (std::optional<StringRef> path = object.getString(key)) {
    position = path->str();
    return success();
  }
  return emitError(loc) << "expected '" << key
                        << "' as a position or a tree path";
}

LogicalResult MappingParser::readRole(const llvm::json::Object &object,
                                      std::optional<Role> &role) {
  std::optional<StringRef> text = object.getString("role");
  if (!text)
    return success();
  role = symbolizeRole(*text);
  if (!role)
    return emitError(loc) << "expected param, optimizer, buffer, batch or "
                             "input as a role, found '"
                          << *text << "'";
  return success();
}

LogicalResult MappingParser::parseState(const llvm::json::Object &object) {
  Mapping::State &state = mapping.states.emplace_back();
  state.name = object.getString("name").value_or("").str();
  return failure(
      failed(checkKeys(object, {"argument", "result", "name", "role"})) ||
      failed(readPosition(object, "argument", state.argument)) ||
      failed(readPosition(object, "result", state.result)) ||
      failed(readRole(object, state.role)));
}

LogicalResult MappingParser::parseInput(const llvm::json::Object &object) {
  Mapping::Input &input = mapping.inputs.emplace_back();
  input.name = object.getString("name").value_or("").str();
  return failure(failed(checkKeys(object, {"argument", "name", "role"})) ||
                 failed(readPosition(object, "argument", input.argument)) ||
                 failed(readRole(object, input.role)));
}

LogicalResult MappingParser::parseGradient(const llvm::json::Object &object) {
  if (failed(checkKeys(object, {"param", "location", "index", "result"})))
    return failure();
  Mapping::Gradient &gradient = mapping.gradients.emplace_back();
  gradient.param = object.getString("param").value_or("").str();
  gradient.location = object.getString("location").value_or("").str();
  gradient.index = object.getInteger("index").value_or(0);
  gradient.result = object.getInteger("result").value_or(0);
  bool hasPlace = !gradient.location.empty() || object.get("result");
  if (gradient.param.empty() || !hasPlace)
    return emitError(loc)
           << "expected 'param' and 'result', or 'location', of a gradient";
  if (gradient.location.empty() && object.get("index"))
    return emitError(loc) << "expected 'index' beside a 'location' alone";
  return gradient.location.empty()
             ? readPosition(object, "result", gradient.output)
             : success();
}

FailureOr<Mapping> MappingParser::parse(StringRef text) {
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json)
    return emitError(loc) << "expected a mapping in JSON, found "
                          << llvm::toString(json.takeError());
  const llvm::json::Object *root = json->getAsObject();
  if (!root)
    return emitError(loc) << "expected an object as mapping";
  if (failed(checkKeys(*root, {"states", "inputs", "gradients"})))
    return failure();
  using Parse = LogicalResult (MappingParser::*)(const llvm::json::Object &);
  for (auto [key, parse] : std::initializer_list<std::pair<StringRef, Parse>>{
           {"states", &MappingParser::parseState},
           {"inputs", &MappingParser::parseInput},
           {"gradients", &MappingParser::parseGradient}}) {
    const llvm::json::Value *value = root->get(key);
    if (!value)
      continue;
    const llvm::json::Array *entries = value->getAsArray();
    if (!entries)
      return emitError(loc) << "expected '" << key << "' as a list";
    for (const llvm::json::Value &entry : *entries) {
      const llvm::json::Object *object = entry.getAsObject();
      if (!object)
        return emitError(loc) << "expected objects in '" << key << "'";
      if (failed((this->*parse)(*object)))
        return failure();
    }
  }
  return mapping;
}

FailureOr<Mapping> bagua::importer::parseMapping(MLIRContext *context,
                                                 StringRef text,
                                                 StringRef name) {
  return MappingParser(context, name).parse(text);
}
