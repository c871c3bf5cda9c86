//===- AssemblyFormat.cpp - Pieces of syntax ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What several ops and attributes write alike.
//
//===----------------------------------------------------------------------===//
#include "AssemblyFormat.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace bagua;

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
                              parser.getContext(), ArrayRef<StringAttr>(names));
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

ParseResult bagua::parseArgumentInfo(AsmParser &parser, Role role,
                                     ArgumentAttr &info) {
  MLIRContext *context = parser.getContext();
  std::string name, counted;
  AxesAttr varies;
  PlaceAttr place;
  if (parser.parseString(&name))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("varies")) &&
      parseAxes(parser, varies))
    return failure();
  bool isCounted = succeeded(parser.parseOptionalKeyword("counted"));
  if (isCounted && parser.parseString(&counted))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("at")) && parsePlace(parser, place))
    return failure();
  info = ArgumentAttr::get(
      context, role, StringAttr::get(context, name), varies,
      isCounted ? StringAttr::get(context, counted) : nullptr, place);
  return success();
}

void bagua::printArgumentInfo(AsmPrinter &printer, ArgumentAttr info) {
  printer << info.getName();
  if (info.getVaries()) {
    printer << " varies ";
    printAxes(printer, info.getVaries());
  }
  if (info.getCounted())
    printer << " counted " << info.getCounted();
  if (info.getPlace()) {
    printer << " at ";
    printPlace(printer, info.getPlace());
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

ParseResult bagua::parseNumber(AsmParser &parser, double &number) {
  SMLoc location = parser.getCurrentLocation();
  const char *text = location.getPointer();
  if (*text == '-')
    ++text;
  if (text[0] == '0' && text[1] == 'x')
    return parser.emitError(location)
           << "expected a decimal number, found a hexadecimal one";
  return parser.parseFloat(number);
}

ParseResult bagua::parseF32(OpAsmParser &parser, FloatAttr &value) {
  double number;
  SMLoc location = parser.getCurrentLocation();
  if (parseNumber(parser, number))
    return failure();
  const auto rounded = static_cast<float>(number);
  if (!std::isfinite(rounded))
    return parser.emitError(location) << "expected a number that float32 has";
  value = parser.getBuilder().getF32FloatAttr(rounded);
  return success();
}
