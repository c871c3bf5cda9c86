//===- BaguaAttributes.cpp - Attributes of the bagua dialect --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and invariants of axes, clusters' parts, layouts, places and the
// descriptions of arguments and results.
//
//===----------------------------------------------------------------------===//
#include "AssemblyFormat.h"

#include "bagua/Support/Limits.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bagua;

#define GET_ATTRDEF_CLASSES
#include "bagua/Dialect/Bagua/BaguaAttributes.cpp.inc"

void BaguaDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "bagua/Dialect/Bagua/BaguaAttributes.cpp.inc"
      >();
}

/// An attribute whose mnemonic none of the others has is an encoding, which
/// begins with the word of a row.
Attribute BaguaDialect::parseAttribute(DialectAsmParser &parser,
                                       Type type) const {
  SMLoc location = parser.getCurrentLocation();
  StringRef mnemonic;
  Attribute attribute;
  OptionalParseResult parsed =
      generatedAttributeParser(parser, &mnemonic, type, attribute);
  if (parsed.has_value())
    return attribute;
  if (const EncodingRow *row = findEncoding(std::string_view(mnemonic)))
    return EncodingAttr::parseParameters(parser, *row);
  parser.emitError(location) << "unknown attribute `" << mnemonic
                             << "` in dialect `" << getNamespace() << "`";
  return nullptr;
}

void BaguaDialect::printAttribute(Attribute attribute,
                                  DialectAsmPrinter &printer) const {
  if (failed(generatedAttributePrinter(attribute, printer)))
    cast<EncodingAttr>(attribute).printWithWord(printer);
}

//===----------------------------------------------------------------------===//
// Pieces of syntax
//===----------------------------------------------------------------------===//

static bool isBareWord(StringRef word) {
  return !word.empty() && (llvm::isAlpha(word[0]) || word[0] == '_') &&
         llvm::all_of(word, [](char c) {
           return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
         });
}

ParseResult bagua::parseStream(AsmParser &parser, StringAttr &name) {
  std::string text;
  if (failed(parser.parseKeywordOrString(&text)))
    return failure();
  name = StringAttr::get(parser.getContext(), text);
  return success();
}

void bagua::printStream(AsmPrinter &printer, StringAttr name) {
  printer.printKeywordOrString(name.getValue());
}

ParseResult bagua::parseAxes(AsmParser &parser, AxesAttr &axes) {
  SmallVector<StringAttr> names;
  SMLoc location = parser.getCurrentLocation();
  auto parseName = [&] { return parseStream(parser, names.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseName))
    return failure();
  axes = AxesAttr::getChecked([&] { return parser.emitError(location); },
                              parser.getContext(), names);
  return success(axes != nullptr);
}

void bagua::printAxes(AsmPrinter &printer, AxesAttr axes) {
  printer << '[';
  llvm::interleaveComma(axes.getNames(), printer,
                        [&](StringAttr name) { printStream(printer, name); });
  printer << ']';
}

ParseResult bagua::parsePairs(AsmParser &parser, DenseI64ArrayAttr &pairs) {
  SmallVector<int64_t> numbers;
  auto parsePair = [&]() -> ParseResult {
    return failure(parser.parseInteger(numbers.emplace_back()) ||
                   parser.parseArrow() ||
                   parser.parseInteger(numbers.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parsePair))
    return failure();
  pairs = DenseI64ArrayAttr::get(parser.getContext(), numbers);
  return success();
}

void bagua::printPairs(AsmPrinter &printer, DenseI64ArrayAttr pairs) {
  ArrayRef<int64_t> numbers = pairs.asArrayRef();
  printer << '[';
  for (size_t i = 0; i + 1 < numbers.size(); i += 2)
    printer << (i ? ", " : "") << numbers[i] << " -> " << numbers[i + 1];
  printer << ']';
}

ParseResult bagua::parsePlace(AsmParser &parser, PlaceAttr &place) {
  MLIRContext *context = parser.getContext();
  std::string name;
  if (succeeded(parser.parseOptionalString(&name))) {
    place = PlaceAttr::get(context, PlaceKind::Named,
                           StringAttr::get(context, name), 0);
    return success();
  }
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  auto wordAttr = StringAttr::get(context, word);
  if (failed(parser.parseOptionalColon())) {
    if (word != "program")
      return parser.emitError(location)
             << "expected 'program', a name in quotes, or 'arena:byte', found '"
             << word << "'";
    place = PlaceAttr::get(context, PlaceKind::Program, wordAttr, 0);
    return success();
  }
  int64_t offset;
  if (parser.parseInteger(offset))
    return failure();
  place = PlaceAttr::getChecked([&] { return parser.emitError(location); },
                                context, PlaceKind::Arena, wordAttr, offset);
  return success(place != nullptr);
}

void bagua::printPlace(AsmPrinter &printer, PlaceAttr place) {
  switch (place.getKind()) {
  case PlaceKind::Program:
    printer << "program";
    return;
  case PlaceKind::Named:
    printer.printString(place.getName());
    return;
  case PlaceKind::Arena:
    printer << place.getName().getValue() << ':' << place.getOffset();
    return;
  }
}

ParseResult bagua::parsePlaces(AsmParser &parser, ArrayAttr &places) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    PlaceAttr place;
    if (parsePlace(parser, place))
      return failure();
    list.push_back(place);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  places = ArrayAttr::get(parser.getContext(), list);
  return success();
}

void bagua::printPlaces(AsmPrinter &printer, ArrayAttr places) {
  printer << '[';
  llvm::interleaveComma(places.getAsRange<PlaceAttr>(), printer,
                        [&](PlaceAttr place) { printPlace(printer, place); });
  printer << ']';
}

ParseResult bagua::parseKind(AsmParser &parser, ReduceKindAttr &kind) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<ReduceKind> value =
      parseReduceKind(std::string_view(word.data(), word.size()));
  if (!value)
    return parser.emitError(location)
           << "expected a reduction kind (sum, mean, min or max), found '"
           << word << "'";
  kind = ReduceKindAttr::get(parser.getContext(), *value);
  return success();
}

void bagua::printKind(AsmPrinter &printer, ReduceKindAttr kind) {
  std::string_view name = reduceKindName(kind.getValue());
  printer << StringRef(name.data(), name.size());
}

ParseResult bagua::parseOptionalKind(OpAsmParser &parser,
                                     ReduceKindAttr &kind) {
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word, {"sum", "mean", "min", "max"})))
    return success();
  kind = ReduceKindAttr::get(
      parser.getContext(),
      *parseReduceKind(std::string_view(word.data(), word.size())));
  return success();
}

ParseResult bagua::parseNames(AsmParser &parser, ArrayAttr &names) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    list.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  std::string single;
  if (succeeded(parser.parseOptionalString(&single)))
    list.push_back(StringAttr::get(parser.getContext(), single));
  else if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                          parseOne))
    return failure();
  names = ArrayAttr::get(parser.getContext(), list);
  return success();
}

void bagua::printNames(AsmPrinter &printer, ArrayAttr names) {
  if (names.size() == 1)
    printer << names[0];
  else
    printer << names;
}

ParseResult bagua::parseLayout(AsmParser &parser, LayoutAttr &layout) {
  return parser.parseCustomAttributeWithFallback(layout);
}

ParseResult bagua::parseSchedule(OpAsmParser &parser, OperationState &result,
                                 StringRef streamName, StringRef placesName) {
  if (succeeded(parser.parseOptionalKeyword("on"))) {
    StringAttr stream;
    if (parseStream(parser, stream))
      return failure();
    result.addAttribute(streamName, stream);
  }
  if (succeeded(parser.parseOptionalKeyword("at"))) {
    ArrayAttr places;
    if (parsePlaces(parser, places))
      return failure();
    result.addAttribute(placesName, places);
  }
  return success();
}

void bagua::printSchedule(OpAsmPrinter &printer, StringAttr stream,
                          ArrayAttr places) {
  if (stream) {
    printer << " on ";
    printStream(printer, stream);
  }
  if (places) {
    printer << " at ";
    printPlaces(printer, places);
  }
}

std::string bagua::shortestFloat(float value) {
  for (int digits = 1; digits <= 9; ++digits) {
    char text[32];
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtof(text, nullptr) != value)
      continue;
    std::string result = text;
    if (result.find_first_of(".n") == std::string::npos) {
      size_t exponent = std::min(result.find('e'), result.size());
      result.insert(exponent, ".0");
    }
    return result;
  }
  llvm_unreachable("nine digits tell all float32 values apart");
}

ParseResult bagua::parseF32(OpAsmParser &parser, FloatAttr &value) {
  double number;
  if (parser.parseFloat(number))
    return failure();
  value = parser.getBuilder().getF32FloatAttr(static_cast<float>(number));
  return success();
}

//===----------------------------------------------------------------------===//
// ReduceKindAttr, UpdateRuleAttr, BiasCorrectionAttr, AxesAttr
//===----------------------------------------------------------------------===//

ParseResult bagua::parseBiasCorrection(AsmParser &parser,
                                       BiasCorrectionAttr &correction) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::string_view text(word.data(), word.size());
  std::optional<BiasCorrection> value = parseWord<BiasCorrection>(text);
  if (!value)
    return parser.emitError(location) << wrongWord<BiasCorrection>(text);
  correction = BiasCorrectionAttr::get(parser.getContext(), *value);
  return success();
}

Attribute UpdateRuleAttr::parse(AsmParser &parser, Type) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return nullptr;
  const UpdateRow *row = findUpdateRule(std::string_view(word));
  if (!row) {
    parser.emitError(location)
        << "expected the word of an update rule, found '" << word << "'";
    return nullptr;
  }
  return get(parser.getContext(), row->rule);
}

void UpdateRuleAttr::print(AsmPrinter &printer) const {
  printer << ' ' << rowOf(getValue()).word;
}

Attribute BiasCorrectionAttr::parse(AsmParser &parser, Type) {
  BiasCorrectionAttr correction;
  if (parseBiasCorrection(parser, correction))
    return nullptr;
  return correction;
}

void BiasCorrectionAttr::print(AsmPrinter &printer) const {
  printer << ' ' << wordOf(getValue());
}

Attribute ReduceKindAttr::parse(AsmParser &parser, Type) {
  ReduceKindAttr kind;
  if (parser.parseLess() || parseKind(parser, kind) || parser.parseGreater())
    return nullptr;
  return kind;
}

void ReduceKindAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printKind(printer, *this);
  printer << '>';
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  AxesAttr axes;
  if (parser.parseLess() || parseAxes(parser, axes) || parser.parseGreater())
    return nullptr;
  return axes;
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxes(printer, *this);
  printer << '>';
}

LogicalResult AxesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names) {
  llvm::StringSet<> seen;
  for (StringAttr name : names)
    if (!seen.insert(name.getValue()).second)
      return emitError() << "expected each axis once, found '"
                         << name.getValue() << "' twice";
  return success();
}

bool AxesAttr::contains(StringRef axis) const {
  return llvm::any_of(getNames(),
                      [&](StringAttr name) { return name.getValue() == axis; });
}

std::string AxesAttr::str() const {
  std::string text = "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(getNames(), stream,
                        [&](StringAttr name) { stream << name.getValue(); });
  stream << ']';
  return text;
}

//===----------------------------------------------------------------------===//
// AxisAttr, DeviceAttr, HostAttr
//===----------------------------------------------------------------------===//

/// Measured tables: for each name a list of bytes, ns, bytes, ns, ...
static LogicalResult verifyTable(function_ref<InFlightDiagnostic()> emitError,
                                 DictionaryAttr table) {
  for (NamedAttribute entry : table) {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(entry.getValue());
    if (!numbers || numbers.size() % 2 != 0 || numbers.empty())
      return emitError() << "expected measured times of '"
                         << entry.getName().getValue()
                         << "' as array<i64: bytes, ns, ...>, found "
                         << entry.getValue();
    for (int64_t i = 2; i < numbers.size(); i += 2)
      if (numbers[i] <= numbers[i - 2])
        return emitError() << "expected ascending bytes in the measured times "
                              "of '"
                           << entry.getName().getValue() << "', found "
                           << numbers[i] << " after " << numbers[i - 2];
  }
  return success();
}

LogicalResult AxisAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef name, int64_t size, int64_t latency,
                               int64_t bandwidth, int64_t sharers,
                               FloatAttr overlappedRate, int64_t overlapped,
                               FloatAttr concurrentRate, int64_t gap,
                               StringAttr, DictionaryAttr table) {
  if (!isBareWord(name))
    return emitError() << "expected an axis name of letters, digits, '_', '$' "
                          "and '.', found '"
                       << name << "'";
  auto expect = [&](StringRef what, int64_t least, int64_t found) {
    if (found >= least)
      return success();
    return LogicalResult(emitError()
                         << "expected " << what << " of axis '" << name
                         << "' of at least " << least << ", found " << found);
  };
  if (failed(expect("size", 1, size)) ||
      failed(expect("latency_ns", 0, latency)) ||
      failed(expect("bytes_per_s", 1, bandwidth)) ||
      failed(expect("sharers", 1, sharers)) ||
      failed(expect("overlapped_ns", 0, overlapped)) ||
      failed(expect("gap_ns", 0, gap)))
    return failure();
  auto expectPart = [&](StringRef what, FloatAttr found) {
    if (!found ||
        (found.getValueAsDouble() > 0 && found.getValueAsDouble() <= 1))
      return success();
    return LogicalResult(emitError() << "expected " << what << " of axis '"
                                     << name << "' over 0 and at most 1, found "
                                     << found.getValueAsDouble());
  };
  if (failed(expectPart("overlapped_rate", overlappedRate)) ||
      failed(expectPart("concurrent_rate", concurrentRate)))
    return failure();
  return table ? verifyTable(emitError, table) : success();
}

LogicalResult DeviceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t flopPerS, int64_t bytesPerS,
                                 int64_t launchNs, int64_t codecBytesPerS,
                                 FloatAttr slowdown) {
  if (flopPerS < 1 || bytesPerS < 1)
    return emitError() << "expected flop_per_s and bytes_per_s of at least 1, "
                          "found "
                       << flopPerS << " and " << bytesPerS;
  if (launchNs < 0 || codecBytesPerS < 0)
    return emitError() << "expected launch_ns and codec_bytes_per_s of at "
                          "least 0, found "
                       << launchNs << " and " << codecBytesPerS;
  if (slowdown && slowdown.getValueAsDouble() < 1.0)
    return emitError()
           << "expected communication_slowdown of at least 1, found "
           << slowdown.getValueAsDouble();
  return success();
}

LogicalResult HostAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               DictionaryAttr times) {
  std::vector<std::string_view> works = updateWorks();
  works.emplace_back("linear");
  llvm::sort(works);
  for (NamedAttribute entry : times)
    if (StringRef work = entry.getName().getValue();
        !llvm::is_contained(works, std::string_view(work)))
      return emitError() << "expected times of "
                         << joinWords(works, ", ", " and ") << ", found '"
                         << work << "'";
  if (!times.contains("linear"))
    return emitError() << "expected times of 'linear', by which all other work "
                          "goes, found none";
  return verifyTable(emitError, times);
}

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
                    parser.getContext(), entries);
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
  std::string name;
  AxesAttr varies;
  PlaceAttr place;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&word) ||
      parser.parseString(&name))
    return nullptr;
  std::optional<Role> role = symbolizeRole(word);
  if (!role) {
    parser.emitError(location) << "expected a role, found '" << word << "'";
    return nullptr;
  }
  if (succeeded(parser.parseOptionalKeyword("varies")) &&
      parseAxes(parser, varies))
    return nullptr;
  if (succeeded(parser.parseOptionalKeyword("at")) && parsePlace(parser, place))
    return nullptr;
  if (parser.parseGreater())
    return nullptr;
  MLIRContext *context = parser.getContext();
  return get(context, *role, StringAttr::get(context, name), varies, place);
}

void ArgumentAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyRole(getRole()) << ' ' << getName();
  if (getVaries()) {
    printer << " varies ";
    printAxes(printer, getVaries());
  }
  if (getPlace()) {
    printer << " at ";
    printPlace(printer, getPlace());
  }
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

//===----------------------------------------------------------------------===//
// RelationAttr
//===----------------------------------------------------------------------===//

Attribute RelationAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  std::string tensor, of;
  AxesAttr over;
  ReduceKindAttr kind = ReduceKindAttr::get(context, ReduceKind::Sum);
  int64_t split = 0, concat = 0;
  if (parser.parseLess() || parser.parseString(&tensor) || parser.parseEqual())
    return nullptr;
  RelationKind relation = RelationKind::Reduced;
  for (RelationKind moved :
       {RelationKind::AllToAll, RelationKind::Gathered, RelationKind::Permuted})
    if (succeeded(parser.parseOptionalKeyword(stringifyRelationKind(moved))))
      relation = moved;
  if ((relation == RelationKind::Reduced && parseKind(parser, kind)) ||
      parser.parseString(&of) || parser.parseKeyword("over") ||
      parseAxes(parser, over))
    return nullptr;
  if (relation == RelationKind::Reduced &&
      succeeded(parser.parseOptionalKeyword("split"))) {
    relation = RelationKind::Scattered;
    if (parser.parseInteger(split))
      return nullptr;
  }
  if (relation == RelationKind::AllToAll &&
      (parser.parseKeyword("split") || parser.parseInteger(split)))
    return nullptr;
  if ((relation == RelationKind::AllToAll ||
       relation == RelationKind::Gathered) &&
      (parser.parseKeyword("concat") || parser.parseInteger(concat)))
    return nullptr;
  auto pairs = DenseI64ArrayAttr::get(context, {});
  if (relation == RelationKind::Permuted &&
      (parser.parseKeyword("pairs") || parsePairs(parser, pairs)))
    return nullptr;
  if (parser.parseGreater())
    return nullptr;
  return get(context, StringAttr::get(context, tensor),
             StringAttr::get(context, of), relation, kind.getValue(), over,
             split, concat, pairs);
}

void RelationAttr::print(AsmPrinter &printer) const {
  RelationKind relation = getRelation();
  printer << '<' << getTensor() << " = ";
  if (relation == RelationKind::Reduced || relation == RelationKind::Scattered)
    printKind(printer, ReduceKindAttr::get(getContext(), getKind()));
  else
    printer << stringifyRelationKind(relation);
  printer << ' ' << getOf() << " over ";
  printAxes(printer, getOver());
  if (relation == RelationKind::AllToAll || relation == RelationKind::Scattered)
    printer << " split " << getSplit();
  if (relation == RelationKind::AllToAll || relation == RelationKind::Gathered)
    printer << " concat " << getConcat();
  if (relation == RelationKind::Permuted) {
    printer << " pairs ";
    printPairs(printer, getPairs());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// UpdateAttr
//===----------------------------------------------------------------------===//

Attribute UpdateAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  ArrayAttr states;
  StringRef word;
  if (parser.parseLess() || parser.parseAttribute(states) ||
      parser.parseKeyword("by"))
    return nullptr;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return nullptr;
  const UpdateRow *row = findUpdateRule(std::string_view(word));
  if (!row || !row->isPromised) {
    parser.emitError(location)
        << "expected " << joinWords(promisedUpdates(), ", ", " or ")
        << ", found " << word;
    return nullptr;
  }
  auto constants = llvm::dyn_cast_or_null<DenseF32ArrayAttr>(
      DenseF32ArrayAttr::parse(parser, Type()));
  if (!constants)
    return nullptr;
  auto correction = BiasCorrectionAttr::get(context, BiasCorrection::None);
  if (row->correctsBias && parseBiasCorrection(parser, correction))
    return nullptr;
  Attribute lr;
  ReduceKindAttr kind;
  std::string of;
  AxesAttr over;
  if (parser.parseKeyword("lr") || parser.parseAttribute(lr) ||
      parser.parseKeyword("grad") || parseKind(parser, kind) ||
      parser.parseString(&of) || parser.parseKeyword("over") ||
      parseAxes(parser, over) || parser.parseGreater())
    return nullptr;
  return getChecked([&] { return parser.emitError(location); }, context, states,
                    row->rule, constants, correction.getValue(), lr,
                    StringAttr::get(context, of), kind.getValue(), over);
}

LogicalResult UpdateAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayAttr states, UpdateRule rule,
                                 DenseF32ArrayAttr constants,
                                 BiasCorrection correction, Attribute lr,
                                 StringAttr, ReduceKind, AxesAttr) {
  if (!llvm::all_of(states, llvm::IsaPred<StringAttr>))
    return emitError() << "expected the names of states, found " << states;
  std::string wrong = checkUpdate(
      rowOf(rule), states.size(),
      {constants.asArrayRef().begin(), constants.asArrayRef().end()},
      correction);
  if (!wrong.empty())
    return emitError() << wrong;
  auto value = llvm::dyn_cast<FloatAttr>(lr);
  if (!llvm::isa<StringAttr>(lr) && !(value && value.getType().isF32()))
    return emitError() << "expected a learning rate of type f32 or the name of "
                          "an input, found "
                       << lr;
  return success();
}

void UpdateAttr::print(AsmPrinter &printer) const {
  printer << '<' << getStates() << " by " << rowOf(getRule()).word << " [";
  // The attribute's own form prints too few digits.
  llvm::interleaveComma(
      getConstants().asArrayRef(), printer,
      [&](float constant) { printer << shortestFloat(constant); });
  printer << ']';
  if (rowOf(getRule()).correctsBias)
    printer << ' ' << wordOf(getBiasCorrection());
  printer << " lr " << getLr() << " grad ";
  printKind(printer, ReduceKindAttr::get(getContext(), getKind()));
  printer << ' ' << getOf() << " over ";
  printAxes(printer, getOver());
  printer << '>';
}
