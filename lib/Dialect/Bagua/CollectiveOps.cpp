//===- CollectiveOps.cpp - Verifiers of communication ---------------------===//
//
// What each collective does to layouts and to encoded forms. Sizes that depend
// on the cluster are checked by the step.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Bagua.h"

using namespace mlir;
using namespace bagua;

/// A group has at least one axis; there are as many names as results.
static LogicalResult verifyCollective(Operation *op, AxesAttr over,
                                      ArrayAttr names) {
  if (over.empty())
    return op->emitOpError("expected at least one axis to communicate over");
  if (names && names.size() != op->getNumResults())
    return op->emitOpError()
           << "expected one name for each of " << op->getNumResults()
           << " results, found " << names.size();
  return success();
}

static LogicalResult expectResult(Operation *op, Type expected, Type found) {
  if (expected == found)
    return success();
  return op->emitOpError() << "expected result " << expected << ", found "
                           << found;
}

/// A mean of integers has no definition that rounds alike everywhere; encoded
/// values have no order.
static LogicalResult verifyKind(Operation *op, ReduceKindAttr kind,
                                Type value) {
  bool isMean = kind.getValue() == ReduceKind::Mean;
  if (isa<EncodedType>(value)) {
    if (isMean || kind.getValue() == ReduceKind::Sum)
      return success();
    std::string_view found = reduceKindName(kind.getValue());
    return op->emitOpError()
           << "expected kind sum or mean for encoded values, found "
           << StringRef(found.data(), found.size());
  }
  Type element = cast<RankedTensorType>(value).getElementType();
  if (!isMean || !isa<IntegerType>(element))
    return success();
  return op->emitOpError() << "expected kind sum, min or max for elements of "
                           << element << ", found mean";
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())) ||
      failed(verifyKind(*this, getKind(), getInput().getType())))
    return failure();
  if (getFeedback() && !getCodecAttr())
    return emitOpError("expected a codec with 'feedback'");
  auto encoded = dyn_cast<EncodedType>(getInput().getType());
  if (!encoded) {
    auto tensor = cast<RankedTensorType>(getInput().getType());
    if (getCodec() && !getCodec()->supports(tensor.getElementType()))
      return emitOpError() << "codec " << *getCodec()
                           << " doesn't support elements of "
                           << tensor.getElementType();
    return success();
  }
  CodecAttrInterface codec = encoded.getCodecInterface();
  if (getCodecAttr())
    return emitOpError("expected no codec for a value that is encoded");
  if (!codec.isLinear() && !codec.isMergeable())
    return emitOpError() << "expected a codec whose encoded values add or "
                            "merge, found "
                         << encoded.getCodec();
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())) ||
      failed(verifyKind(*this, getKind(), getInput().getType())))
    return failure();
  auto input = cast<RankedTensorType>(getInput().getType());
  return expectResult(*this, pushEntry(input, LayoutEntry::shard(getOver())),
                      getOutput().getType());
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())))
    return failure();
  LayoutEntry shard = LayoutEntry::shard(getOver());
  auto encoded = dyn_cast<EncodedType>(getInput().getType());
  RankedTensorType tensor = encoded
                                ? encoded.getTensor()
                                : cast<RankedTensorType>(getInput().getType());
  RankedTensorType gathered = popEntry(tensor, shard);
  if (!encoded) {
    if (!gathered)
      return emitOpError() << "expected an operand whose layout ends in shard "
                           << getOver().str() << ", found " << tensor;
    return expectResult(*this, gathered, getOutput().getType());
  }
  if (encoded.getParts() || encoded.getTerms())
    return emitOpError() << "expected an encoded value without parts and "
                            "terms, found "
                         << encoded;
  Type expected =
      gathered ? EncodedType::get(getContext(), gathered, encoded.getCodec(),
                                  getOver(), nullptr)
               : EncodedType::get(getContext(), tensor, encoded.getCodec(),
                                  nullptr, getOver());
  return expectResult(*this, expected, getOutput().getType());
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())) ||
      failed(verifyKind(*this, getKind(), getInput().getType())))
    return failure();
  auto input = cast<RankedTensorType>(getInput().getType());
  return expectResult(*this, pushEntry(input, LayoutEntry::root(getOver())),
                      getOutput().getType());
}

LogicalResult BroadcastOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())))
    return failure();
  auto input = cast<RankedTensorType>(getInput().getType());
  RankedTensorType whole = popEntry(input, LayoutEntry::root(getOver()));
  if (!whole)
    return emitOpError() << "expected an operand whose layout ends in root "
                         << getOver().str() << ", found " << input;
  return expectResult(*this, whole, getOutput().getType());
}

/// Tensors: two dimensions of a whole tensor; their sizes are the step's to
/// check.
static LogicalResult verifyTensorAllToAll(AllToAllOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  auto output = dyn_cast<RankedTensorType>(op.getOutput().getType());
  if (!op.getSplitDim() || !op.getConcatDim())
    return op.emitOpError("expected 'split' and 'concat' for a tensor");
  if (getLayout(input))
    return op.emitOpError()
           << "expected a tensor without layout, found " << input;
  for (int64_t dimension : {*op.getSplitDim(), *op.getConcatDim()})
    if (dimension >= input.getRank())
      return op.emitOpError() << "expected a dimension below "
                              << input.getRank() << ", found " << dimension;
  if (!output || output.getElementType() != input.getElementType())
    return op.emitOpError()
           << "expected a result of elements of " << input.getElementType()
           << ", found " << op.getOutput().getType();
  return success();
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())))
    return failure();
  auto encoded = dyn_cast<EncodedType>(getInput().getType());
  if (!encoded)
    return verifyTensorAllToAll(*this);
  if (getSplitDim())
    return emitOpError("expected no 'split' for an encoded value");
  if (encoded.getParts() != getOver() || encoded.getTerms())
    return emitOpError() << "expected an encoded value in parts "
                         << getOver().str() << ", found " << encoded;
  RankedTensorType part =
      pushEntry(encoded.getTensor(), LayoutEntry::shard(getOver()));
  return expectResult(*this,
                      EncodedType::get(getContext(), part, encoded.getCodec(),
                                       nullptr, getOver()),
                      getOutput().getType());
}

LogicalResult ExchangeOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())))
    return failure();
  unsigned expected = getPattern() == ExchangePattern::Ring ? 2 : 1;
  if (getNumResults() != expected)
    return emitOpError() << "expected " << expected << " results for "
                         << stringifyExchangePattern(getPattern()) << ", found "
                         << getNumResults();
  for (Type type : getResultTypes())
    if (failed(expectResult(*this, getInput().getType(), type)))
      return failure();
  return success();
}

LogicalResult PushOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())) ||
      failed(verifyKind(*this, getKind(), getInput().getType())))
    return failure();
  auto encoded = dyn_cast<EncodedType>(getInput().getType());
  RankedTensorType tensor = encoded
                                ? encoded.getTensor()
                                : cast<RankedTensorType>(getInput().getType());
  if (encoded && (encoded.getParts() || encoded.getTerms()))
    return emitOpError() << "expected an encoded value without parts and "
                            "terms, found "
                         << encoded;
  auto output = dyn_cast<EncodedType>(getOutput().getType());
  auto pushed = output ? output.getTensor()
                       : cast<RankedTensorType>(getOutput().getType());
  LayoutAttr layout = getLayout(pushed);
  if (!layout || layout.getEntries().back().kind != LayoutEntry::Kind::Server)
    return emitOpError() << "expected a result whose layout ends in server, "
                            "found "
                         << getOutput().getType();
  RankedTensorType expected = pushEntry(tensor, layout.getEntries().back());
  if (!encoded)
    return expectResult(*this, expected, getOutput().getType());
  return expectResult(*this,
                      EncodedType::get(getContext(), expected,
                                       encoded.getCodec(), nullptr, getOver()),
                      getOutput().getType());
}

LogicalResult PullOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())))
    return failure();
  auto encoded = dyn_cast<EncodedType>(getInput().getType());
  RankedTensorType tensor = encoded
                                ? encoded.getTensor()
                                : cast<RankedTensorType>(getInput().getType());
  LayoutAttr layout = getLayout(tensor);
  if (!layout || layout.getEntries().back().kind != LayoutEntry::Kind::Server)
    return emitOpError() << "expected an operand whose layout ends in server, "
                            "found "
                         << getInput().getType();
  Type expected = popEntry(tensor, layout.getEntries().back());
  if (encoded)
    expected = EncodedType::get(getContext(), cast<RankedTensorType>(expected),
                                encoded.getCodec(), encoded.getParts(),
                                encoded.getTerms());
  return expectResult(*this, expected, getOutput().getType());
}

LogicalResult EncodeOp::verify() {
  EncodedType output = getOutput().getType();
  if (output.getTensor() != getInput().getType())
    return emitOpError() << "expected an encoded " << getInput().getType()
                         << ", found " << output;
  if (output.getTerms())
    return emitOpError() << "expected a result without terms, found " << output;
  if (bool(getResidual()) != bool(getNextResidual()))
    return emitOpError("expected a residual among operands and results alike");
  if (!getResidual())
    return success();
  for (Type type : {getResidual().getType(), getNextResidual().getType()})
    if (type != getInput().getType())
      return emitOpError() << "expected a residual of the operand's type "
                           << getInput().getType() << ", found " << type;
  return success();
}

LogicalResult DecodeOp::verify() {
  EncodedType input = getInput().getType();
  if (bool(input.getTerms()) != getKind().has_value())
    return emitOpError() << "expected a kind for a value of several terms, and "
                            "only there, found "
                         << input;
  if (getKindAttr() && failed(verifyKind(*this, getKindAttr(), input)))
    return failure();
  return expectResult(*this, input.getTensor(), getOutput().getType());
}
