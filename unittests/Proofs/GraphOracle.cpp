//===- GraphOracle.cpp - A step, run on every rank ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function an op or a family of ops; each computes what every rank stores
// from what every rank stores.
//
//===----------------------------------------------------------------------===//
#include "GraphOracle.h"

#include "Random.h"
#include "Ranks.h"

#include "bagua/Support/Peers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::proofs;

static uint64_t hashText(StringRef text) {
  uint64_t hash = text.size();
  for (char c : text)
    hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

static uint64_t hashStored(const Stored &stored) {
  uint64_t hash = stored.size();
  for (const std::vector<Number> &term : stored) {
    hash = mix(hash, term.size());
    for (Number number : term)
      hash = mix(hash, number);
  }
  return hash;
}

static RankedTensorType tensorOf(Type type) {
  if (auto encoded = dyn_cast<EncodedType>(type))
    return encoded.getTensor();
  return cast<RankedTensorType>(type);
}

static bool isOnServer(Type type) {
  LayoutAttr layout = getLayout(tensorOf(type));
  return layout && layout.getEntries().back().kind == LayoutEntry::Kind::Server;
}

namespace {
class Interpreter {
public:
  Interpreter(StepOp step, uint64_t seed)
      : step(step), seed(seed), ranks(step.lookupCluster()) {}

  GraphOutcome run();

private:
  using Groups = std::vector<std::vector<size_t>>;
  using Terms = std::vector<const std::vector<Number> *>;

  OnRanks initial(BlockArgument argument);
  void interpret(Operation *op);
  void runAsynchronously();
  const Groups &groupsOver(AxesAttr over);
  size_t placeOf(size_t rank, AxesAttr over);

  bool gatherTerms(const OnRanks &input, const std::vector<size_t> &group,
                   Terms &terms);
  std::vector<Number> combine(const Terms &terms, ReduceKind kind);
  void complete(Value result);
  OnRanks reduce(Operation *op, AxesAttr over, ReduceKind kind);
  OnRanks takePart(Value result, const OnRanks &input);
  OnRanks allGather(AllGatherOp op);
  OnRanks broadcast(BroadcastOp op);
  OnRanks push(PushOp op);
  OnRanks decode(DecodeOp op);
  void encode(EncodeOp op);
  void exchange(ExchangeOp op);
  OnRanks allToAll(AllToAllOp op);
  OnRanks scatterPieces(ReduceScatterOp op);
  OnRanks gatherPieces(AllGatherOp op);
  OnRanks permute(PermuteOp op);
  OnRanks encodedAllToAll(AllToAllOp op);
  OnRanks concat(ConcatOp op);
  void split(SplitOp op);
  OnRanks linear(LinearOp op);
  void sgd(SgdOp op);
  void scramble(Operation *op);
  void scrambleElements(Operation *op);
  OnRanks matmul(MatmulOp op);

  StepOp step;
  uint64_t seed;
  Ranks ranks;
  llvm::DenseMap<Attribute, Groups> groups;
  llvm::MapVector<Value, OnRanks> values;
  bool isDefined = true;
  /// Under asp and ssp: the worker whose push is being applied.
  std::optional<size_t> pushing;
};
} // namespace

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

OnRanks Interpreter::initial(BlockArgument argument) {
  ArgumentAttr info = step.getArgument(argument.getArgNumber());
  auto type = cast<RankedTensorType>(argument.getType());
  bool isOwn =
      info.getRole() == Role::Residual || info.getRole() == Role::Replica;
  AxesAttr differs = info.getRole() == Role::Batch ? step.getDataAxes()
                     : isOwn ? step.lookupCluster().getAllAxes()
                             : info.getVaries();
  OnRanks stored(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    auto range = ranks.rangeOf(rank, type.getNumElements(), getLayout(type));
    if (!range)
      continue;
    uint64_t key = mix(mix(seed, hashText(info.getName().getValue())),
                       ranks.coordinateKey(rank, differs));
    std::vector<Number> numbers;
    for (int64_t i = range->first; i < range->second; ++i)
      numbers.push_back(reduceBits(mix(key, i)));
    stored[rank] = {numbers};
  }
  return stored;
}

const Interpreter::Groups &Interpreter::groupsOver(AxesAttr over) {
  Groups &found = groups[over];
  if (found.empty())
    for (size_t rank = 0; rank < ranks.count(); ++rank)
      found.push_back(ranks.groupOf(rank, over));
  return found;
}

size_t Interpreter::placeOf(size_t rank, AxesAttr over) {
  return llvm::find(groupsOver(over)[rank], rank) -
         groupsOver(over)[rank].begin();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Where an op left something else than its result's type says, a collective
/// did not find its members' values: numbers then that no other program
/// computes.
void Interpreter::complete(Value result) {
  auto encoded = dyn_cast<EncodedType>(result.getType());
  RankedTensorType type = tensorOf(result.getType());
  auto place =
      llvm::find_if(values, [&](auto &entry) { return entry.first == result; });
  uint64_t key = mix(seed, 0xdead + (place - values.begin()));
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    Stored &stored = values[result][rank];
    auto range = ranks.rangeOf(rank, type.getNumElements(), getLayout(type));
    if (!range) {
      stored.clear();
      continue;
    }
    size_t terms = encoded && encoded.getTerms()
                       ? groupsOver(encoded.getTerms())[rank].size()
                       : 1;
    auto count = static_cast<size_t>(range->second - range->first);
    bool isComplete =
        stored.size() == terms &&
        llvm::all_of(stored, [&](const std::vector<Number> &term) {
          return term.size() == count;
        });
    if (isComplete)
      continue;
    isDefined = false;
    stored.assign(terms, std::vector<Number>(count));
    for (size_t i = 0; i < count; ++i)
      stored[0][i] = reduceBits(mix(mix(key, rank), i));
  }
}

/// The members' single terms, of one size; false where one has none.
bool Interpreter::gatherTerms(const OnRanks &input,
                              const std::vector<size_t> &group, Terms &terms) {
  for (size_t member : group) {
    if (input[member].size() != 1)
      return false;
    terms.push_back(&input[member].front());
    if (terms.back()->size() != terms.front()->size())
      return false;
  }
  return true;
}

std::vector<Number> Interpreter::combine(const Terms &terms, ReduceKind kind) {
  std::vector<Number> result = *terms.front();
  for (size_t i = 0; i < result.size(); ++i) {
    for (size_t term = 1; term < terms.size(); ++term) {
      Number other = (*terms[term])[i];
      switch (kind) {
      case ReduceKind::Sum:
      case ReduceKind::Mean:
        result[i] = add(result[i], other);
        break;
      case ReduceKind::Min:
        result[i] = std::min(result[i], other);
        break;
      case ReduceKind::Max:
        result[i] = std::max(result[i], other);
        break;
      }
    }
    if (kind == ReduceKind::Mean)
      result[i] = multiply(result[i], inverse(terms.size()));
  }
  return result;
}

/// Every member gets the combination; those that store nothing (all but the
/// roots of another level) have nothing to do.
OnRanks Interpreter::reduce(Operation *op, AxesAttr over, ReduceKind kind) {
  const OnRanks &input = values[op->getOperand(0)];
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    const std::vector<size_t> &group = groupsOver(over)[rank];
    Terms terms;
    if (gatherTerms(input, group, terms))
      output[rank] = {combine(terms, kind)};
  }
  return output;
}

/// What the last entry of the result's layout gives each rank of what it has.
OnRanks Interpreter::takePart(Value result, const OnRanks &input) {
  LayoutEntry entry = getLayout(tensorOf(result.getType())).getEntries().back();
  if (entry.kind == LayoutEntry::Kind::Server)
    return input;
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    if (input[rank].empty())
      continue;
    size_t place = placeOf(rank, entry.getAxes());
    const std::vector<Number> &numbers = input[rank].front();
    if (entry.kind == LayoutEntry::Kind::Root) {
      if (place == 0)
        output[rank] = input[rank];
      continue;
    }
    size_t members = groupsOver(entry.getAxes())[rank].size();
    auto [begin, end] = Ranks::part(numbers.size(), members, place);
    output[rank] = {{numbers.begin() + begin, numbers.begin() + end}};
  }
  return output;
}

OnRanks Interpreter::push(PushOp op) {
  const OnRanks &input = values[op.getInput()];
  if (isa<EncodedType>(op.getOutput().getType())) {
    OnRanks output(ranks.count());
    for (size_t rank = 0; rank < ranks.count(); ++rank)
      for (size_t member : groupsOver(op.getOver())[rank])
        if (!input[member].empty())
          output[rank].push_back(input[member].front());
    return output;
  }
  if (!pushing)
    return reduce(op, op.getOver(), op.getKind().getValue());
  // The one push that has arrived, at the server that its group shares.
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    const std::vector<size_t> &group = groupsOver(op.getOver())[rank];
    output[rank] = input[group[*pushing % group.size()]];
  }
  return output;
}

OnRanks Interpreter::decode(DecodeOp op) {
  const OnRanks &input = values[op.getInput()];
  if (!op.getInput().getType().getTerms())
    return input;
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    if (input[rank].empty())
      continue;
    Terms terms;
    for (const std::vector<Number> &term : input[rank])
      terms.push_back(&term);
    output[rank] = {combine(terms, op.getKind()->getValue())};
  }
  return output;
}

//===----------------------------------------------------------------------===//
// Other communication
//===----------------------------------------------------------------------===//

OnRanks Interpreter::allGather(AllGatherOp op) {
  const OnRanks &input = values[op.getInput()];
  auto encoded = dyn_cast<EncodedType>(op.getOutput().getType());
  bool makesTerms = encoded && encoded.getTerms();
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    Stored gathered(makesTerms ? 0 : 1);
    bool isThere = true;
    for (size_t member : groupsOver(op.getOver())[rank]) {
      if (input[member].size() != 1) {
        isThere = false;
        break;
      }
      const std::vector<Number> &part = input[member].front();
      if (makesTerms)
        gathered.push_back(part);
      else
        gathered[0].insert(gathered[0].end(), part.begin(), part.end());
    }
    if (isThere)
      output[rank] = gathered;
  }
  return output;
}

OnRanks Interpreter::broadcast(BroadcastOp op) {
  const OnRanks &input = values[op.getInput()];
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank)
    output[rank] = input[groupsOver(op.getOver())[rank].front()];
  return output;
}

void Interpreter::exchange(ExchangeOp op) {
  const OnRanks &input = values[op.getInput()];
  std::vector<OnRanks> outputs(op.getNumResults(), OnRanks(ranks.count()));
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    const std::vector<size_t> &group = groupsOver(op.getOver())[rank];
    auto size = static_cast<int64_t>(group.size());
    auto place = static_cast<int64_t>(placeOf(rank, op.getOver()));
    if (op.getPattern() == ExchangePattern::Ring) {
      outputs[0][rank] = input[group[(place + size - 1) % size]];
      outputs[1][rank] = input[group[(place + 1) % size]];
    } else {
      outputs[0][rank] = input[group[shiftOnePeer(
          place, size, static_cast<int64_t>(seed % 7))]];
    }
  }
  for (auto [result, output] : llvm::zip_equal(op.getOutputs(), outputs))
    values[result] = output;
}

OnRanks Interpreter::encodedAllToAll(AllToAllOp op) {
  const OnRanks &input = values[op.getInput()];
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    const std::vector<size_t> &group = groupsOver(op.getOver())[rank];
    for (size_t member : group) {
      if (input[member].empty())
        continue;
      const std::vector<Number> &numbers = input[member].front();
      auto [begin, end] = Ranks::part(numbers.size(), group.size(),
                                      placeOf(rank, op.getOver()));
      output[rank].push_back({numbers.begin() + begin, numbers.begin() + end});
    }
  }
  return output;
}

/// Element by element, by its coordinates in the whole that the group makes up.
OnRanks Interpreter::allToAll(AllToAllOp op) {
  if (isa<EncodedType>(op.getInput().getType()))
    return encodedAllToAll(op);
  const OnRanks &input = values[op.getInput()];
  ArrayRef<int64_t> inShape = tensorOf(op.getInput().getType()).getShape();
  ArrayRef<int64_t> outShape = tensorOf(op.getOutput().getType()).getShape();
  int64_t splitDim = *op.getSplitDim(), concatDim = *op.getConcatDim();
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    const std::vector<size_t> &group = groupsOver(op.getOver())[rank];
    auto place = static_cast<int64_t>(placeOf(rank, op.getOver()));
    std::vector<Number> numbers;
    int64_t count = tensorOf(op.getOutput().getType()).getNumElements();
    for (int64_t element = 0; element < count; ++element) {
      SmallVector<int64_t> at(outShape.size());
      int64_t rest = element;
      for (size_t d = outShape.size(); d-- > 0; rest /= outShape[d])
        at[d] = rest % outShape[d];
      // Along the concatenated dimension lie the members, one after the other.
      int64_t width = outShape[concatDim] / static_cast<int64_t>(group.size());
      int64_t member = at[concatDim] / width;
      at[concatDim] %= width;
      at[splitDim] +=
          place * (inShape[splitDim] / static_cast<int64_t>(group.size()));
      int64_t index = 0;
      for (size_t d = 0; d < inShape.size(); ++d)
        index = index * inShape[d] + at[d];
      numbers.push_back(input[group[member]].front()[index]);
    }
    output[rank] = {numbers};
  }
  return output;
}

/// The rank's rows of the sum, where rows lie along the dimension.
OnRanks Interpreter::scatterPieces(ReduceScatterOp op) {
  OnRanks sums = reduce(op, op.getOver(), op.getKind().getValue());
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  ArrayRef<int64_t> piece = op.getOutput().getType().getShape();
  auto dimension = static_cast<size_t>(*op.getSplitDim());
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    auto place = static_cast<int64_t>(placeOf(rank, op.getOver()));
    std::vector<Number> numbers;
    for (auto [index, number] : llvm::enumerate(sums[rank].front())) {
      auto at = static_cast<int64_t>(index);
      for (size_t d = shape.size(); d-- > dimension + 1;)
        at /= shape[d];
      at %= shape[dimension];
      if (at / piece[dimension] == place)
        numbers.push_back(number);
    }
    output[rank] = {numbers};
  }
  return output;
}

/// Row by row, from one member after the other.
OnRanks Interpreter::gatherPieces(AllGatherOp op) {
  const OnRanks &input = values[op.getInput()];
  auto piece = cast<RankedTensorType>(op.getInput().getType());
  auto dimension = static_cast<size_t>(*op.getConcatDim());
  size_t run = 1;
  for (int64_t size : piece.getShape().drop_front(dimension))
    run *= size;
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    std::vector<Number> numbers;
    for (size_t at = 0; at < static_cast<size_t>(piece.getNumElements());
         at += run)
      for (size_t member : groupsOver(op.getOver())[rank]) {
        const std::vector<Number> &own = input[member].front();
        numbers.insert(numbers.end(), own.begin() + at, own.begin() + at + run);
      }
    output[rank] = {numbers};
  }
  return output;
}

OnRanks Interpreter::permute(PermuteOp op) {
  const OnRanks &input = values[op.getInput()];
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    const std::vector<size_t> &group = groupsOver(op.getOver())[rank];
    std::vector<Number> numbers(input[rank].front().size(), 0);
    for (size_t i = 0; i < op.getPairs().size(); i += 2)
      if (group[op.getPairs()[i + 1]] == rank)
        numbers = input[group[op.getPairs()[i]]].front();
    output[rank] = {numbers};
  }
  return output;
}

//===----------------------------------------------------------------------===//
// Rearrangement
//===----------------------------------------------------------------------===//

/// A bucket's pieces: for each, which tensor it comes from, which of what the
/// rank stores of that, and the padding behind it.
namespace {
struct Piece {
  size_t tensor;
  int64_t begin, end, padding;
};
} // namespace

static std::vector<Piece> piecesOf(const Ranks &ranks, TypeRange tensors,
                                   LayoutAttr striped,
                                   ArrayRef<int64_t> stored) {
  std::vector<Piece> pieces;
  if (!striped) {
    for (auto [index, count] : llvm::enumerate(stored))
      pieces.push_back({index, 0, count, 0});
    return pieces;
  }
  bool isCut = getLayout(cast<RankedTensorType>(tensors[0])) != nullptr;
  std::vector<std::vector<std::pair<int64_t, int64_t>>> parts;
  std::vector<int64_t> full;
  for (Type type : tensors) {
    parts.push_back(
        ranks.allParts(cast<ShapedType>(type).getNumElements(), striped));
    int64_t largest = 0;
    for (auto [begin, end] : parts.back())
      largest = std::max(largest, end - begin);
    full.push_back(largest);
  }
  size_t count = isCut ? 1 : parts.front().size();
  for (size_t part = 0; part < count; ++part)
    for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
      auto [begin, end] = isCut ? std::make_pair(int64_t(0), stored[tensor])
                                : parts[tensor][part];
      pieces.push_back({tensor, begin, end, full[tensor] - (end - begin)});
    }
  return pieces;
}

OnRanks Interpreter::concat(ConcatOp op) {
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    SmallVector<int64_t> stored;
    for (Value input : op.getInputs())
      if (!values[input][rank].empty())
        stored.push_back(values[input][rank].front().size());
    if (stored.size() != op.getInputs().size())
      continue;
    std::vector<Number> bucket;
    for (const Piece &piece : piecesOf(ranks, op.getInputs().getTypes(),
                                       op.getStripedAttr(), stored)) {
      const std::vector<Number> &from =
          values[op.getInputs()[piece.tensor]][rank].front();
      bucket.insert(bucket.end(), from.begin() + piece.begin,
                    from.begin() + piece.end);
      bucket.insert(bucket.end(), piece.padding, 0);
    }
    output[rank] = {bucket};
  }
  return output;
}

void Interpreter::split(SplitOp op) {
  const OnRanks input = values[op.getInput()];
  std::vector<OnRanks> outputs(op.getNumResults(), OnRanks(ranks.count()));
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    if (input[rank].empty())
      continue;
    SmallVector<int64_t> stored;
    for (Value output : op.getOutputs()) {
      auto type = cast<RankedTensorType>(output.getType());
      auto range = ranks.rangeOf(rank, type.getNumElements(), getLayout(type));
      stored.push_back(range->second - range->first);
    }
    int64_t position = 0;
    std::vector<std::vector<Number>> cut(op.getNumResults());
    for (const Piece &piece : piecesOf(ranks, op.getOutputs().getTypes(),
                                       op.getStripedAttr(), stored)) {
      auto from = input[rank].front().begin() + position;
      int64_t length = piece.end - piece.begin;
      cut[piece.tensor].insert(cut[piece.tensor].end(), from, from + length);
      position += length + piece.padding;
    }
    for (auto [output, numbers] : llvm::zip_equal(outputs, cut))
      output[rank] = {numbers};
  }
  for (auto [result, output] : llvm::zip_equal(op.getOutputs(), outputs))
    values[result] = output;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

OnRanks Interpreter::linear(LinearOp op) {
  OnRanks output(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    std::vector<Number> sum;
    for (auto [coefficient, input] :
         llvm::zip_equal(op.getCoefficients(), op.getInputs())) {
      if (values[input][rank].empty())
        continue;
      const std::vector<Number> &numbers = values[input][rank].front();
      sum.resize(numbers.size(), 0);
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] = add(sum[i], multiply(numberOf(coefficient), numbers[i]));
    }
    if (!values[op.getInputs()[0]][rank].empty())
      output[rank] = {sum};
  }
  return output;
}

void Interpreter::sgd(SgdOp op) {
  OnRanks params(ranks.count()), moments(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    if (values[op.getGrad()][rank].empty())
      continue;
    std::vector<Number> w = values[op.getStates()[0]][rank].front();
    std::vector<Number> m = values[op.getGrad()][rank].front();
    Number rate =
        op.getLr() ? values[op.getLr()][rank].front().front()
                   : numberOf(op.getLrValueAttr().getValue().convertToFloat());
    for (size_t i = 0; i < w.size() && i < m.size(); ++i) {
      if (FloatAttr momentum = op.getMomentumAttr())
        m[i] =
            add(m[i], multiply(numberOf(momentum.getValue().convertToFloat()),
                               values[op.getStates()[1]][rank].front()[i]));
      w[i] = add(w[i], negate(multiply(rate, m[i])));
    }
    params[rank] = {w};
    moments[rank] = {m};
  }
  values[op.getOutputs()[0]] = params;
  if (op.getNumResults() > 1)
    values[op.getOutputs()[1]] = moments;
}

static constexpr StringLiteral kTag = "test.function";

void bagua::proofs::tagCompute(StepOp step) {
  Builder builder(step.getContext());
  int64_t tag = 1;
  for (auto op : step.getBody().front().getOps<ComputeOp>())
    op->setAttr(kTag, builder.getI64IntegerAttr(tag++));
}

/// What an op is, but for where and when it runs.
static uint64_t hashOp(Operation *op) {
  if (auto compute = dyn_cast<ComputeOp>(op)) {
    auto tag = op->getAttrOfType<IntegerAttr>(kTag);
    return mix(mix(hashText(compute.getName()), tag ? tag.getInt() : 0),
               static_cast<uint64_t>(compute.getPhase()));
  }
  uint64_t hash = hashText(op->getName().getStringRef());
  for (NamedAttribute attribute : op->getAttrDictionary()) {
    StringRef name = attribute.getName();
    if (name == "stream" || name == "places" || name == "names")
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << attribute.getValue();
    hash = mix(mix(hash, hashText(name)), hashText(text));
  }
  return hash;
}

/// Every element depends on all of what the rank has of all operands.
void Interpreter::scramble(Operation *op) {
  for (OpResult result : op->getResults())
    values[result] = OnRanks(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    uint64_t key = hashOp(op);
    for (Value operand : op->getOperands())
      key = mix(key, hashStored(values[operand][rank]));
    if (auto compute = dyn_cast<ComputeOp>(op); compute && compute.getVaries())
      key = mix(key, placeOf(rank, *compute.getVaries()));
    for (OpResult result : op->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      auto range = ranks.rangeOf(rank, type.getNumElements(), getLayout(type));
      if (!range)
        continue;
      std::vector<Number> numbers;
      for (int64_t i = 0; i < range->second - range->first; ++i)
        numbers.push_back(
            reduceBits(mix(mix(key, result.getResultNumber()), i)));
      values[result][rank] = {numbers};
    }
  }
}

/// Every element depends on the elements beside it; a scalar on all.
void Interpreter::scrambleElements(Operation *op) {
  std::vector<OnRanks> outputs(op->getNumResults(), OnRanks(ranks.count()));
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    const Stored &first = values[op->getOperand(0)][rank];
    for (size_t result = 0; !first.empty() && result < outputs.size();
         ++result) {
      std::vector<Number> numbers;
      for (size_t i = 0; i < first.front().size(); ++i) {
        uint64_t key = mix(hashOp(op), result);
        for (Value operand : op->getOperands()) {
          const Stored &stored = values[operand][rank];
          if (stored.empty() || stored.front().empty())
            continue;
          size_t count = stored.front().size();
          key =
              mix(key, stored.front()[count == 1 ? 0 : std::min(i, count - 1)]);
        }
        numbers.push_back(reduceBits(key));
      }
      outputs[result][rank] = {numbers};
    }
  }
  for (auto [result, output] : llvm::zip_equal(op->getResults(), outputs))
    values[result] = output;
}

/// Without loss: the value (with the residual added), and a residual that
/// depends on both.
void Interpreter::encode(EncodeOp op) {
  if (!op.getResidual()) {
    values[op.getOutput()] = OnRanks(values[op.getInput()]);
    return;
  }
  OnRanks output(ranks.count()), next(ranks.count());
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    if (values[op.getInput()][rank].empty())
      continue;
    std::vector<Number> x = values[op.getInput()][rank].front();
    const std::vector<Number> &e = values[op.getResidual()][rank].front();
    std::vector<Number> rest;
    for (size_t i = 0; i < x.size(); ++i) {
      rest.push_back(reduceBits(mix(mix(hashOp(op), x[i]), e[i])));
      x[i] = add(x[i], e[i]);
    }
    output[rank] = {x};
    next[rank] = {rest};
  }
  values[op.getOutput()] = output;
  values[op.getNextResidual()] = next;
}

OnRanks Interpreter::matmul(MatmulOp op) {
  OnRanks output(ranks.count());
  int64_t lhsColumns = op.getLhs().getType().getDimSize(1);
  int64_t rhsColumns = op.getRhs().getType().getDimSize(1);
  ArrayRef<int64_t> shape = op.getOutput().getType().getShape();
  int64_t inner =
      op.getLhs().getType().getDimSize(op.getTransposeLhs() ? 0 : 1);
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    const std::vector<Number> &a = values[op.getLhs()][rank].front();
    const std::vector<Number> &b = values[op.getRhs()][rank].front();
    std::vector<Number> c;
    for (int64_t i = 0; i < shape[0]; ++i)
      for (int64_t j = 0; j < shape[1]; ++j) {
        Number sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          sum =
              add(sum, multiply(a[op.getTransposeLhs() ? k * lhsColumns + i
                                                       : i * lhsColumns + k],
                                b[op.getTransposeRhs() ? j * rhsColumns + k
                                                       : k * rhsColumns + j]));
        c.push_back(sum);
      }
    output[rank] = {c};
  }
  return output;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Interpreter::interpret(Operation *op) {
  // Before anything else: a reference into the map must stay where it is.
  for (Value result : op->getResults())
    values.insert({result, {}});
  auto set = [&](OnRanks stored) {
    values[op->getResult(0)] = std::move(stored);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<AfterOp, PullOp>(
          [&](auto) { set(OnRanks(values[op->getOperand(0)])); })
      .Case([&](CastOp castOp) {
        // Between floats nothing is lost here; rounding is a function.
        if (isa<FloatType>(castOp.getInput().getType().getElementType()) &&
            isa<FloatType>(castOp.getOutput().getType().getElementType()))
          set(OnRanks(values[castOp.getInput()]));
        else
          scrambleElements(op);
      })
      .Case([&](ConcatOp concatOp) { set(concat(concatOp)); })
      .Case([&](SplitOp splitOp) { split(splitOp); })
      .Case([&](SliceOp slice) {
        set(takePart(slice.getOutput(), values[slice.getInput()]));
      })
      .Case([&](AllReduceOp all) {
        set(reduce(op, all.getOver(), all.getKind().getValue()));
      })
      .Case([&](ReduceScatterOp part) {
        set(part.isInPieces() ? scatterPieces(part)
                              : takePart(part.getOutput(),
                                         reduce(op, part.getOver(),
                                                part.getKind().getValue())));
      })
      .Case([&](ReduceOp part) {
        set(takePart(part.getOutput(),
                     reduce(op, part.getOver(), part.getKind().getValue())));
      })
      .Case([&](PushOp pushOp) { set(push(pushOp)); })
      .Case([&](AllGatherOp gather) {
        set(gather.isInPieces() ? gatherPieces(gather) : allGather(gather));
      })
      .Case([&](PermuteOp permuteOp) { set(permute(permuteOp)); })
      .Case([&](BroadcastOp broadcastOp) { set(broadcast(broadcastOp)); })
      .Case([&](ExchangeOp exchangeOp) { exchange(exchangeOp); })
      .Case([&](AllToAllOp all) { set(allToAll(all)); })
      .Case([&](EncodeOp encodeOp) { encode(encodeOp); })
      .Case([&](DecodeOp decodeOp) { set(decode(decodeOp)); })
      .Case([&](LinearOp linearOp) { set(linear(linearOp)); })
      .Case([&](SgdOp sgdOp) { sgd(sgdOp); })
      .Case<AdamOp, AdamApplyOp>([&](auto) { scrambleElements(op); })
      .Case([&](MatmulOp product) { set(matmul(product)); })
      .Default([&](Operation *) { scramble(op); });
  for (Value result : op->getResults())
    complete(result);
}

/// Every worker runs its own part once, with what it pulled at the start; the
/// servers' part runs for one worker's pushes after the other.
void Interpreter::runAsynchronously() {
  Block &block = step.getBody().front();
  std::vector<Operation *> onServers;
  pushing = 0;
  for (Operation &op : block.without_terminator()) {
    interpret(&op);
    if (isOnServer(op.getResult(0).getType()))
      onServers.push_back(&op);
  }
  for (size_t worker = 1; worker < ranks.count(); ++worker) {
    std::vector<OnRanks> next;
    for (Value value : step.getYield().getValues())
      next.push_back(values[value]);
    for (auto [index, argument] : llvm::enumerate(step.getStateArguments()))
      values[step.getBody().getArgument(argument)] = next[index];
    pushing = worker;
    for (Operation *op : onServers)
      interpret(op);
  }
}

static void addTo(OnRanks &values, const OnRanks &others) {
  for (auto [stored, other] : llvm::zip_equal(values, others))
    for (auto [term, otherTerm] : llvm::zip_equal(stored, other))
      for (auto [number, otherNumber] : llvm::zip_equal(term, otherTerm))
        number = add(number, otherNumber);
}

GraphOutcome Interpreter::run() {
  Block &block = step.getBody().front();
  for (BlockArgument argument : block.getArguments())
    values[argument] = initial(argument);
  if (step.isAsynchronous())
    runAsynchronously();
  else
    for (Operation &op : block.without_terminator())
      interpret(&op);
  GraphOutcome outcome;
  for (auto [value, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    outcome.states.push_back(values[value]);
    if (step.getYield().getAdd())
      addTo(outcome.states.back(), initial(block.getArgument(argument)));
  }
  outcome.isDefined = isDefined;
  return outcome;
}

GraphOutcome bagua::proofs::runStep(StepOp step, uint64_t seed) {
  return Interpreter(step, seed).run();
}
