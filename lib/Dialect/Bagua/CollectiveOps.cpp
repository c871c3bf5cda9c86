//===- CollectiveOps.cpp - Verifiers of communication ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The effect of each collective on layouts and on encoded forms. The step
// checks sizes that depend on the cluster.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Dialect/Bagua/Meaning.h"

using namespace mlir;
using namespace bagua;

/// Checks that a group has at least one axis, and that each result has a name
/// if any has.
static LogicalResult verifyCollective(Operation *op, AxesAttr over,
                                      ArrayAttr names) {
  if (over.empty())
    return op->emitOpError("expected at least one axis to communicate over");
  if (names && names.size() != op->getNumResults())
    return op->emitOpError()
           << "expected one name for each of " << op->getNumResults()
           << " results, found " << names.size();
  // A name is how the program gets a tensor.
  if (names && isa<EncodedType>(op->getResult(0).getType()))
    return op->emitOpError()
           << "expected no name for an encoded result, found " << names[0];
  return success();
}

static bool isOnServer(Type type) {
  LayoutAttr layout = getLayout(logicalTensor(type));
  return layout && layout.getEntries().back().kind == LayoutEntry::Kind::Server;
}

/// Checks that ranks along `over` store the same elements of a tensor. Ranks
/// that store different elements, or none, have nothing to combine or to swap
/// with each other; a tensor on servers is no longer on the ranks.
static LogicalResult verifyNotCut(Operation *op, AxesAttr over, Type operand) {
  if (isOnServer(operand))
    return op->emitOpError()
           << "expected an operand that workers have, found " << operand;
  if (!isCutOver(operand, over))
    return success();
  return op->emitOpError() << "expected an operand that is not cut over "
                           << over.str() << ", found " << operand;
}

static LogicalResult expectResult(Operation *op, Type expected, Type found) {
  if (expected == found)
    return success();
  return op->emitOpError() << "expected result " << expected << ", found "
                           << found;
}

/// Checks the kind of a reduction. No definition of a mean of integers rounds
/// alike everywhere, and encoded values have no order.
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

/// Checks tensors of the ranks' own, one of which is a piece of the other along
/// a dimension.
static LogicalResult verifyPieces(Operation *op, Type whole, Type piece,
                                  int64_t dimension) {
  auto wholeTensor = dyn_cast<RankedTensorType>(whole);
  auto pieceTensor = dyn_cast<RankedTensorType>(piece);
  if (!wholeTensor || !pieceTensor || getLayout(wholeTensor) ||
      getLayout(pieceTensor) ||
      wholeTensor.getElementType() != pieceTensor.getElementType() ||
      wholeTensor.getRank() != pieceTensor.getRank())
    return op->emitOpError()
           << "expected a tensor and a piece of it, without layouts, found "
           << whole << " and " << piece;
  if (dimension < wholeTensor.getRank())
    return success();
  return op->emitOpError() << "expected a dimension below "
                           << wholeTensor.getRank() << ", found " << dimension;
}

static LogicalResult verifyPiecesOnCluster(Operation *op, ClusterOp &cluster,
                                           AxesAttr over, Type whole,
                                           Type piece, int64_t dimension) {
  auto pieceTensor = cast<RankedTensorType>(piece);
  SmallVector<int64_t> expected(pieceTensor.getShape());
  expected[dimension] *= cluster.getGroupSize(over);
  if (cast<RankedTensorType>(whole).getShape() == ArrayRef<int64_t>(expected))
    return success();
  return op->emitOpError() << "expected "
                           << RankedTensorType::get(
                                  expected, pieceTensor.getElementType())
                           << " for pieces of " << piece << " of a group of "
                           << cluster.getGroupSize(over) << ", found " << whole;
}

/// The fields of an instruction on pieces: the whole's shape and the dimension.
static InstructionFields fieldsOfPieces(Type whole) {
  InstructionFields fields;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(whole).getShape();
  fields.shape.assign(shape.begin(), shape.end());
  return fields;
}

/// The facts of most reductions: one operand, one result, over the op's own
/// axes.
template <typename OpTy>
static LogicalResult inferReduction(OpTy op, const FactContext &context,
                                    ArrayRef<Facts> operands,
                                    SmallVectorImpl<Facts> &results) {
  Facts facts = operands[0];
  if (failed(reduceFacts(op, context, op.getOver(), op.getKind().getValue(),
                         /*allowsPendingSum=*/false, facts)))
    return failure();
  results.push_back(facts);
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())) ||
      failed(verifyNotCut(*this, getOver(), getInput().getType())) ||
      failed(verifyKind(*this, getKind(), getInput().getType())))
    return failure();
  if (getFeedback() && !getCodecAttr())
    return emitOpError("expected a codec with 'feedback'");
  if (getCodec() && getCodec()->getRow().needsFeedback && !getFeedback())
    return emitOpError() << "expected 'feedback' for codec " << *getCodec()
                         << ", which does not converge without";
  auto encoded = dyn_cast<EncodedType>(getInput().getType());
  if (!encoded) {
    auto tensor = cast<RankedTensorType>(getInput().getType());
    if (getCodec() && !getCodec()->supports(tensor.getElementType()))
      return emitOpError() << "codec " << *getCodec()
                           << " doesn't support elements of "
                           << tensor.getElementType();
    return success();
  }
  if (getCodecAttr())
    return emitOpError("expected no codec for a value that is encoded");
  if (!encoded.getRow().isLinear && !encoded.getRow().isMergeable)
    return emitOpError() << "expected a codec whose encoded values add or "
                            "merge, found "
                         << encoded.getCodec();
  return success();
}

/// An all_reduce with a codec is still to be lowered, and so has no
/// instruction. Nor has one of encoded values, which no runtime adds.
std::optional<InstructionFields> AllReduceOp::getInstruction() {
  if (getCodecAttr() || isa<EncodedType>(getInput().getType()))
    return std::nullopt;
  return InstructionFields();
}

std::string AllReduceOp::whyNot(Rewriting rewriting) {
  if (isa<EncodedType>(getInput().getType()))
    return "its operand is encoded";
  bool joins = rewriting == Rewriting::Bucket || rewriting == Rewriting::Wire;
  if (getNamesAttr() && joins)
    return "its result has a name";
  std::optional<EncodingAttr> codec = getCodec();
  if (!codec)
    return "";
  bool isOffered = codec->getRow().isOffered && !getFeedback();
  if (rewriting == Rewriting::Hierarchy && isOffered)
    return "";
  std::string text = "it asks for codec ";
  llvm::raw_string_ostream(text)
      << *codec << (isOffered ? "" : ", which the runtime doesn't offer");
  return text;
}

LogicalResult AllReduceOp::inferFacts(const FactContext &context,
                                      ArrayRef<Facts> operands,
                                      SmallVectorImpl<Facts> &results) {
  return inferReduction(*this, context, operands, results);
}

void AllReduceOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineReduction(*this, getOver(), getKind().getValue());
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())) ||
      failed(verifyNotCut(*this, getOver(), getInput().getType())) ||
      failed(verifyKind(*this, getKind(), getInput().getType())))
    return failure();
  if (isInPieces())
    return verifyPieces(*this, getInput().getType(), getOutput().getType(),
                        static_cast<int64_t>(*getSplitDim()));
  auto input = cast<RankedTensorType>(getInput().getType());
  return expectResult(*this, pushEntry(input, LayoutEntry::shard(getOver())),
                      getOutput().getType());
}

LogicalResult ReduceScatterOp::verifyOnCluster(ClusterOp &cluster) {
  if (!isInPieces())
    return success();
  return verifyPiecesOnCluster(*this, cluster, getOver(), getInput().getType(),
                               getOutput().getType(),
                               static_cast<int64_t>(*getSplitDim()));
}

std::optional<InstructionFields> ReduceScatterOp::getInstruction() {
  if (!isInPieces())
    return InstructionFields();
  InstructionFields fields = fieldsOfPieces(getInput().getType());
  fields.splitDim = static_cast<int64_t>(*getSplitDim());
  return fields;
}

/// Only this rank has its piece.
LogicalResult ReduceScatterOp::inferFacts(const FactContext &context,
                                          ArrayRef<Facts> operands,
                                          SmallVectorImpl<Facts> &results) {
  if (failed(inferReduction(*this, context, operands, results)))
    return failure();
  if (isInPieces())
    results[0] = inferExchanged(context, getOver(), results[0]);
  return success();
}

void ReduceScatterOp::defineMeaning(MeaningAnalysis &meanings) {
  if (isInPieces())
    meanings.defineOpaque(*this);
  else
    meanings.defineReduction(*this, getOver(), getKind().getValue());
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())))
    return failure();
  if (isInPieces())
    return verifyPieces(*this, getOutput().getType(), getInput().getType(),
                        static_cast<int64_t>(*getConcatDim()));
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
  if (!gathered && failed(verifyNotCut(*this, getOver(), tensor)))
    return failure();
  Type expected =
      gathered ? EncodedType::get(getContext(), gathered, encoded.getCodec(),
                                  getOver(), nullptr)
               : EncodedType::get(getContext(), tensor, encoded.getCodec(),
                                  nullptr, getOver());
  return expectResult(*this, expected, getOutput().getType());
}

LogicalResult AllGatherOp::verifyOnCluster(ClusterOp &cluster) {
  if (!isInPieces())
    return success();
  return verifyPiecesOnCluster(*this, cluster, getOver(), getOutput().getType(),
                               getInput().getType(),
                               static_cast<int64_t>(*getConcatDim()));
}

std::optional<InstructionFields> AllGatherOp::getInstruction() {
  if (!isInPieces())
    return InstructionFields();
  InstructionFields fields = fieldsOfPieces(getOutput().getType());
  fields.concatDim = static_cast<int64_t>(*getConcatDim());
  return fields;
}

/// Every rank gets all terms of an encoded value, and each part of a tensor
/// from the rank that stores it. Of pieces all ranks get the same ones.
LogicalResult AllGatherOp::inferFacts(const FactContext &context,
                                      ArrayRef<Facts> operands,
                                      SmallVectorImpl<Facts> &results) {
  auto encoded = dyn_cast<EncodedType>(getOutput().getType());
  bool keepsTerms = encoded && encoded.getTerms();
  if (!keepsTerms &&
      failed(expectReduced(*this, context, context.maskOf(getOver()),
                           operands[0])))
    return failure();
  results.push_back(operands[0]);
  if (isInPieces())
    for (auto [fact, isIn] :
         llvm::zip_equal(results[0], context.maskOf(getOver())))
      if (isIn)
        fact = Fact::Replicated;
  return success();
}

void AllGatherOp::defineMeaning(MeaningAnalysis &meanings) {
  if (isInPieces())
    meanings.defineOpaque(*this);
  else
    meanings.defineSame(*this);
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())) ||
      failed(verifyNotCut(*this, getOver(), getInput().getType())) ||
      failed(verifyKind(*this, getKind(), getInput().getType())))
    return failure();
  auto input = cast<RankedTensorType>(getInput().getType());
  return expectResult(*this, pushEntry(input, LayoutEntry::root(getOver())),
                      getOutput().getType());
}

LogicalResult ReduceOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  return inferReduction(*this, context, operands, results);
}

void ReduceOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineReduction(*this, getOver(), getKind().getValue());
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

LogicalResult BroadcastOp::inferFacts(const FactContext &context,
                                      ArrayRef<Facts> operands,
                                      SmallVectorImpl<Facts> &results) {
  auto mask = context.maskOf(getOver());
  if (failed(expectReduced(*this, context, mask, operands[0])))
    return failure();
  Facts facts = operands[0];
  for (auto [fact, isIn] : llvm::zip_equal(facts, mask))
    if (isIn)
      fact = Fact::Replicated;
  results.push_back(facts);
  return success();
}

void BroadcastOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineSame(*this);
}

/// Checks a tensor's two dimensions, in a tensor that is whole. The step checks
/// their sizes.
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

LogicalResult AllToAllOp::verifyOnCluster(ClusterOp &cluster) {
  auto input = dyn_cast<RankedTensorType>(getInput().getType());
  if (!input)
    return success();
  int64_t size = cluster.getGroupSize(getOver());
  auto output = cast<RankedTensorType>(getOutput().getType());
  int64_t split = *getSplitDim(), concat = *getConcatDim();
  SmallVector<int64_t> expected(input.getShape());
  if (expected[split] % size != 0)
    return emitOpError() << "expected dimension " << split
                         << " divisible by the group's size " << size
                         << ", found " << expected[split];
  expected[split] /= size;
  expected[concat] *= size;
  if (output.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError() << "expected result "
                         << RankedTensorType::get(expected,
                                                  input.getElementType())
                         << " over a group of " << size << ", found " << output;
  return success();
}

std::optional<InstructionFields> AllToAllOp::getInstruction() {
  InstructionFields fields;
  auto type = dyn_cast<RankedTensorType>(getInput().getType());
  if (!type) // whole parts
    return fields;
  fields.shape.assign(type.getShape().begin(), type.getShape().end());
  fields.splitDim = static_cast<int64_t>(getSplitDim().value_or(0));
  fields.concatDim = static_cast<int64_t>(getConcatDim().value_or(0));
  return fields;
}

LogicalResult AllToAllOp::inferFacts(const FactContext &context,
                                     ArrayRef<Facts> operands,
                                     SmallVectorImpl<Facts> &results) {
  // Encoded parts become terms of the same logical value and keep their
  // meaning, so that decoding a replicated value is found to reduce it twice.
  if (isa<EncodedType>(getInput().getType())) {
    results.push_back(operands[0]);
    return success();
  }
  if (failed(expectReduced(*this, context, context.maskOf(getOver()),
                           operands[0])))
    return failure();
  results.push_back(inferExchanged(context, getOver(), operands[0]));
  return success();
}

void AllToAllOp::defineMeaning(MeaningAnalysis &meanings) {
  if (isa<EncodedType>(getInput().getType()))
    meanings.defineSame(*this);
  else
    meanings.defineOpaque(*this);
}

LogicalResult ExchangeOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())) ||
      failed(verifyNotCut(*this, getOver(), getInput().getType())))
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

LogicalResult ExchangeOp::verifyOnCluster(ClusterOp &cluster) {
  int64_t size = cluster.getGroupSize(getOver());
  if (getPattern() == ExchangePattern::ShiftOne && size % 2 != 0)
    return emitOpError()
           << "expected a group of even size for shift_one, found " << size;
  return success();
}

std::optional<InstructionFields> ExchangeOp::getInstruction() {
  InstructionFields fields;
  fields.pattern = getPattern();
  return fields;
}

LogicalResult ExchangeOp::inferFacts(const FactContext &context,
                                     ArrayRef<Facts> operands,
                                     SmallVectorImpl<Facts> &results) {
  if (failed(expectReduced(*this, context, context.maskOf(getOver()),
                           operands[0])))
    return failure();
  results.append(getNumResults(),
                 inferExchanged(context, getOver(), operands[0]));
  return success();
}

void ExchangeOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineMoved(*this, getOver());
}

/// Checks that each place in a group sends at most once, and receives at most
/// once.
LogicalResult PermuteOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())) ||
      failed(verifyNotCut(*this, getOver(), getInput().getType())))
    return failure();
  if (getPairs().size() % 2 != 0)
    return emitOpError() << "expected pairs of places, found "
                         << getPairs().size() << " places";
  llvm::SmallDenseSet<int64_t, 16> seen[2];
  for (auto [index, place] : llvm::enumerate(getPairs())) {
    if (place < 0)
      return emitOpError() << "expected places from 0, found " << place;
    if (!seen[index % 2].insert(place).second)
      return emitOpError() << "expected places that "
                           << (index % 2 == 0 ? "send" : "get something")
                           << " once, found " << place << " twice";
  }
  return success();
}

LogicalResult PermuteOp::verifyOnCluster(ClusterOp &cluster) {
  int64_t size = cluster.getGroupSize(getOver());
  for (int64_t place : getPairs())
    if (place >= size)
      return emitOpError() << "expected places below the group's size " << size
                           << ", found " << place;
  return success();
}

std::optional<InstructionFields> PermuteOp::getInstruction() {
  InstructionFields fields;
  fields.pairs.assign(getPairs().begin(), getPairs().end());
  return fields;
}

LogicalResult PermuteOp::inferFacts(const FactContext &context,
                                    ArrayRef<Facts> operands,
                                    SmallVectorImpl<Facts> &results) {
  if (failed(expectReduced(*this, context, context.maskOf(getOver()),
                           operands[0])))
    return failure();
  results.push_back(inferExchanged(context, getOver(), operands[0]));
  return success();
}

void PermuteOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineOpaque(*this);
}

LogicalResult PushOp::verify() {
  if (failed(verifyCollective(*this, getOver(), getNamesAttr())) ||
      failed(verifyNotCut(*this, getOver(), getInput().getType())) ||
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

LogicalResult PushOp::verifyOnCluster(ClusterOp &) {
  auto step = cast<StepOp>((*this)->getParentOp());
  if (step.isAsynchronous() && getKind().getValue() != ReduceKind::Sum)
    return emitOpError() << "expected kind sum under consistency "
                         << stringifyConsistency(*step.getConsistency())
                         << ", where each push is applied alone";
  return success();
}

LogicalResult PushOp::inferFacts(const FactContext &context,
                                 ArrayRef<Facts> operands,
                                 SmallVectorImpl<Facts> &results) {
  Facts facts = operands[0];
  // Along other axes, the server has room for only one of several different
  // values.
  SmallVector<bool, 4> others;
  for (StringRef name : context.axisNames) {
    auto axis =
        AxesAttr::get(getContext(), StringAttr::get(getContext(), name));
    others.push_back(!getOver().contains(name) &&
                     !isCutOver(getInput().getType(), axis));
  }
  if (failed(expectReduced(*this, context, others, facts)))
    return failure();
  // Encoded terms arrive unreduced; decoding them is the reduction.
  if (isa<EncodedType>(getOutput().getType())) {
    results.push_back(facts);
    return success();
  }
  if (failed(reduceFacts(*this, context, getOver(), getKind().getValue(),
                         /*allowsPendingSum=*/context.asynchronous, facts)))
    return failure();
  results.push_back(facts);
  return success();
}

void PushOp::defineMeaning(MeaningAnalysis &meanings) {
  if (isa<EncodedType>(getInput().getType()))
    meanings.defineSame(*this); // the decode of its terms reduces
  else if (meanings.isAsynchronous())
    meanings.defineMoved(*this, getOver());
  else
    meanings.defineReduction(*this, getOver(), getKind().getValue());
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

LogicalResult PullOp::inferFacts(const FactContext &context,
                                 ArrayRef<Facts> operands,
                                 SmallVectorImpl<Facts> &results) {
  if (context.asynchronous)
    results.push_back(inferExchanged(context, getOver(), operands[0]));
  else
    results.push_back(operands[0]);
  return success();
}

void PullOp::defineMeaning(MeaningAnalysis &meanings) {
  if (!meanings.isAsynchronous() &&
      meanings.isReplicated(getInput(), getOver()))
    meanings.defineSame(*this);
  else
    meanings.defineMoved(*this, getOver());
}

LogicalResult EncodeOp::verify() {
  EncodedType output = getOutput().getType();
  if (output.getTensor() != getInput().getType())
    return emitOpError() << "expected an encoded " << getInput().getType()
                         << ", found " << output;
  if (output.getTerms())
    return emitOpError() << "expected a result without terms, found " << output;
  if (bool(getResidual()) != bool(getNextResidual()))
    return emitOpError("expected a residual both as an operand and as a "
                       "result, or neither");
  bool isNeeded = output.getRow().needsFeedback;
  if (getUnchecked() && (getResidual() || !isNeeded))
    return emitOpError("expected 'unchecked' only for a codec that needs "
                       "feedback and has none");
  if (!getResidual() && isNeeded && !getUnchecked())
    return emitOpError() << "expected 'feedback' for codec "
                         << output.getCodec()
                         << ", which does not converge without, or 'unchecked'";
  if (!getResidual())
    return success();
  for (Type type : {getResidual().getType(), getNextResidual().getType()})
    if (type != getInput().getType())
      return emitOpError() << "expected a residual of the operand's type "
                           << getInput().getType() << ", found " << type;
  return success();
}

std::optional<InstructionFields> EncodeOp::getInstruction() {
  if (getResidual() || !getOutput().getType().getRow().isOffered)
    return std::nullopt;
  return InstructionFields();
}

LogicalResult EncodeOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  // The residual is ignored: the convergence of a lossy method is a promise,
  // not a proof.
  results.push_back(operands[0]);
  if (getNextResidual())
    results.push_back(context.all(Fact::Varying));
  return success();
}

void EncodeOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineEncode(*this);
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

LogicalResult DecodeOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  Facts facts = operands[0];
  if (AxesAttr terms = getInput().getType().getTerms())
    if (failed(reduceFacts(*this, context, terms, getKind()->getValue(),
                           /*allowsPendingSum=*/false, facts)))
      return failure();
  results.push_back(facts);
  return success();
}

/// The terms are those of a whole tensor, or all of the same part.
void DecodeOp::defineMeaning(MeaningAnalysis &meanings) {
  AxesAttr terms = getInput().getType().getTerms();
  if (terms)
    meanings.defineTermReduction(*this, terms, getKind()->getValue());
  else
    meanings.defineSame(*this);
}
