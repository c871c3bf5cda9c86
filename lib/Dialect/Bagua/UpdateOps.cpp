//===- UpdateOps.cpp - Structured arithmetic ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and verifiers of linear, sgd, adam and PowerSGD's products.
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
    if (parser.parseFloat(value))
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
  std::optional<OpAsmParser::UnresolvedOperand> lr;
};
} // namespace

/// `grad %g lr (%lr | 0.1) (on ..)? (at ..)? : type (, type of %lr)?`
static ParseResult parseUpdateTail(OpAsmParser &parser, OperationState &result,
                                   UpdateSyntax &syntax) {
  if (parser.parseKeyword("grad") || parser.parseOperand(syntax.grad) ||
      parser.parseKeyword("lr"))
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
      parser.resolveOperand(syntax.grad, type, result.operands))
    return failure();
  if (syntax.lr && (parser.parseComma() || parser.parseType(lrType) ||
                    parser.resolveOperand(*syntax.lr, lrType, result.operands)))
    return failure();
  result.addTypes(SmallVector<Type>(syntax.states.size(), type));
  return success();
}

static void printUpdateTail(OpAsmPrinter &printer, Operation *op, Value grad,
                            Value lr, FloatAttr lrValue, StringAttr stream,
                            ArrayAttr places, ArrayRef<StringRef> printed) {
  printer << " grad " << grad << " lr ";
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
