//===- ComputeOps.cpp - Compute and rearrangement -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and verifiers of compute, concat, split, slice and cast.
//
//===----------------------------------------------------------------------===//
#include "AssemblyFormat.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Dialect/Bagua/Meaning.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bagua;

//===----------------------------------------------------------------------===//
// ComputeOp
//===----------------------------------------------------------------------===//

void ComputeOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), ProgramResource::get());
}

ResultAttr ComputeOp::getResultInfo(unsigned index) {
  ArrayAttr infos = getResultInfoAttr();
  return infos ? dyn_cast<ResultAttr>(infos[index]) : nullptr;
}

void ComputeOp::setResultInfo(unsigned index, ResultAttr info) {
  SmallVector<Attribute> infos(getNumResults(), UnitAttr::get(getContext()));
  if (ArrayAttr old = getResultInfoAttr())
    infos.assign(old.begin(), old.end());
  infos[index] = info ? Attribute(info) : UnitAttr::get(getContext());
  bool any = llvm::any_of(infos, llvm::IsaPred<ResultAttr>);
  setResultInfoAttr(any ? ArrayAttr::get(getContext(), infos) : nullptr);
}

StringAttr bagua::getGradientParam(Value value) {
  auto compute = value.getDefiningOp<ComputeOp>();
  ResultAttr info =
      compute ? compute.getResultInfo(cast<OpResult>(value).getResultNumber())
              : nullptr;
  return info ? info.getGrad() : nullptr;
}

StringAttr ComputeOp::getResultName(unsigned index) {
  ResultAttr info = getResultInfo(index);
  if (!info)
    return nullptr;
  if (info.getAs())
    return info.getAs();
  return StringAttr::get(getContext(), gradientName(info.getGrad().getValue()));
}

/// `(optional)? (grad "w" | as "name")?` after a result's type.
static ParseResult parseResultInfo(OpAsmParser &parser, Attribute &info) {
  MLIRContext *context = parser.getContext();
  StringAttr grad, as;
  std::string name;
  SMLoc location = parser.getCurrentLocation();
  bool optional = succeeded(parser.parseOptionalKeyword("optional"));
  if (succeeded(parser.parseOptionalKeyword("grad"))) {
    if (parser.parseString(&name))
      return failure();
    grad = StringAttr::get(context, name);
  }
  if (succeeded(parser.parseOptionalKeyword("as"))) {
    if (parser.parseString(&name))
      return failure();
    as = StringAttr::get(context, name);
  }
  if (!optional && !grad && !as) {
    info = UnitAttr::get(context);
    return success();
  }
  info = ResultAttr::getChecked([&] { return parser.emitError(location); },
                                context, grad, as, optional);
  return success(info != nullptr);
}

static ParseResult parseCost(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  for (StringRef field : {"flops", "bytes", "cost_ns"}) {
    if (failed(parser.parseOptionalKeyword(field)))
      continue;
    int64_t value = 0;
    if (parser.parseInteger(value))
      return failure();
    result.addAttribute(field, builder.getI64IntegerAttr(value));
    if (field != "cost_ns")
      continue;
    StringRef word;
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    std::optional<CostSource> source = symbolizeCostSource(word);
    if (!source)
      return parser.emitError(location)
             << "expected where the duration comes from (measured or "
                "roofline), found '"
             << word << "'";
    result.addAttribute("cost_source",
                        CostSourceAttr::get(parser.getContext(), *source));
  }
  return success();
}

static ParseResult parseComputeResults(OpAsmParser &parser,
                                       OperationState &result) {
  SmallVector<Type> types;
  SmallVector<Attribute> infos;
  auto parseOne = [&]() -> ParseResult {
    return failure(parser.parseType(types.emplace_back()) ||
                   parseResultInfo(parser, infos.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
    return failure();
  result.addTypes(types);
  if (llvm::any_of(infos, llvm::IsaPred<ResultAttr>))
    result.addAttribute("result_info", parser.getBuilder().getArrayAttr(infos));
  return success();
}

ParseResult ComputeOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<PhaseKind> phase = symbolizePhaseKind(word);
  if (!phase)
    return parser.emitError(location)
           << "expected forward, backward or update, found '" << word << "'";
  result.addAttribute("phase", PhaseKindAttr::get(parser.getContext(), *phase));
  std::string name;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  if (parser.parseString(&name))
    return failure();
  result.addAttribute("name", parser.getBuilder().getStringAttr(name));
  SMLoc operandsLocation = parser.getCurrentLocation();
  SmallVector<Type> operandTypes;
  if (parser.parseOperandList(operands, AsmParser::Delimiter::Paren))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("communicates")))
    result.addAttribute("communicates", parser.getBuilder().getUnitAttr());
  if (succeeded(parser.parseOptionalKeyword("varies"))) {
    AxesAttr axes;
    if (parseAxes(parser, axes))
      return failure();
    result.addAttribute("varies", axes);
  }
  if (succeeded(parser.parseOptionalKeyword("late")))
    result.addAttribute("late", parser.getBuilder().getUnitAttr());
  if (parseCost(parser, result) ||
      parseSchedule(parser, result, "stream", "places") ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseLParen())
    return failure();
  if (failed(parser.parseOptionalRParen()) &&
      (parser.parseTypeList(operandTypes) || parser.parseRParen()))
    return failure();
  if (parser.parseArrow() || parseComputeResults(parser, result))
    return failure();
  return parser.resolveOperands(operands, operandTypes, operandsLocation,
                                result.operands);
}

void ComputeOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyPhaseKind(getPhase()) << ' ' << getNameAttr()
          << '(' << getOperands() << ')';
  if (getCommunicates())
    printer << " communicates";
  if (AxesAttr axes = getVariesAttr()) {
    printer << " varies ";
    printAxes(printer, axes);
  }
  if (getLate())
    printer << " late";
  if (std::optional<int64_t> flops = getFlops())
    printer << " flops " << *flops;
  if (std::optional<int64_t> bytes = getBytes())
    printer << " bytes " << *bytes;
  if (std::optional<int64_t> cost = getCostNs())
    printer << " cost_ns " << *cost << ' '
            << stringifyCostSource(*getCostSource());
  printSchedule(printer, getStreamAttr(), getPlacesAttr());
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {"phase", "name", "communicates", "varies", "late", "flops", "bytes",
       "cost_ns", "cost_source", "result_info", "stream", "places"});
  printer << " : (";
  llvm::interleaveComma(getOperandTypes(), printer);
  printer << ") -> (";
  llvm::interleaveComma(getResults(), printer, [&](OpResult result) {
    printer << result.getType();
    ResultAttr info = getResultInfo(result.getResultNumber());
    if (!info)
      return;
    if (info.getOptional())
      printer << " optional";
    if (info.getGrad())
      printer << " grad " << info.getGrad();
    if (info.getAs())
      printer << " as " << info.getAs();
  });
  printer << ')';
}

bool ComputeOp::setResultName(unsigned index, StringAttr name) {
  setResultInfo(index, ResultAttr::get(getContext(), nullptr, name, false));
  return true;
}

std::string ComputeOp::getNameStem(unsigned index) {
  return (getName() + "." + Twine(index)).str();
}

/// Checks results of operands that only the root has: other ranks can't compute
/// them.
static LogicalResult verifyAtRoot(ComputeOp op) {
  auto entriesOf = [](Type type) -> ArrayRef<LayoutEntry> {
    LayoutAttr layout = getLayout(cast<RankedTensorType>(type));
    return layout ? layout.getEntries() : ArrayRef<LayoutEntry>();
  };
  for (Type operand : op.getOperandTypes())
    for (const LayoutEntry &entry : entriesOf(operand))
      for (Type result : op.getResultTypes())
        if (entry.kind == LayoutEntry::Kind::Root &&
            !llvm::is_contained(entriesOf(result), entry))
          return op.emitOpError()
                 << "expected results that only the root over "
                 << entry.getAxes().str() << " has, like operand " << operand
                 << ", found " << result;
  return success();
}

LogicalResult ComputeOp::verify() {
  if (getCostNs().has_value() != getCostSource().has_value())
    return emitOpError("expected a duration and its source together");
  if (ArrayAttr infos = getResultInfoAttr())
    if (infos.size() != getNumResults())
      return emitOpError() << "expected one description for each of "
                           << getNumResults() << " results, found "
                           << infos.size();
  auto isOnServer = [](Type type) {
    LayoutAttr layout = getLayout(cast<RankedTensorType>(type));
    return layout &&
           layout.getEntries().back().kind == LayoutEntry::Kind::Server;
  };
  if (failed(verifyAtRoot(*this)))
    return failure();
  for (TypeRange types :
       {TypeRange(getOperandTypes()), TypeRange(getResultTypes())})
    for (Type type : types)
      if (isOnServer(type))
        return emitOpError()
               << "runs in the training program, which has no value on "
                  "servers, found "
               << type;
  return success();
}

LogicalResult ComputeOp::inferFacts(const FactContext &context,
                                    ArrayRef<Facts> operands,
                                    SmallVectorImpl<Facts> &results) {
  Facts unmarked = varyUnlessReplicated(context, operands);
  unmarked = joinFacts(unmarked, context.varyingOn(getVariesAttr()));
  // If an op leads only to gradients, a gradient among its operands is one more
  // intermediate value.
  if (!context.updating.contains(*this))
    for (Fact &fact : unmarked)
      if (fact != Fact::Replicated)
        fact = Fact::Varying;
  results.append(getNumResults(), unmarked);
  varyWhereStoredApart(*this, context, results);
  auto step = cast<StepOp>((*this)->getParentOp());
  for (auto [index, facts] : llvm::enumerate(results)) {
    StringAttr name = getGradientParam(getResult(index));
    if (!name)
      continue;
    unsigned param = context.arguments.at(name);
    auto varies = context.maskOf(step.getArgument(param).getVaries());
    for (unsigned axis = 0; axis < context.axisCount(); ++axis)
      if (context.dataAxes[axis] && !varies[axis])
        facts[axis] = Fact::Pending;
  }
  return success();
}

void ComputeOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineOpaque(*this);
}

//===----------------------------------------------------------------------===//
// ConcatOp, SplitOp
//===----------------------------------------------------------------------===//

/// Checks both concat and split: `bucket` is the one side, `tensors` the other.
static LogicalResult verifyBucket(Operation *op, LayoutAttr striped,
                                  RankedTensorType bucket, TypeRange tensors) {
  int64_t total = 0;
  for (Type type : tensors) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getElementType() != bucket.getElementType())
      return op->emitOpError()
             << "expected one element type, found " << bucket.getElementType()
             << " and " << tensor.getElementType();
    if (getLayout(tensor) != getLayout(bucket))
      return op->emitOpError()
             << "expected one layout, found " << bucket << " and " << tensor;
    total += getElementCount(tensor);
  }
  LayoutAttr layout = getLayout(bucket);
  bool isCut = layout && llvm::any_of(layout.getEntries(), [](auto &entry) {
                 return entry.kind == LayoutEntry::Kind::Shard ||
                        (entry.kind == LayoutEntry::Kind::Server &&
                         entry.server == LayoutEntry::kAllServers);
               });
  if (striped) {
    if (layout && layout != striped)
      return op->emitOpError() << "expected the layout of 'striped' " << striped
                               << ", found " << layout;
    return success(); // counts depend on the cluster: the step checks them
  }
  if (isCut && tensors.size() > 1)
    return op->emitOpError()
           << "expected 'striped' for tensors that are stored "
              "in parts, found "
           << bucket;
  if (total != getElementCount(bucket))
    return op->emitOpError() << "expected element counts that add up to "
                             << getElementCount(bucket) << ", found " << total;
  return success();
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected at least one operand");
  return verifyBucket(*this, getStripedAttr(),
                      cast<RankedTensorType>(getOutput().getType()),
                      getInputs().getTypes());
}

std::optional<BucketView> ConcatOp::getBucket() {
  return BucketView{getOutput(), getInputs(), getStripedAttr()};
}

/// Checks that a striped bucket has the size of its tensors, each padded to
/// equal parts.
static LogicalResult verifyStriped(Operation *op, const BucketView &bucket,
                                   ClusterOp cluster) {
  if (!bucket.striped)
    return success();
  int64_t total = 0;
  for (Type type : bucket.tensors.getTypes())
    total +=
        stripedCount(cast<RankedTensorType>(type), bucket.striped, cluster);
  int64_t found =
      getElementCount(cast<RankedTensorType>(bucket.whole.getType()));
  if (found != total)
    return op->emitOpError()
           << "expected a bucket of " << total
           << " elements, each tensor padded to equal parts, found " << found;
  return success();
}

LogicalResult ConcatOp::verifyOnCluster(ClusterOp &cluster) {
  return verifyStriped(*this, *getBucket(), cluster);
}

std::optional<InstructionFields> ConcatOp::getInstruction() {
  InstructionFields fields;
  fields.striped = getStripedAttr();
  return fields;
}

LogicalResult ConcatOp::inferFacts(const FactContext &context,
                                   ArrayRef<Facts> operands,
                                   SmallVectorImpl<Facts> &results) {
  results.push_back(joinAll(context, operands));
  return success();
}

void ConcatOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineConcat(*this);
}

LogicalResult SplitOp::verify() {
  if (getOutputs().empty())
    return emitOpError("expected at least one result");
  return verifyBucket(*this, getStripedAttr(),
                      cast<RankedTensorType>(getInput().getType()),
                      getOutputs().getTypes());
}

std::optional<BucketView> SplitOp::getBucket() {
  return BucketView{getInput(), getOutputs(), getStripedAttr()};
}

LogicalResult SplitOp::verifyOnCluster(ClusterOp &cluster) {
  return verifyStriped(*this, *getBucket(), cluster);
}

std::optional<InstructionFields> SplitOp::getInstruction() {
  InstructionFields fields;
  fields.striped = getStripedAttr();
  return fields;
}

LogicalResult SplitOp::inferFacts(const FactContext &, ArrayRef<Facts> operands,
                                  SmallVectorImpl<Facts> &results) {
  results.append(getNumResults(), operands[0]);
  return success();
}

void SplitOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineSplit(*this);
}

//===----------------------------------------------------------------------===//
// SliceOp, CastOp
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto output = cast<RankedTensorType>(getOutput().getType());
  LayoutAttr layout = getLayout(output);
  if (layout && popEntry(output, layout.getEntries().back()) == input)
    return success();
  return emitOpError() << "expected the operand's type " << input
                       << " with one more entry in its layout, found "
                       << output;
}

/// The ranks along every axis share the servers.
LogicalResult SliceOp::inferFacts(const FactContext &context,
                                  ArrayRef<Facts> operands,
                                  SmallVectorImpl<Facts> &results) {
  LayoutEntry entry = getLayout(getOutput().getType()).getEntries().back();
  auto mask = entry.kind == LayoutEntry::Kind::Server
                  ? SmallVector<bool, 4>(context.axisCount(), true)
                  : context.maskOf(entry.getAxes());
  if (failed(expectReduced(*this, context, mask, operands[0])))
    return failure();
  results.push_back(operands[0]);
  return success();
}

void SliceOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineSlice(*this);
}

LogicalResult CastOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto output = cast<RankedTensorType>(getOutput().getType());
  if (input.getShape() == output.getShape() &&
      input.getEncoding() == output.getEncoding())
    return success();
  return emitOpError() << "expected a change of element type alone, found "
                       << input << " and " << output;
}

/// Whether a cast is none in exact arithmetic: one between floating-point
/// types.
static bool isExact(CastOp op) {
  return isa<FloatType>(op.getInput().getType().getElementType()) &&
         isa<FloatType>(op.getOutput().getType().getElementType());
}

/// A cast to or from integers must not precede a mean that is owed: the mean of
/// rounded numbers is not the rounded mean.
LogicalResult CastOp::inferFacts(const FactContext &context,
                                 ArrayRef<Facts> operands,
                                 SmallVectorImpl<Facts> &results) {
  SmallVector<bool, 4> owed;
  for (Fact fact : operands[0])
    owed.push_back(isOwed(fact));
  if (!isExact(*this) &&
      failed(expectReduced(*this, context, owed, operands[0])))
    return failure();
  results.push_back(operands[0]);
  return success();
}

void CastOp::defineMeaning(MeaningAnalysis &meanings) {
  if (isExact(*this))
    meanings.defineSame(*this);
  else
    meanings.defineOpaque(*this);
}

std::optional<BucketView> AfterOp::getBucket() {
  return BucketView{getOutput(), getOperation()->getOperands().take_front(),
                    LayoutAttr()};
}

LogicalResult AfterOp::inferFacts(const FactContext &, ArrayRef<Facts> operands,
                                  SmallVectorImpl<Facts> &results) {
  results.push_back(operands[0]);
  return success();
}

void AfterOp::defineMeaning(MeaningAnalysis &meanings) {
  meanings.defineSame(*this);
}
