//===- StepAttributes.cpp - What a step says of its values ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and invariants of layouts and places, and of a step's arguments and
// results.
//
//===----------------------------------------------------------------------===//
#include "AssemblyFormat.h"

#include "bagua/Support/Limits.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bagua;

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

AxesAttr LayoutEntry::getAxes() const { return cast_or_null<AxesAttr>(axes); }

LayoutEntry LayoutEntry::shard(AxesAttr axes) {
  return {Kind::Shard, axes, kAllServers};
}
LayoutEntry LayoutEntry::root(AxesAttr axes) {
  return {Kind::Root, axes, kAllServers};
}
LayoutEntry LayoutEntry::onServer(int64_t server) {
  return {Kind::Server, nullptr, server};
}

static ParseResult parseEntry(AsmParser &parser, LayoutEntry &entry) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  AxesAttr axes;
  if (word == "shard" || word == "root") {
    if (parseAxes(parser, axes))
      return failure();
    entry =
        word == "shard" ? LayoutEntry::shard(axes) : LayoutEntry::root(axes);
    return success();
  }
  if (word != "server")
    return parser.emitError(location)
           << "expected 'shard', 'root' or 'server', found '" << word << "'";
  int64_t server = LayoutEntry::kAllServers;
  OptionalParseResult number = parser.parseOptionalInteger(server);
  if (number.has_value() && failed(*number))
    return failure();
  if (number.has_value() && server < 0)
    return parser.emitError(location)
           << "expected a server's number, found " << server;
  entry = LayoutEntry::onServer(server);
  return success();
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<LayoutEntry> entries;
  SMLoc location = parser.getCurrentLocation();
  auto parseOne = [&] { return parseEntry(parser, entries.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return nullptr;
  return getChecked([&] { return parser.emitError(location); },
                    parser.getContext(), ArrayRef<LayoutEntry>(entries));
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getEntries(), printer, [&](const LayoutEntry &entry) {
    switch (entry.kind) {
    case LayoutEntry::Kind::Shard:
      printer << "shard ";
      return printAxes(printer, entry.getAxes());
    case LayoutEntry::Kind::Root:
      printer << "root ";
      return printAxes(printer, entry.getAxes());
    case LayoutEntry::Kind::Server:
      printer << "server";
      if (entry.server != LayoutEntry::kAllServers)
        printer << ' ' << entry.server;
      return;
    }
  });
  printer << '>';
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<LayoutEntry> entries) {
  if (entries.empty())
    return emitError() << "expected at least one entry in a layout";
  llvm::StringSet<> seen;
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (entry.kind == LayoutEntry::Kind::Server) {
      if (index + 1 != entries.size())
        return emitError() << "expected 'server' as the last entry of a layout";
      continue;
    }
    if (entry.getAxes().empty())
      return emitError() << "expected at least one axis in a layout's entry";
    for (StringAttr name : entry.getAxes().getNames())
      if (!seen.insert(name.getValue()).second)
        return emitError() << "expected each axis once in a layout, found '"
                           << name.getValue() << "' twice";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// PlaceAttr, ArgumentAttr, ResultAttr
//===----------------------------------------------------------------------===//

Attribute PlaceAttr::parse(AsmParser &parser, Type) {
  PlaceAttr place;
  if (parser.parseLess() || parsePlace(parser, place) || parser.parseGreater())
    return nullptr;
  return place;
}

void PlaceAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printPlace(printer, *this);
  printer << '>';
}

LogicalResult PlaceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                PlaceKind kind, StringAttr name,
                                int64_t offset) {
  if (offset < 0 || offset > kMaxBytes)
    return emitError() << "expected a byte offset of 0 to " << kMaxBytes
                       << " in arena '" << name.getValue() << "', found "
                       << offset;
  if (kind == PlaceKind::Arena && name.getValue() == "program")
    return emitError() << "'program' can't be the name of an arena";
  return success();
}

Attribute ArgumentAttr::parse(AsmParser &parser, Type) {
  StringRef word;
  ArgumentAttr info;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&word))
    return nullptr;
  std::optional<Role> role = symbolizeRole(word);
  if (!role) {
    parser.emitError(location) << "expected a role, found '" << word << "'";
    return nullptr;
  }
  if (parseArgumentInfo(parser, *role, info) || parser.parseGreater())
    return nullptr;
  return info;
}

void ArgumentAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyRole(getRole()) << ' ';
  printArgumentInfo(printer, *this);
  printer << '>';
}

Attribute ResultAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  StringAttr grad, as;
  std::string text;
  if (parser.parseLess())
    return nullptr;
  bool optional = succeeded(parser.parseOptionalKeyword("optional"));
  if (succeeded(parser.parseOptionalKeyword("grad"))) {
    if (parser.parseString(&text))
      return nullptr;
    grad = StringAttr::get(context, text);
  }
  if (succeeded(parser.parseOptionalKeyword("as"))) {
    if (parser.parseString(&text))
      return nullptr;
    as = StringAttr::get(context, text);
  }
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseGreater())
    return nullptr;
  return getChecked([&] { return parser.emitError(location); }, context, grad,
                    as, optional);
}

void ResultAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (getOptional())
    printer << "optional ";
  if (getGrad())
    printer << "grad " << getGrad();
  if (getAs())
    printer << "as " << getAs();
  printer << '>';
}

LogicalResult ResultAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringAttr grad, StringAttr as,
                                 bool optional) {
  if (grad && as)
    return emitError() << "expected 'grad' or 'as', found both";
  if (optional && !grad)
    return emitError() << "expected 'grad' with 'optional'";
  return success();
}
