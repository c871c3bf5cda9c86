//===- BaguaEncodings.cpp - The attribute of encodings --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and invariants of what follows the word of a row.
//
//===----------------------------------------------------------------------===//
#include "AssemblyFormat.h"

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/DialectImplementation.h"

#include <charconv>

using namespace mlir;
using namespace bagua;

std::optional<DataType> bagua::dataTypeOf(Type elementType) {
  // Flags are bytes of 0 or 1, unsigned integers have the bits of signed ones.
  if (auto integer = dyn_cast<IntegerType>(elementType))
    elementType = IntegerType::get(
        integer.getContext(), integer.getWidth() == 1 ? 8 : integer.getWidth());
  std::string text;
  llvm::raw_string_ostream(text) << elementType;
  return parseDataType(text);
}

bool EncodingAttr::supports(Type elementType) const {
  std::optional<DataType> type = dataTypeOf(elementType);
  return type && getRow().supports(*type);
}

LogicalResult EncodingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   Encoding encoding) {
  const EncodingRow *row = findEncoding(encoding.id);
  if (!row || row->castTo)
    return emitError() << "expected an encoding that is no cast, found "
                       << encodingText(encoding);
  if (std::string wrong = checkParameters(encoding); !wrong.empty())
    return emitError() << wrong;
  return success();
}

/// `NAME = NUMBER`; a whole number may stand for any.
static ParseResult parseParameter(AsmParser &parser, const EncodingRow &row,
                                  Encoding &encoding,
                                  SmallVectorImpl<bool> &isSet) {
  StringRef name;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&name) || parser.parseEqual())
    return failure();
  for (auto [index, parameter] : llvm::enumerate(row.parameters)) {
    if (name != StringRef(parameter.name) || isSet[index])
      continue;
    isSet[index] = true;
    int64_t whole = 0;
    OptionalParseResult integer = parser.parseOptionalInteger(whole);
    if (integer.has_value()) {
      encoding.parameters[index] = static_cast<double>(whole);
      return *integer;
    }
    return parseNumber(parser, encoding.parameters[index]);
  }
  return parser.emitError(location)
         << "expected each parameter of " << StringRef(row.word)
         << " once, found '" << name << "'";
}

Attribute EncodingAttr::parseParameters(AsmParser &parser,
                                        const EncodingRow &row) {
  SMLoc location = parser.getCurrentLocation();
  Encoding encoding;
  encoding.id = row.id;
  SmallVector<bool> isSet(row.parameters.size(), false);
  if (succeeded(parser.parseOptionalLess()) &&
      (parser.parseCommaSeparatedList(
           [&] { return parseParameter(parser, row, encoding, isSet); }) ||
       parser.parseGreater()))
    return nullptr;
  for (auto [index, parameter] : llvm::enumerate(row.parameters)) {
    if (isSet[index])
      continue;
    if (!parameter.otherwise) {
      parser.emitError(location)
          << "expected " << StringRef(parameter.name) << " of "
          << StringRef(row.word) << ", found none";
      return nullptr;
    }
    encoding.parameters[index] = *parameter.otherwise;
  }
  return getChecked([&] { return parser.emitError(location); },
                    parser.getContext(), encoding);
}

/// The shortest literal that MLIR reads as the same number: `1.0e-07`.
static std::string floatLiteral(double value) {
  char text[32];
  std::string literal(
      text, std::to_chars(std::begin(text), std::end(text), value).ptr);
  if (literal.find('.') == std::string::npos)
    literal.insert(std::min(literal.find('e'), literal.size()), ".0");
  return literal;
}

void EncodingAttr::printWithWord(AsmPrinter &printer) const {
  const EncodingRow &row = getRow();
  printer << StringRef(row.word);
  StringRef separator = "<";
  for (auto [index, parameter] : llvm::enumerate(row.parameters)) {
    double value = getEncoding().parameters[index];
    if (parameter.otherwise == value)
      continue;
    printer << separator << StringRef(parameter.name) << " = ";
    if (parameter.isWhole)
      printer << getEncoding().whole(index);
    else
      printer << floatLiteral(value);
    separator = ", ";
  }
  if (separator != "<")
    printer << '>';
}
