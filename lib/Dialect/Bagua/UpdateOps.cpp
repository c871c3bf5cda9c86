//===- UpdateOps.cpp - Structured arithmetic ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and verifiers of linear, of updates and their norms, and of PowerSGD's
// products.
//
//===----------------------------------------------------------------------===//
#include "AssemblyFormat.h"

#include "bagua/Dialect/Bagua/Meaning.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bagua;

//===----------------------------------------------------------------------===//
// LinearOp
//===----------------------------------------------------------------------===//

ParseResult LinearOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<float> coefficients;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  Type type;
  auto parseOne = [&]() -> ParseResult {
    double value;
    if (parseNumber(parser, value))
      return failure();
    coefficients.push_back(static_cast<float>(value));
    return success();
  };
  SMLoc location;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne) ||
      parser.getCurrentLocation(&location) ||
      parser.parseOperandList(operands, AsmParser::Delimiter::Paren) ||
      parseSchedule(parser, result, "stream", "places") ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type))
    return failure();
  result.addAttribute("coefficients", DenseF32ArrayAttr::get(
                                          parser.getContext(), coefficients));
  result.addTypes(type);
  return parser.resolveOperands(operands, type, result.operands);
}

void LinearOp::print(OpAsmPrinter &printer) {
  printer << " [";
  llvm::interleaveComma(getCoefficients(), printer,
                        [&](float value) { printer << shortestFloat(value); });
  printer << "] (" << getInputs() << ')';
  printSchedule(printer, getStreamAttr(), getPlacesAttr());
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"coefficients", "stream", "places"});
  printer << " : " << getOutput().getType();
}

LogicalResult LinearOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected at least one operand");
  if (getCoefficients().size() != getInputs().size())
    return emitOpError() << "expected one coefficient for each of "
                         << getInputs().size() << " operands, found "
                         << getCoefficients().size();
  for (float value : getCoefficients())
    if (!std::isfinite(value))
      return emitOpError("expected finite coefficients");
  for (Type type : getInputs().getTypes())
    if (type != getOutput().getType())
      return emitOpError() << "expected operands of the result's type "
                           << getOutput().getType() << ", found " << type;
  return success();
}

std::optional<InstructionFields> LinearOp::getInstruction() {
  InstructionFields fields;
  fields.constants.assign(getCoefficients().begin(), getCoefficients().end());
  return fields;
}

LogicalResult LinearOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  results.push_back(joinAll(context, operands));
  return success();
}

void LinearOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineLinear(*this);
}

//===----------------------------------------------------------------------===//
// SgdOp, AdamOp
//===----------------------------------------------------------------------===//

namespace {
/// The parts of an update's syntax, while it is read.
struct UpdateSyntax {
  SmallVector<OpAsmParser::UnresolvedOperand> states;
  OpAsmParser::UnresolvedOperand grad;
  SmallVector<OpAsmParser::UnresolvedOperand> norms;
  std::optional<OpAsmParser::UnresolvedOperand> lr;
};
} // namespace

/// `grad %g (norms %a, %b)? lr (%lr | 0.1) (on ..)? (at ..)? : type (, type of
/// %lr)?`
static ParseResult parseUpdateTail(OpAsmParser &parser, OperationState &result,
                                   UpdateSyntax &syntax) {
  if (parser.parseKeyword("grad") || parser.parseOperand(syntax.grad))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("norms")) &&
      parser.parseOperandList(syntax.norms))
    return failure();
  if (parser.parseKeyword("lr"))
    return failure();
  OpAsmParser::UnresolvedOperand lr;
  OptionalParseResult hasLr = parser.parseOptionalOperand(lr);
  if (hasLr.has_value()) {
    if (failed(*hasLr))
      return failure();
    syntax.lr = lr;
  } else {
    FloatAttr value;
    if (parseF32(parser, value))
      return failure();
    result.addAttribute("lr_value", value);
  }
  Type type, lrType;
  if (parseSchedule(parser, result, "stream", "places") ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(syntax.states, type, result.operands) ||
      parser.resolveOperand(syntax.grad, type, result.operands) ||
      parser.resolveOperands(
          syntax.norms,
          RankedTensorType::get({}, parser.getBuilder().getF32Type()),
          result.operands))
    return failure();
  if (syntax.lr && (parser.parseComma() || parser.parseType(lrType) ||
                    parser.resolveOperand(*syntax.lr, lrType, result.operands)))
    return failure();
  result.addTypes(SmallVector<Type>(syntax.states.size(), type));
  return success();
}

static void printUpdateTail(OpAsmPrinter &printer, Operation *op, Value grad,
                            Value lr, FloatAttr lrValue, StringAttr stream,
                            ArrayAttr places, ArrayRef<StringRef> printed,
                            ValueRange norms = {}) {
  printer << " grad " << grad;
  if (!norms.empty())
    printer << " norms " << norms;
  printer << " lr ";
  if (lr)
    printer << lr;
  else
    printer << shortestFloat(lrValue.getValue().convertToFloat());
  printSchedule(printer, stream, places);
  printer.printOptionalAttrDict(op->getAttrs(), printed);
  printer << " : " << grad.getType();
  if (lr)
    printer << ", " << lr.getType();
}

/// Checks states, constants and bias correction by the row.
static LogicalResult verifyRule(StepOpInterface op) {
  InstructionFields fields = *op.getInstruction();
  std::string wrong =
      checkUpdate(rowOf(*op.getUpdateRule()), op.getStateCount(),
                  {fields.constants.begin(), fields.constants.end()},
                  fields.biasCorrection);
  return wrong.empty() ? success() : op->emitOpError() << wrong;
}

static LogicalResult verifyUpdate(Operation *op, ValueRange states, Value grad,
                                  Value lr, FloatAttr lrValue) {
  if (bool(lr) == bool(lrValue))
    return op->emitOpError(
        "expected a learning rate, as a value or as an attribute");
  if (op->getNumResults() != states.size())
    return op->emitOpError()
           << "expected one result for each of " << states.size()
           << " states, found " << op->getNumResults();
  for (TypeRange types : {TypeRange(states), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (type != grad.getType())
        return op->emitOpError() << "expected states of the gradient's type "
                                 << grad.getType() << ", found " << type;
  return success();
}

ParseResult SgdOp::parse(OpAsmParser &parser, OperationState &result) {
  UpdateSyntax syntax;
  if (parser.parseOperandList(syntax.states, AsmParser::Delimiter::Paren))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("momentum"))) {
    FloatAttr momentum;
    if (parseF32(parser, momentum))
      return failure();
    result.addAttribute("momentum", momentum);
  }
  if (parseUpdateTail(parser, result, syntax))
    return failure();
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int>(syntax.states.size()), 1, syntax.lr ? 1 : 0};
  return success();
}

void SgdOp::print(OpAsmPrinter &printer) {
  printer << " (" << getStates() << ')';
  if (FloatAttr momentum = getMomentumAttr())
    printer << " momentum "
            << shortestFloat(momentum.getValue().convertToFloat());
  printUpdateTail(
      printer, *this, getGrad(), getLr(), getLrValueAttr(), getStreamAttr(),
      getPlacesAttr(),
      {"operandSegmentSizes", "lr_value", "momentum", "stream", "places"});
}

static std::optional<float> literalOf(FloatAttr rate) {
  return rate ? std::optional(rate.getValue().convertToFloat()) : std::nullopt;
}

LogicalResult SgdOp::verify() {
  if (failed(verifyUpdate(*this, getStates(), getGrad(), getLr(),
                          getLrValueAttr())))
    return failure();
  return verifyRule(*this);
}

std::optional<InstructionFields> SgdOp::getInstruction() {
  InstructionFields fields;
  if (FloatAttr momentum = getMomentumAttr())
    fields.constants = {momentum.getValue().convertToFloat()};
  fields.learningRate = literalOf(getLrValueAttr());
  return fields;
}

LogicalResult SgdOp::inferFacts(const FactContext &context,
                                ArrayRef<Facts> operands,
                                SmallVectorImpl<Facts> &results) {
  results.append(getNumResults(), inferMultilinear(context, operands));
  varyWhereStoredApart(*this, context, results);
  return success();
}

void SgdOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineUpdate(*this);
}

ParseResult AdamOp::parse(OpAsmParser &parser, OperationState &result) {
  UpdateSyntax syntax;
  if (parser.parseOperandList(syntax.states, AsmParser::Delimiter::Paren))
    return failure();
  auto parseNumber = [&](StringRef attribute) -> ParseResult {
    FloatAttr value;
    if (parseF32(parser, value))
      return failure();
    result.addAttribute(attribute, value);
    return success();
  };
  if (succeeded(parser.parseOptionalKeyword("betas")) &&
      (parser.parseLSquare() || parseNumber("beta1") || parser.parseComma() ||
       parseNumber("beta2") || parser.parseRSquare()))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("eps")) && parseNumber("eps"))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("decay")) && parseNumber("decay"))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("bias_correction"))) {
    BiasCorrectionAttr correction;
    if (parseBiasCorrection(parser, correction))
      return failure();
    result.addAttribute("bias_correction", correction);
  }
  if (parseUpdateTail(parser, result, syntax))
    return failure();
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int>(syntax.states.size()), 1, syntax.lr ? 1 : 0};
  return success();
}

void AdamOp::print(OpAsmPrinter &printer) {
  printer << " (" << getStates() << ')';
  auto number = [](const APFloat &value) {
    return shortestFloat(value.convertToFloat());
  };
  if (getBeta1().convertToFloat() != 0.9f ||
      getBeta2().convertToFloat() != 0.999f)
    printer << " betas [" << number(getBeta1()) << ", " << number(getBeta2())
            << ']';
  if (getEps().convertToFloat() != 1e-8f)
    printer << " eps " << number(getEps());
  if (getDecay().convertToFloat() != 0.0f)
    printer << " decay " << number(getDecay());
  if (getBiasCorrection() != BiasCorrection::Moments)
    printer << " bias_correction " << wordOf(getBiasCorrection());
  printUpdateTail(printer, *this, getGrad(), getLr(), getLrValueAttr(),
                  getStreamAttr(), getPlacesAttr(),
                  {"operandSegmentSizes", "lr_value", "beta1", "beta2", "eps",
                   "decay", "bias_correction", "stream", "places"});
}

LogicalResult AdamOp::verify() {
  if (failed(verifyUpdate(*this, getStates(), getGrad(), getLr(),
                          getLrValueAttr())))
    return failure();
  return verifyRule(*this);
}

std::optional<InstructionFields> AdamOp::getInstruction() {
  InstructionFields fields;
  for (const APFloat &constant : {getBeta1(), getBeta2(), getEps(), getDecay()})
    fields.constants.push_back(constant.convertToFloat());
  fields.biasCorrection = getBiasCorrection();
  fields.learningRate = literalOf(getLrValueAttr());
  return fields;
}

LogicalResult AdamOp::inferFacts(const FactContext &context,
                                 ArrayRef<Facts> operands,
                                 SmallVectorImpl<Facts> &results) {
  results.append(getNumResults(), varyUnlessReplicated(context, operands));
  varyWhereStoredApart(*this, context, results);
  return success();
}

void AdamOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineUpdate(*this);
}

LogicalResult AdamApplyOp::verify() { return verifyRule(*this); }

std::optional<InstructionFields> AdamApplyOp::getInstruction() {
  InstructionFields fields;
  fields.constants = {getEps().convertToFloat()};
  for (std::optional<APFloat> beta : {getBeta1(), getBeta2()})
    if (beta)
      fields.constants.push_back(beta->convertToFloat());
  fields.biasCorrection = getBiasCorrection();
  return fields;
}

LogicalResult AdamApplyOp::inferFacts(const FactContext &context,
                                      ArrayRef<Facts> operands,
                                      SmallVectorImpl<Facts> &results) {
  results.push_back(varyUnlessReplicated(context, operands));
  varyWhereStoredApart(*this, context, results);
  return success();
}

void AdamApplyOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineUpdate(*this);
}

//===----------------------------------------------------------------------===//
// SquaredNormOp
//===----------------------------------------------------------------------===//

LogicalResult SquaredNormOp::verify() {
  auto type = cast<RankedTensorType>(getInput().getType());
  bool isInParts = true;
  if (LayoutAttr layout = getLayout(type))
    for (const LayoutEntry &entry : layout.getEntries())
      isInParts &= entry.kind == LayoutEntry::Kind::Shard;
  if (isInParts && isa<FloatType>(type.getElementType()))
    return success();
  return emitOpError() << "expected floats, whole or in shards, found " << type;
}

LogicalResult SquaredNormOp::inferFacts(const FactContext &context,
                                        ArrayRef<Facts> operands,
                                        SmallVectorImpl<Facts> &results) {
  Facts facts = varyUnlessReplicated(context, operands);
  if (LayoutAttr layout =
          getLayout(cast<RankedTensorType>(getInput().getType())))
    for (const LayoutEntry &entry : layout.getEntries())
      for (auto [fact, isIn] :
           llvm::zip_equal(facts, context.maskOf(entry.getAxes())))
        if (isIn)
          fact = joinFact(fact, Fact::Addend);
  results.push_back(facts);
  return success();
}

void SquaredNormOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineSum(*this);
}

//===----------------------------------------------------------------------===//
// DirectionOp, UpdateOp
//===----------------------------------------------------------------------===//

/// `(%w, %m) by rule [0.9, 0.1] (bias)?`
static ParseResult parseRule(OpAsmParser &parser, OperationState &result,
                             UpdateSyntax &syntax) {
  StringRef word;
  SMLoc location;
  if (parser.parseOperandList(syntax.states, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("by") || parser.getCurrentLocation(&location) ||
      parser.parseKeyword(&word))
    return failure();
  const UpdateRow *row = findUpdateRule(std::string_view(word));
  if (!row)
    return parser.emitError(location)
           << "expected " << joinWords(generalUpdates(), ", ", " or ")
           << ", found '" << word << "'";
  MLIRContext *context = parser.getContext();
  result.addAttribute("rule", UpdateRuleAttr::get(context, row->rule));
  auto constants = llvm::dyn_cast_or_null<DenseF32ArrayAttr>(
      DenseF32ArrayAttr::parse(parser, Type()));
  if (!constants)
    return failure();
  result.addAttribute("constants", constants);
  BiasCorrectionAttr correction;
  if (row->correctsBias && parseBiasCorrection(parser, correction))
    return failure();
  if (correction)
    result.addAttribute("bias_correction", correction);
  return success();
}

static void printRule(OpAsmPrinter &printer, ValueRange states, UpdateRule rule,
                      ArrayRef<float> constants, BiasCorrection correction) {
  const UpdateRow &row = rowOf(rule);
  printer << " (" << states << ") by " << row.word << " [";
  llvm::interleaveComma(constants, printer, [&](float constant) {
    printer << shortestFloat(constant);
  });
  printer << ']';
  if (row.correctsBias)
    printer << ' ' << wordOf(correction);
}

static const StringRef kRuleAttributes[] = {"operandSegmentSizes",
                                            "rule",
                                            "constants",
                                            "bias_correction",
                                            "lr_value",
                                            "stream",
                                            "places"};

/// Checks that the rule has no op of its own, and its constants.
static LogicalResult verifyGeneral(Operation *op, UpdateRule rule,
                                   size_t states, ArrayRef<float> constants,
                                   BiasCorrection correction) {
  const UpdateRow &row = rowOf(rule);
  if (row.hasOwnOp())
    return op->emitOpError()
           << "expected " << joinWords(generalUpdates(), ", ", " or ")
           << ", found " << row.word << ", which has an op of its own";
  std::string wrong = checkUpdate(
      row, states, {constants.begin(), constants.end()}, correction);
  return wrong.empty() ? success() : op->emitOpError() << wrong;
}

ParseResult DirectionOp::parse(OpAsmParser &parser, OperationState &result) {
  UpdateSyntax syntax;
  Type type;
  if (parseRule(parser, result, syntax) || parser.parseKeyword("grad") ||
      parser.parseOperand(syntax.grad) ||
      parseSchedule(parser, result, "stream", "places") ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(syntax.states, type, result.operands) ||
      parser.resolveOperand(syntax.grad, type, result.operands))
    return failure();
  result.addTypes(type);
  return success();
}

void DirectionOp::print(OpAsmPrinter &printer) {
  printRule(printer, getStates(), getRule(), getConstants(),
            getBiasCorrection());
  printer << " grad " << getGrad();
  printSchedule(printer, getStreamAttr(), getPlacesAttr());
  printer.printOptionalAttrDict((*this)->getAttrs(), kRuleAttributes);
  printer << " : " << getGrad().getType();
}

LogicalResult DirectionOp::verify() {
  for (TypeRange types : {TypeRange((*this)->getOperandTypes()),
                          TypeRange((*this)->getResultTypes())})
    for (Type type : types)
      if (type != getGrad().getType())
        return emitOpError() << "expected states and a direction of the "
                                "gradient's type "
                             << getGrad().getType() << ", found " << type;
  if (!rowOf(getRule()).needsNorms())
    return emitOpError() << "expected an update that scales a direction by "
                            "norms, found "
                         << rowOf(getRule()).word;
  return verifyGeneral(*this, getRule(), getStates().size(), getConstants(),
                       getBiasCorrection());
}

std::optional<InstructionFields> DirectionOp::getInstruction() {
  InstructionFields fields;
  fields.constants.assign(getConstants().begin(), getConstants().end());
  fields.biasCorrection = getBiasCorrection();
  fields.rule = getRule();
  return fields;
}

ParseResult UpdateOp::parse(OpAsmParser &parser, OperationState &result) {
  UpdateSyntax syntax;
  if (parseRule(parser, result, syntax) ||
      parseUpdateTail(parser, result, syntax))
    return failure();
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int>(syntax.states.size()), 1,
      static_cast<int>(syntax.norms.size()), syntax.lr ? 1 : 0};
  return success();
}

void UpdateOp::print(OpAsmPrinter &printer) {
  printRule(printer, getStates(), getRule(), getConstants(),
            getBiasCorrection());
  printUpdateTail(printer, *this, getGrad(), getLr(), getLrValueAttr(),
                  getStreamAttr(), getPlacesAttr(), kRuleAttributes,
                  getNorms());
}

LogicalResult UpdateOp::verify() {
  if (failed(verifyUpdate(*this, getStates(), getGrad(), getLr(),
                          getLrValueAttr())) ||
      failed(verifyGeneral(*this, getRule(), getStates().size(), getConstants(),
                           getBiasCorrection())))
    return failure();
  const UpdateRow &row = rowOf(getRule());
  size_t expected = row.needsNorms() ? 2 : 0;
  if (getNorms().size() != expected)
    return emitOpError() << "expected " << expected
                         << " squared norms (of the param and of the "
                            "direction) for "
                         << row.word << ", found " << getNorms().size();
  auto type = cast<RankedTensorType>(getGrad().getType());
  LayoutAttr layout = getLayout(type);
  if (expected && layout &&
      llvm::any_of(layout.getEntries(), [](const LayoutEntry &entry) {
        return entry.kind != LayoutEntry::Kind::Shard;
      }))
    return emitOpError() << "expected states that are whole or in shards for "
                         << row.word << ", found " << type;
  return success();
}

std::optional<InstructionFields> UpdateOp::getInstruction() {
  InstructionFields fields;
  fields.constants.assign(getConstants().begin(), getConstants().end());
  fields.biasCorrection = getBiasCorrection();
  fields.rule = getRule();
  fields.learningRate = literalOf(getLrValueAttr());
  return fields;
}

LogicalResult UpdateOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  size_t firstNorm = getStates().size() + 1;
  for (const Facts &norm : operands.slice(firstNorm, getNorms().size()))
    for (auto [axis, fact] : llvm::enumerate(norm))
      if (isAddend(fact))
        return emitOpError()
               << "expected norms that have been summed over axis '"
               << context.axisNames[axis]
               << "', found one that is a sum over the parts along it";
  results.append(getNumResults(), varyUnlessReplicated(context, operands));
  varyWhereStoredApart(*this, context, results);
  return success();
}

void UpdateOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineUpdate(*this);
}

//===----------------------------------------------------------------------===//
// MatmulOp, OrthonormalizeOp
//===----------------------------------------------------------------------===//

/// Checks that a type is a matrix that is whole on every rank.
static LogicalResult verifyMatrix(Operation *op, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getRank() == 2 && !getLayout(tensor) &&
      isa<FloatType>(tensor.getElementType()))
    return success();
  return op->emitOpError()
         << "expected a matrix of floats without layout, found " << type;
}

LogicalResult MatmulOp::verify() {
  for (Value value : {getLhs(), getRhs(), getOutput()})
    if (failed(verifyMatrix(*this, value.getType())))
      return failure();
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  auto rhs = cast<RankedTensorType>(getRhs().getType());
  int64_t rows = lhs.getDimSize(getTransposeLhs() ? 1 : 0);
  int64_t inner = lhs.getDimSize(getTransposeLhs() ? 0 : 1);
  int64_t rhsInner = rhs.getDimSize(getTransposeRhs() ? 1 : 0);
  int64_t columns = rhs.getDimSize(getTransposeRhs() ? 0 : 1);
  if (inner != rhsInner)
    return emitOpError() << "expected inner dimensions to agree, found "
                         << inner << " and " << rhsInner;
  auto expected = RankedTensorType::get({rows, columns}, lhs.getElementType());
  if (expected != getOutput().getType())
    return emitOpError() << "expected result " << expected << ", found "
                         << getOutput().getType();
  return success();
}

LogicalResult MatmulOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  results.push_back(inferMultilinear(context, operands));
  return success();
}

void MatmulOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineOpaque(*this);
}

LogicalResult OrthonormalizeOp::verify() {
  return verifyMatrix(*this, getInput().getType());
}

LogicalResult OrthonormalizeOp::inferFacts(const FactContext &context,
                                           ArrayRef<Facts> operands,
                                           SmallVectorImpl<Facts> &results) {
  results.push_back(varyUnlessReplicated(context, operands));
  return success();
}

void OrthonormalizeOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineOpaque(*this);
}
