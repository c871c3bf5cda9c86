//===- BaguaAttributes.cpp - Attributes of the bagua dialect --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and invariants of axes, of a cluster's parts, and of what a contract
// says.
//
//===----------------------------------------------------------------------===//
#include "AssemblyFormat.h"

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

static bool isBareWord(StringRef word) {
  return !word.empty() && (llvm::isAlpha(word[0]) || word[0] == '_') &&
         llvm::all_of(word, [](char c) {
           return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
         });
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
// RelationAttr
//===----------------------------------------------------------------------===//

static bool cuts(RelationKind relation) {
  return relation == RelationKind::AllToAll ||
         relation == RelationKind::Scattered;
}

static bool joins(RelationKind relation) {
  return relation == RelationKind::AllToAll ||
         relation == RelationKind::Gathered;
}

Attribute RelationAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  std::string tensor, of;
  AxesAttr over = AxesAttr::get(context, {});
  ReduceKindAttr kind = ReduceKindAttr::get(context, ReduceKind::Sum);
  int64_t split = 0, concat = 0;
  auto pairs = DenseI64ArrayAttr::get(context, {});
  FloatAttr coefficient;
  if (parser.parseLess() || parser.parseString(&tensor) || parser.parseEqual())
    return nullptr;
  RelationKind relation = RelationKind::Reduced;
  for (RelationKind other :
       {RelationKind::AllToAll, RelationKind::Gathered, RelationKind::Permuted,
        RelationKind::Scaled, RelationKind::Broadcast})
    if (succeeded(parser.parseOptionalKeyword(stringifyRelationKind(other))))
      relation = other;
  if ((relation == RelationKind::Reduced && parseKind(parser, kind)) ||
      parser.parseString(&of))
    return nullptr;
  if (relation == RelationKind::Scaled) {
    double value;
    if (parser.parseKeyword("by") || parseNumber(parser, value))
      return nullptr;
    coefficient = Builder(context).getF32FloatAttr(static_cast<float>(value));
  } else if (parser.parseKeyword("over") || parseAxes(parser, over)) {
    return nullptr;
  }
  if (relation == RelationKind::Reduced &&
      succeeded(parser.parseOptionalKeyword("split"))) {
    relation = RelationKind::Scattered;
    if (parser.parseInteger(split))
      return nullptr;
  }
  if ((relation == RelationKind::AllToAll &&
       (parser.parseKeyword("split") || parser.parseInteger(split))) ||
      (joins(relation) &&
       (parser.parseKeyword("concat") || parser.parseInteger(concat))) ||
      (relation == RelationKind::Permuted &&
       (parser.parseKeyword("pairs") || parsePairs(parser, pairs))) ||
      parser.parseGreater())
    return nullptr;
  return get(context, StringAttr::get(context, tensor),
             StringAttr::get(context, of), relation, kind.getValue(), over,
             split, concat, pairs, coefficient);
}

void RelationAttr::print(AsmPrinter &printer) const {
  RelationKind relation = getRelation();
  printer << '<' << getTensor() << " = ";
  if (relation == RelationKind::Reduced || relation == RelationKind::Scattered)
    printKind(printer, ReduceKindAttr::get(getContext(), getKind()));
  else
    printer << stringifyRelationKind(relation);
  printer << ' ' << getOf();
  if (relation == RelationKind::Scaled) {
    printer << " by "
            << shortestFloat(getCoefficient().getValue().convertToFloat())
            << '>';
    return;
  }
  printer << " over ";
  printAxes(printer, getOver());
  if (cuts(relation))
    printer << " split " << getSplit();
  if (joins(relation))
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
