//===- Meaning.cpp - What the elements of a value are computed from -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules by which rearrangement and communication disappear. Each op names its
// rule (StepOpInterface::defineMeaning). An op without a rule is opaque: a
// function of all that it reads, which is always sound.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Meaning.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Support/Parts.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace bagua;

using Kind = MeaningTerm::Kind;

static uint64_t hashWords(ArrayRef<uint64_t> words) {
  return llvm::xxh3_64bits(
      ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(words.data()),
                        words.size() * sizeof(uint64_t)));
}

template <typename T> static uint64_t hashPrinted(const T &entity) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << entity;
  return llvm::xxh3_64bits(text);
}

/// Appends a segment, or lengthens the last one.
static void append(MeaningAnalysis::Segments &segments,
                   MeaningSegment segment) {
  if (segment.count == 0)
    return;
  if (!segments.empty()) {
    MeaningSegment &last = segments.back();
    if (last.term == segment.term &&
        last.offset + last.count == segment.offset) {
      last.count += segment.count;
      return;
    }
  }
  segments.push_back(segment);
}

namespace {
/// Reads segments from any position on. Reading at ascending positions costs
/// O(1) each.
class SegmentReader {
public:
  explicit SegmentReader(ArrayRef<MeaningSegment> segments)
      : segments(segments) {}

  /// The longest segment from `position` on.
  MeaningSegment at(int64_t position) {
    if (position < start) {
      index = 0;
      start = 0;
    }
    while (position >= start + segments[index].count)
      start += segments[index++].count;
    int64_t used = position - start;
    const MeaningSegment &segment = segments[index];
    return {segment.term, segment.offset + used, segment.count - used};
  }

  /// Appends elements [begin, end) to `into`.
  void copy(int64_t begin, int64_t end, MeaningAnalysis::Segments &into) {
    while (begin < end) {
      MeaningSegment segment = at(begin);
      segment.count = std::min(segment.count, end - begin);
      append(into, segment);
      begin += segment.count;
    }
  }

private:
  ArrayRef<MeaningSegment> segments;
  size_t index = 0;
  int64_t start = 0;
};
} // namespace

static RankedTensorType tensorOf(Value value) {
  if (auto encoded = dyn_cast<EncodedType>(value.getType()))
    return encoded.getTensor();
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

MeaningAnalysis::MeaningAnalysis(StepOp step, const FactAnalysis &facts)
    : step(step), cluster(step.lookupCluster()), facts(facts) {}

int32_t MeaningAnalysis::addTerm(Kind kind, Value value, uint64_t hash) {
  terms.push_back({kind, hash, value, {}});
  return static_cast<int32_t>(terms.size() - 1);
}

/// The term of these words and operands. Terms are compared by their operands'
/// numbers, so two gradients stay two terms, but hashed by the operands'
/// meanings.
int32_t MeaningAnalysis::intern(MeaningTerm term, const Words &words) {
  Words key(words), content(words);
  for (const MeaningTerm::Operand &operand : term.operands) {
    key.append({static_cast<uint64_t>(operand.term),
                static_cast<uint64_t>(operand.shift)});
    content.append(
        {terms[operand.term].hash, static_cast<uint64_t>(operand.shift)});
  }
  auto [entry, isNew] = interned.try_emplace(hashWords(key), terms.size());
  if (!isNew)
    return entry->second;
  term.hash = hashWords(content);
  terms.push_back(std::move(term));
  return static_cast<int32_t>(terms.size() - 1);
}

uint64_t MeaningAnalysis::hashOf(Type type) {
  auto [entry, isNew] = typeHashes.try_emplace(type, 0);
  if (isNew)
    entry->second = hashPrinted(type);
  return entry->second;
}

/// Words for an op's kind and attributes, without its operands, schedule,
/// results' names and costs.
MeaningAnalysis::Words MeaningAnalysis::wordsOf(Operation *op) {
  Words words{llvm::xxh3_64bits(op->getName().getStringRef())};
  if (auto compute = dyn_cast<ComputeOp>(op)) {
    words.push_back(static_cast<uint64_t>(compute.getPhase()));
    words.push_back(llvm::xxh3_64bits(compute.getName()));
    if (AxesAttr axes = compute.getVariesAttr())
      words.push_back(hashPrinted(axes));
    return words;
  }
  NamedAttrList attributes(op->getAttrDictionary());
  for (StringRef name : {"stream", "places", "names", "operandSegmentSizes"})
    attributes.erase(name);
  words.push_back(hashPrinted(attributes.getDictionary(op->getContext())));
  return words;
}

uint64_t MeaningAnalysis::fingerprintOf(Value value) const {
  Words words;
  for (const MeaningSegment &segment : of(value))
    words.append({terms[segment.term].hash,
                  static_cast<uint64_t>(segment.offset),
                  static_cast<uint64_t>(segment.count)});
  return hashWords(words);
}

bool MeaningAnalysis::isReplicated(Value value, AxesAttr over) const {
  auto mask = facts.getContext().maskOf(over);
  for (auto [fact, isIn] : llvm::zip_equal(facts.factsOf(value), mask))
    if (isIn && fact != Fact::Replicated)
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Rearrangement
//===----------------------------------------------------------------------===//

/// The ranges into which a layout cuts `count` elements, in the order of parts.
SmallVector<std::pair<int64_t, int64_t>>
MeaningAnalysis::partsOf(int64_t count, LayoutAttr layout) {
  SmallVector<std::pair<int64_t, int64_t>> parts{{0, count}};
  for (const LayoutEntry &entry : layout.getEntries()) {
    int64_t cuts =
        partCount(LayoutAttr::get(step.getContext(), {entry}), cluster);
    SmallVector<std::pair<int64_t, int64_t>> finer;
    for (auto [begin, end] : parts)
      for (int64_t index = 0; index < cuts; ++index) {
        ElementRange range = partRange(end - begin, cuts, index);
        finer.emplace_back(begin + range.begin, begin + range.end);
      }
    parts = std::move(finer);
  }
  return parts;
}

MeaningAnalysis::Segments MeaningAnalysis::concatenate(ValueRange inputs,
                                                       LayoutAttr striped) {
  Segments joined;
  if (!striped) {
    for (Value input : inputs)
      for (const MeaningSegment &segment : of(input))
        append(joined, segment);
    return joined;
  }
  int32_t padding = intern({Kind::Padding, 0, inputs.front(), {}},
                           {llvm::xxh3_64bits("padding")});
  SmallVector<SmallVector<std::pair<int64_t, int64_t>>> parts;
  std::vector<SegmentReader> readers;
  for (Value input : inputs) {
    parts.push_back(partsOf(getElementCount(tensorOf(input)), striped));
    readers.emplace_back(of(input));
  }
  for (size_t part = 0; part < parts.front().size(); ++part)
    for (auto [index, input] : llvm::enumerate(inputs)) {
      auto [begin, end] = parts[index][part];
      readers[index].copy(begin, end, joined);
      int64_t full =
          maxLocalCount(getElementCount(tensorOf(input)), striped, cluster);
      append(joined, {padding, 0, full - (end - begin)});
    }
  return joined;
}

void MeaningAnalysis::defineSame(Operation *op) {
  meanings[op->getResult(0)] = Segments(of(op->getOperand(0)));
}

void MeaningAnalysis::defineConcat(ConcatOp op) {
  meanings[op.getOutput()] = concatenate(op.getInputs(), op.getStripedAttr());
}

void MeaningAnalysis::defineSplit(SplitOp op) {
  SegmentReader reader(of(op.getInput()));
  LayoutAttr striped = op.getStripedAttr();
  int64_t position = 0;
  SmallVector<Segments> outputs(op.getNumResults());
  SmallVector<SmallVector<std::pair<int64_t, int64_t>>> parts;
  for (Value output : op.getOutputs()) {
    int64_t count = getElementCount(tensorOf(output));
    parts.push_back(striped
                        ? partsOf(count, striped)
                        : SmallVector<std::pair<int64_t, int64_t>>{{0, count}});
  }
  for (size_t part = 0; part < parts.front().size(); ++part)
    for (auto [index, output] : llvm::enumerate(op.getOutputs())) {
      auto [begin, end] = parts[index][part];
      int64_t count = getElementCount(tensorOf(output));
      reader.copy(position, position + end - begin, outputs[index]);
      position += striped ? maxLocalCount(count, striped, cluster) : count;
    }
  for (auto [output, segments] : llvm::zip_equal(op.getOutputs(), outputs))
    meanings[output] = std::move(segments);
}

/// If ranks agree, a part of the tensor is a part of the one logical tensor.
/// Otherwise each part comes from its owner, and a root's copy from the root.
void MeaningAnalysis::defineSlice(SliceOp op) {
  LayoutEntry entry = getLayout(tensorOf(op.getOutput())).getEntries().back();
  bool isServer = entry.kind == LayoutEntry::Kind::Server;
  AxesAttr over = isServer ? cluster.getAllAxes() : entry.getAxes();
  if (isReplicated(op.getInput(), over)) {
    meanings[op.getOutput()] = Segments(of(op.getInput()));
    return;
  }
  if (entry.kind != LayoutEntry::Kind::Root ||
      isCutOver(op.getInput().getType(), over))
    return defineOpaque(op);
  meanings[op.getOutput()] = elementwise(
      Kind::Elementwise, {llvm::xxh3_64bits("root"), hashPrinted(over.str())},
      op.getOutput(), op.getInput());
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Sorts addends by their meanings, and appends their coefficients to the
/// words.
void MeaningAnalysis::sortAddends(MutableArrayRef<MeaningSegment> pieces,
                                  ArrayRef<float> coefficients,
                                  Words &words) const {
  SmallVector<std::tuple<uint64_t, int64_t, uint32_t, int32_t>> addends;
  for (auto [piece, coefficient] : llvm::zip_equal(pieces, coefficients))
    addends.emplace_back(terms[piece.term].hash, piece.offset,
                         llvm::bit_cast<uint32_t>(coefficient), piece.term);
  llvm::sort(addends);
  for (auto [piece, addend] : llvm::zip_equal(pieces, addends)) {
    auto [hash, offset, bits, term] = addend;
    piece = {term, offset, piece.count};
    words.push_back(bits);
  }
}

/// Makes one term for each run of elements along which no operand changes its
/// term. An operand of one element beside longer ones applies to all elements.
MeaningAnalysis::Segments
MeaningAnalysis::elementwise(Kind kind, const Words &words, Value result,
                             ValueRange operands,
                             ArrayRef<float> coefficients) {
  int64_t count = getElementCount(tensorOf(result)), position = 0;
  std::vector<SegmentReader> readers;
  for (Value operand : operands)
    readers.emplace_back(of(operand));
  Segments segments;
  while (position < count) {
    int64_t length = count - position;
    SmallVector<MeaningSegment> pieces;
    Words all(words);
    for (auto [operand, reader] : llvm::zip_equal(operands, readers)) {
      if (getElementCount(tensorOf(operand)) != count) {
        all.push_back(fingerprintOf(operand)); // the learning rate
        continue;
      }
      pieces.push_back(reader.at(position));
      length = std::min(length, pieces.back().count);
    }
    if (!coefficients.empty())
      sortAddends(pieces, coefficients, all);
    MeaningTerm term{kind, 0, result, {}};
    int64_t base = pieces.front().offset;
    for (const MeaningSegment &piece : pieces)
      term.operands.push_back({piece.term, piece.offset - base});
    append(segments, {intern(std::move(term), all), base, length});
    position += length;
  }
  return segments;
}

/// In exact arithmetic the order of a sum does not matter; in a term, addends
/// are sorted by their meanings.
void MeaningAnalysis::defineLinear(LinearOp op) {
  // Operands that are multiplied by 0 are left out.
  SmallVector<Value> addends;
  SmallVector<float> coefficients;
  for (auto [coefficient, input] :
       llvm::zip_equal(op.getCoefficients(), op.getInputs()))
    if (coefficient != 0.0f) {
      addends.push_back(input);
      coefficients.push_back(coefficient);
    }
  if (addends.size() == 1 && coefficients[0] == 1.0f) {
    meanings[op.getOutput()] = Segments(of(addends[0]));
    return;
  }
  meanings[op.getOutput()] =
      elementwise(Kind::Elementwise, {llvm::xxh3_64bits("linear")},
                  op.getOutput(), addends, coefficients);
}

void MeaningAnalysis::defineElementwise(Operation *op) {
  for (OpResult result : op->getResults()) {
    Words words = wordsOf(op);
    words.push_back(result.getResultNumber());
    meanings[result] =
        elementwise(Kind::Elementwise, words, result, op->getOperands());
  }
}

void MeaningAnalysis::defineUpdate(Operation *op) {
  Value gradient = op->getOperand(cast<StepOpInterface>(op).getStateCount());
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    SmallVector<Value> operands{op->getOperand(index), gradient};
    for (auto [number, operand] : llvm::enumerate(op->getOperands()))
      if (number != index && operand != gradient)
        operands.push_back(operand);
    Words words = wordsOf(op);
    words.push_back(index);
    meanings[result] = elementwise(Kind::Update, words, result, operands);
  }
}

/// The term of the sum over a logical tensor, or over parts along some axes.
int32_t MeaningAnalysis::internSum(uint64_t sum, uint64_t axes, Value value) {
  MeaningTerm term{Kind::Opaque, 0, value, {}};
  term.axes = axes;
  term.sum = sum;
  return intern(std::move(term), {llvm::xxh3_64bits("sum"), sum, axes});
}

void MeaningAnalysis::defineSum(Operation *op) {
  Value input = op->getOperand(0);
  uint64_t axes = 0;
  if (LayoutAttr layout = getLayout(tensorOf(input)))
    for (const LayoutEntry &entry : layout.getEntries())
      for (auto [axis, isIn] :
           llvm::enumerate(facts.getContext().maskOf(entry.getAxes())))
        axes |= uint64_t(isIn) << axis;
  Words words = wordsOf(op);
  words.push_back(fingerprintOf(input));
  meanings[op->getResult(0)].clear();
  append(meanings[op->getResult(0)],
         {internSum(hashWords(words), axes, op->getResult(0)), 0, 1});
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

/// A reduction of a reduction over other axes is one reduction over both.
MeaningAnalysis::Segments MeaningAnalysis::reduce(Operation *op, AxesAttr over,
                                                  ReduceKind kind) {
  uint64_t axes = 0;
  for (auto [axis, isIn] : llvm::enumerate(facts.getContext().maskOf(over)))
    axes |= uint64_t(isIn) << axis;
  Segments segments;
  for (MeaningSegment segment : of(op->getOperand(0))) {
    const MeaningTerm &summed = terms[segment.term];
    if (summed.sum && kind == ReduceKind::Sum && !(axes & ~summed.axes)) {
      int32_t whole =
          internSum(summed.sum, summed.axes & ~axes, op->getResult(0));
      append(segments, {whole, segment.offset, segment.count});
      continue;
    }
    MeaningTerm term{Kind::Reduce, 0, op->getResult(0), {{segment.term, 0}}};
    term.axes = axes;
    term.reduction = kind;
    const MeaningTerm &inner = terms[segment.term];
    if (inner.kind == Kind::Reduce && inner.reduction == kind &&
        !(inner.axes & axes)) {
      term.axes |= inner.axes;
      term.operands = inner.operands;
    }
    Words words{llvm::xxh3_64bits("reduce"), static_cast<uint64_t>(kind),
                term.axes};
    append(segments,
           {intern(std::move(term), words), segment.offset, segment.count});
  }
  return segments;
}

void MeaningAnalysis::defineReduction(Operation *op, AxesAttr over,
                                      ReduceKind kind) {
  if (isCutOver(op->getOperand(0).getType(), over))
    return defineOpaque(op);
  meanings[op->getResult(0)] = reduce(op, over, kind);
}

void MeaningAnalysis::defineTermReduction(Operation *op, AxesAttr terms,
                                          ReduceKind kind) {
  meanings[op->getResult(0)] = reduce(op, terms, kind);
}

void MeaningAnalysis::defineMoved(Operation *op, AxesAttr over) {
  if (isCutOver(op->getOperand(0).getType(), over))
    return defineOpaque(op);
  for (OpResult result : op->getResults()) {
    Words words = wordsOf(op);
    words.push_back(result.getResultNumber());
    meanings[result] =
        elementwise(Kind::Elementwise, words, result, op->getOperand(0));
  }
}

void MeaningAnalysis::defineOpaque(Operation *op) {
  Words words = wordsOf(op);
  for (Value operand : op->getOperands())
    words.append({fingerprintOf(operand), hashOf(operand.getType())});
  // Two compute ops of one name with equal operands may hold different code, so
  // they are told apart by the program's order.
  if (isa<ComputeOp>(op))
    words.push_back(twins[hashWords(words)]++);
  for (OpResult result : op->getResults()) {
    Words own(words);
    own.append({result.getResultNumber(), hashOf(result.getType())});
    int32_t term = addTerm(Kind::Opaque, result, hashWords(own));
    meanings[result].clear();
    append(meanings[result], {term, 0, getElementCount(tensorOf(result))});
  }
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// In exact arithmetic a codec loses nothing. A residual is added first; its
/// next value is a function of both.
void MeaningAnalysis::defineEncode(EncodeOp op) {
  if (!op.getResidual()) {
    meanings[op.getOutput()] = Segments(of(op.getInput()));
    return;
  }
  meanings[op.getOutput()] =
      elementwise(Kind::Elementwise, {llvm::xxh3_64bits("feedback")},
                  op.getOutput(), op->getOperands());
  meanings[op.getNextResidual()] = elementwise(
      Kind::Elementwise, wordsOf(op), op.getNextResidual(), op->getOperands());
}

void bagua::defineElementwise(Operation *op, MeaningAnalysis &meanings) {
  meanings.defineElementwise(op);
}

LogicalResult MeaningAnalysis::run() {
  uint64_t axes = hashPrinted(cluster.getAllAxes().str());
  for (BlockArgument argument : step.getBody().getArguments()) {
    ArgumentAttr info = step.getArgument(argument.getArgNumber());
    int32_t term = addTerm(
        Kind::Argument, argument,
        hashWords({llvm::xxh3_64bits(info.getName().getValue()), axes}));
    append(meanings[argument], {term, 0, getElementCount(tensorOf(argument))});
  }
  for (Operation &op : step.getBody().front().without_terminator()) {
    cast<StepOpInterface>(op).defineMeaning(*this);
    // The author of an op forgot a rule.
    for (Value result : op.getResults())
      if (!meanings.contains(result))
        return op.emitOpError("has no rule about the meaning of each of its "
                              "results");
  }
  return success();
}
