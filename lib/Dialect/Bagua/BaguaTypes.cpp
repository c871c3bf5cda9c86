//===- BaguaTypes.cpp - Types of the bagua dialect ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and invariants of encoded types, and helpers on tensor layouts.
//
//===----------------------------------------------------------------------===//
#include "AssemblyFormat.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bagua;

#define GET_TYPEDEF_CLASSES
#include "bagua/Dialect/Bagua/BaguaTypes.cpp.inc"

void BaguaDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "bagua/Dialect/Bagua/BaguaTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

LayoutAttr bagua::getLayout(RankedTensorType type) {
  return dyn_cast_or_null<LayoutAttr>(type.getEncoding());
}

RankedTensorType bagua::withLayout(RankedTensorType type, LayoutAttr layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

RankedTensorType bagua::pushEntry(RankedTensorType type, LayoutEntry entry) {
  SmallVector<LayoutEntry> entries;
  if (LayoutAttr layout = getLayout(type))
    entries.append(layout.getEntries().begin(), layout.getEntries().end());
  entries.push_back(entry);
  return withLayout(type, LayoutAttr::get(type.getContext(), entries));
}

RankedTensorType bagua::popEntry(RankedTensorType type, LayoutEntry entry) {
  LayoutAttr layout = getLayout(type);
  if (!layout || !(layout.getEntries().back() == entry))
    return nullptr;
  ArrayRef<LayoutEntry> rest = layout.getEntries().drop_back();
  return withLayout(
      type, rest.empty() ? nullptr : LayoutAttr::get(type.getContext(), rest));
}

RankedTensorType bagua::logicalTensor(Type type) {
  auto encoded = dyn_cast<EncodedType>(type);
  return encoded ? encoded.getTensor() : cast<RankedTensorType>(type);
}

bool bagua::isCutOver(Type type, AxesAttr over) {
  LayoutAttr layout = getLayout(logicalTensor(type));
  if (!layout)
    return false;
  return llvm::any_of(layout.getEntries(), [&](const LayoutEntry &entry) {
    if (entry.kind == LayoutEntry::Kind::Server)
      return false;
    return llvm::any_of(entry.getAxes().getNames(),
                        [&](StringAttr name) { return over.contains(name); });
  });
}

int64_t bagua::getElementCount(RankedTensorType type) {
  return type.getNumElements();
}

int64_t bagua::getElementBytes(Type elementType) {
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}

std::string bagua::gradientName(StringRef param) {
  return (param + ".grad").str();
}

//===----------------------------------------------------------------------===//
// EncodedType
//===----------------------------------------------------------------------===//

EncodingAttr EncodedType::getEncodingAttr() const {
  return llvm::cast<EncodingAttr>(getCodec());
}

Type EncodedType::parse(AsmParser &parser) {
  RankedTensorType tensor;
  Attribute codec;
  AxesAttr parts, terms;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseType(tensor) || parser.parseComma() ||
      parser.parseAttribute(codec))
    return nullptr;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc wordLocation = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return nullptr;
    if (word != "parts" && word != "terms") {
      parser.emitError(wordLocation)
          << "expected 'parts' or 'terms', found '" << word << "'";
      return nullptr;
    }
    if (parseAxes(parser, word == "parts" ? parts : terms))
      return nullptr;
  }
  if (parser.parseGreater())
    return nullptr;
  return getChecked([&] { return parser.emitError(location); },
                    parser.getContext(), tensor, codec, parts, terms);
}

void EncodedType::print(AsmPrinter &printer) const {
  printer << '<' << getTensor() << ", " << getCodec();
  if (getParts()) {
    printer << ", parts ";
    printAxes(printer, getParts());
  }
  if (getTerms()) {
    printer << ", terms ";
    printAxes(printer, getTerms());
  }
  printer << '>';
}

LogicalResult EncodedType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  RankedTensorType tensor, Attribute codec,
                                  AxesAttr parts, AxesAttr terms) {
  auto encoding = llvm::dyn_cast<EncodingAttr>(codec);
  if (!encoding)
    return emitError() << "expected a codec, found " << codec;
  if (!encoding.supports(tensor.getElementType()))
    return emitError() << "codec " << codec << " doesn't support elements of "
                       << tensor.getElementType();
  return success();
}
