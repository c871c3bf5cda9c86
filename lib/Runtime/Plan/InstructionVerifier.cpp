//===- InstructionVerifier.cpp - What each opcode asks --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts, types and layouts of an instruction's values, its attributes, and how
// its results may overlap its operands. The same rules as the dialect's
// verifiers, for plans that may come from anywhere.
//
//===----------------------------------------------------------------------===//
#include "FieldChecks.h"
#include "Opcodes.h"
#include "PlanVerifier.h"

#include "bagua/Support/DataType.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace bagua::runtime {
namespace {

using absl::StrCat;

class InstructionVerifier {
public:
  InstructionVerifier(PlanVerifier &plan, const fb::Instruction &op)
      : plan(plan), op(op), cluster(plan.cluster()) {}

  absl::Status verify();

private:
  absl::Status readOperands();
  absl::Status verifyAttributes();
  absl::Status verifyOpcode();
  absl::Status verifyCollective(Collective collective);
  absl::Status verifyConcat();
  absl::Status verifySplit();
  absl::Status verifyCast();
  absl::Status verifyEncode();
  absl::Status verifyDecode();
  absl::Status expectPlain();
  absl::Status verifyEncodedAllToAll();
  absl::Status verifyEncodedAllGather();
  absl::Status verifyArithmetic();
  absl::Status expectCounts(size_t inputCount, size_t outputCount);
  absl::Status expectOneType();
  absl::Status expectPushed(const VerifiedValue &whole,
                            const VerifiedValue &part, LayoutPart::Kind kind);
  absl::Status verifyAllReduce();
  absl::Status verifyAllToAll();
  absl::Status verifyShape(const VerifiedValue &whole, uint32_t dimension);
  absl::Status verifyPieces(const VerifiedValue &whole,
                            const VerifiedValue &piece, uint32_t dimension);
  absl::Status verifyPermute();
  absl::Status verifyExchange();
  absl::Status verifyServers(const VerifiedValue &onWorkers,
                             const VerifiedValue &onServers);
  absl::Status verifyBucket(const VerifiedValue &bucket,
                            const std::vector<VerifiedValue> &tensors);
  absl::Status verifySlice();
  absl::Status verifyUpdate(const UpdateRow &row);
  absl::Status verifyNorm();
  bool isInShards(const VerifiedValue &value) const;
  absl::Status verifyAfter();
  absl::Status verifyLearningRate(const VerifiedValue &rate);
  absl::Status verifyRanks();
  absl::Status verifyOverlaps();
  bool mayOverlap(const VerifiedValue &input, const VerifiedValue &output);
  bool mayOverlap(Collective collective, const VerifiedValue &input,
                  const VerifiedValue &output);

  InstructionKind kind() const { return kindOf(op.opcode()); }
  size_t constantCount() const {
    return op.constants() ? op.constants()->size() : 0;
  }
  int64_t groupSize() const { return cluster.topology().groupSize(axes); }

  PlanVerifier &plan;
  const fb::Instruction &op;
  const PlanCluster &cluster;
  std::vector<int64_t> axes;
  std::vector<VerifiedValue> inputs;
  std::vector<VerifiedValue> outputs;
  int striped = 0;
};

absl::Status InstructionVerifier::readOperands() {
  auto read = [&](const flatbuffers::Vector<uint32_t> *list, const char *what,
                  std::vector<VerifiedValue> &values) -> absl::Status {
    absl::Status status = plan.verifyIndices(list, plan.values().size(), what);
    if (status.ok() && list)
      for (uint32_t value : *list)
        values.push_back(plan.values()[value]);
    return status;
  };
  absl::Status status = read(op.inputs(), "inputs", inputs);
  return status.ok() ? read(op.outputs(), "outputs", outputs) : status;
}

absl::Status InstructionVerifier::verifyAttributes() {
  if (op.kind() > fb::ReduceKind::MAX ||
      op.pattern() > fb::ExchangePattern::MAX ||
      op.bias_correction() > fb::BiasCorrection::MAX)
    return invalid("unknown kind, pattern or bias correction");
  if (absl::Status status = plan.verifyAxes(op.axes()); !status.ok())
    return status;
  if (op.axes())
    axes.assign(op.axes()->begin(), op.axes()->end());
  if (absl::StatusOr<int64_t> count = countElements(op.shape()); !count.ok())
    return count.status();
  if ((kind() == InstructionKind::Collective) == axes.empty())
    return invalid(axes.empty() ? "expected axes to communicate over"
                                : "expected no axes, found some");
  absl::StatusOr<int> layout = plan.verifyLayout(op.striped());
  if (!layout.ok())
    return layout.status();
  striped = *layout;
  if (absl::Status status = plan.spend(constantCount()); !status.ok())
    return status;
  for (size_t i = 0; i < constantCount(); ++i)
    if (!std::isfinite(op.constants()->Get(i)))
      return invalid("expected finite constants");
  if (op.has_learning_rate() && !std::isfinite(op.learning_rate()))
    return invalid("expected a finite learning rate");
  return absl::OkStatus();
}

absl::Status InstructionVerifier::expectCounts(size_t inputCount,
                                               size_t outputCount) {
  if (inputs.size() == inputCount && outputs.size() == outputCount)
    return absl::OkStatus();
  return invalid(StrCat("expected ", inputCount, " inputs and ", outputCount,
                        " outputs, found ", inputs.size(), " and ",
                        outputs.size()));
}

/// All values have one element type, count and layout.
absl::Status InstructionVerifier::expectOneType() {
  for (auto *list : {&inputs, &outputs})
    for (const VerifiedValue &value : *list)
      if (!value.hasTypeOf(inputs[0]))
        return invalid("expected values of one element type, count and layout");
  return absl::OkStatus();
}

/// `part` is `whole` with one more entry, a shard or root over the op's axes.
absl::Status InstructionVerifier::expectPushed(const VerifiedValue &whole,
                                               const VerifiedValue &part,
                                               LayoutPart::Kind kind) {
  Layout expected = plan.layoutOf(whole);
  if (isOnServers(expected))
    return invalid("expected a value on workers, found one on servers");
  expected.push_back({kind, axes, -1});
  if (plan.layoutOf(part) != expected || part.type != whole.type ||
      part.count != whole.count)
    return invalid(StrCat("expected a value of ", whole.count,
                          " elements of one type in layout ",
                          layoutToString(expected), ", found ", part.count,
                          " in layout ", layoutToString(plan.layoutOf(part))));
  return absl::OkStatus();
}

absl::Status InstructionVerifier::verifyAllReduce() {
  if (absl::Status status = expectOneType(); !status.ok())
    return status;
  const Layout &layout = plan.layoutOf(inputs[0]);
  if (isOnServers(layout))
    return invalid("expected a value on workers, found one on servers");
  for (const LayoutPart &entry : layout)
    for (int64_t axis : entry.axes)
      if (std::find(axes.begin(), axes.end(), axis) != axes.end())
        return invalid(StrCat("communicates over axis ", axis,
                              ", over which the value is stored in parts"));
  return absl::OkStatus();
}

/// The shape is that of `whole`, and the group divides the dimension.
absl::Status InstructionVerifier::verifyShape(const VerifiedValue &whole,
                                              uint32_t dimension) {
  size_t rank = op.shape() ? op.shape()->size() : 0;
  if (rank > kMaxAxes || op.split_dim() >= rank || op.concat_dim() >= rank)
    return invalid(StrCat("expected a shape of at most ", kMaxAxes,
                          " dimensions, split and concat among them, found ",
                          rank, " dimensions"));
  int64_t count = *countElements(op.shape());
  if (count != whole.count)
    return invalid(StrCat("expected a shape of ", whole.count,
                          " elements, found ", count));
  if (op.shape()->Get(dimension) % groupSize() != 0)
    return invalid(StrCat("expected dimension ", dimension, " divisible by ",
                          groupSize(), ", found ", op.shape()->Get(dimension)));
  return absl::OkStatus();
}

/// Checks that no value is encoded. Only a few ops work on encoded values.
absl::Status InstructionVerifier::expectPlain() {
  for (auto *list : {&inputs, &outputs})
    for (const VerifiedValue &value : *list)
      if (value.isEncoded())
        return invalid("expected values that are not encoded, found one");
  return absl::OkStatus();
}

/// x in parts over the axes -> terms over the axes of a rank's part of x.
absl::Status InstructionVerifier::verifyEncodedAllToAll() {
  const VerifiedValue &input = inputs[0];
  const VerifiedValue &output = outputs[0];
  EncodedForm parts = plan.formOf(input);
  EncodedForm terms = {parts.encoding, {}, axes};
  Layout part = plan.layoutOf(input);
  part.push_back({LayoutPart::Kind::Shard, axes, -1});
  if (!input.isEncoded() || parts.parts != axes || !parts.terms.empty() ||
      plan.formOf(output) != terms || input.type != output.type ||
      input.count != output.count || plan.layoutOf(output) != part)
    return invalid("expected an input encoded in parts over the axes, and an "
                   "output of the same encoding with one term of each rank for "
                   "this rank's part");
  return absl::OkStatus();
}

/// An encoded part of x -> x in parts; an encoded x -> a term of each rank.
absl::Status InstructionVerifier::verifyEncodedAllGather() {
  const VerifiedValue &input = inputs[0];
  const VerifiedValue &output = outputs[0];
  EncodedForm form = plan.formOf(input);
  Layout layout = plan.layoutOf(input);
  bool isPart = !layout.empty() &&
                layout.back() == LayoutPart{LayoutPart::Kind::Shard, axes, -1};
  bool isSound = input.isEncoded() && form.parts.empty() && form.terms.empty();
  if (isPart) {
    layout.pop_back();
    form.parts = axes;
  } else {
    form.terms = axes;
  }
  if (!isSound || plan.formOf(output) != form || input.type != output.type ||
      input.count != output.count || plan.layoutOf(output) != layout)
    return invalid("expected as output, in the input's encoding, the whole "
                   "value in parts for an encoded part, or one term of each "
                   "rank for an encoded value");
  return absl::OkStatus();
}

absl::Status InstructionVerifier::verifyAllToAll() {
  const VerifiedValue &input = inputs[0];
  const VerifiedValue &output = outputs[0];
  if (input.type != output.type || input.count != output.count ||
      input.layout != 0 || output.layout != 0)
    return invalid("expected whole tensors of one element type and count");
  return verifyShape(input, op.split_dim());
}

absl::Status InstructionVerifier::verifyPieces(const VerifiedValue &whole,
                                               const VerifiedValue &piece,
                                               uint32_t dimension) {
  if (whole.type != piece.type || whole.layout != 0 || piece.layout != 0 ||
      whole.count % groupSize() != 0 ||
      whole.count / groupSize() != piece.count)
    return invalid(StrCat("expected a tensor and a piece of it of one element "
                          "type, without layouts, found ",
                          whole.count, " and ", piece.count,
                          " elements in a group of ", groupSize()));
  return verifyShape(whole, dimension);
}

absl::Status InstructionVerifier::verifyPermute() {
  if (absl::Status status = verifyAllReduce(); !status.ok())
    return status;
  return plan.verifyPairs(op.pairs(), groupSize());
}

absl::Status InstructionVerifier::verifyExchange() {
  bool isRing = op.pattern() == fb::ExchangePattern::Ring;
  if (absl::Status status = expectCounts(1, isRing ? 2 : 1); !status.ok())
    return status;
  if (!isRing && groupSize() % 2 != 0)
    return invalid(StrCat("expected a group of even size for shift_one, found ",
                          groupSize()));
  return verifyAllReduce();
}

absl::Status
InstructionVerifier::verifyServers(const VerifiedValue &onWorkers,
                                   const VerifiedValue &onServers) {
  Layout expected = plan.layoutOf(onWorkers);
  const Layout &found = plan.layoutOf(onServers);
  if (isOnServers(expected) || !isOnServers(found))
    return invalid("expected one value on workers and one on servers");
  std::vector<bool> isCovered(cluster.topology().axisCount());
  for (int64_t axis : axes)
    isCovered[axis] = true;
  for (const LayoutPart &entry : expected)
    for (int64_t axis : entry.axes) {
      if (isCovered[axis])
        return invalid(StrCat("communicates over axis ", axis,
                              ", over which the value is stored in parts"));
      isCovered[axis] = true;
    }
  for (size_t axis = 0; axis < isCovered.size(); ++axis)
    if (!isCovered[axis] && cluster.topology().axisSize(axis) > 1)
      return invalid(StrCat("servers would hold a value for each coordinate of "
                            "axis ",
                            axis, ", which the layout doesn't name"));
  expected.push_back(found.back());
  if (found != expected || onWorkers.type != onServers.type ||
      onWorkers.count != onServers.count)
    return invalid("expected values that differ by a server entry alone");
  return absl::OkStatus();
}

absl::Status
InstructionVerifier::verifyBucket(const VerifiedValue &bucket,
                                  const std::vector<VerifiedValue> &tensors) {
  const Layout &layout = plan.layoutOf(bucket);
  if (striped != 0 && bucket.layout != 0 && bucket.layout != striped)
    return invalid("expected the layout of 'striped', or none");
  const Layout &stripes = plan.layoutOf({bucket.type, 0, striped});
  if (striped != 0 && isOnServers(stripes) && stripes.size() > 1)
    return invalid("striped over shards and servers is not supported");
  if (striped == 0 && partCount(layout, cluster) > 1 && tensors.size() > 1)
    return invalid("expected 'striped' for values that are stored in parts");
  int64_t total = 0;
  for (const VerifiedValue &tensor : tensors) {
    if (tensor.type != bucket.type || tensor.layout != bucket.layout)
      return invalid("expected values of one element type and layout");
    total += striped == 0 ? tensor.count
                          : maxPartCount(tensor.count, stripes, cluster) *
                                partCount(stripes, cluster);
    if (total > kMaxElements)
      break;
  }
  if (total != bucket.count)
    return invalid(StrCat("expected element counts that add up to ",
                          bucket.count, ", found ", total));
  return absl::OkStatus();
}

absl::Status InstructionVerifier::verifySlice() {
  if (absl::Status status = expectCounts(1, 1); !status.ok())
    return status;
  Layout layout = plan.layoutOf(outputs[0]);
  if (isOnServers(layout))
    return invalid("a slice onto servers is not supported: push");
  if (layout.empty())
    return invalid("expected a layout of one entry more, found none");
  layout.pop_back();
  if (layout != plan.layoutOf(inputs[0]) || inputs[0].type != outputs[0].type ||
      inputs[0].count != outputs[0].count)
    return invalid("expected the operand with one more entry in its layout");
  return absl::OkStatus();
}

absl::Status
InstructionVerifier::verifyLearningRate(const VerifiedValue &rate) {
  if (rate.count != 1 || rate.layout != 0 || isInteger(rate.type))
    return invalid("expected a learning rate of one floating-point element");
  const Layout &layout = plan.layoutOf(outputs[0]);
  // All servers are numbered -1, dedicated ones come first.
  bool isOnDedicated =
      isOnServers(layout) &&
      std::max<int64_t>(layout.back().server, 0) < cluster.topology().servers();
  if (isOnDedicated && !rate.isOnEveryRank)
    return invalid("expected a learning rate that is an input, which dedicated "
                   "servers store, for states on them");
  return absl::OkStatus();
}

/// A rank computes what it stores of the outputs, for which it needs the
/// inputs: what dedicated servers store, too, is made of nothing else.
absl::Status InstructionVerifier::verifyRanks() {
  auto isOnEveryRank = [](const VerifiedValue &value) {
    return value.isOnEveryRank;
  };
  if (kind() == InstructionKind::After ||
      std::none_of(outputs.begin(), outputs.end(), isOnEveryRank))
    return absl::OkStatus();
  if (kind() == InstructionKind::Collective ||
      !std::all_of(outputs.begin(), outputs.end(), isOnEveryRank) ||
      !std::all_of(inputs.begin(), inputs.end(), isOnEveryRank))
    return invalid("expected operands and results that dedicated servers store "
                   "all or not at all, found an output that is an input");
  return absl::OkStatus();
}

/// Inputs are the states, the row's own, two norms if it needs them, and the
/// rate.
absl::Status InstructionVerifier::verifyUpdate(const UpdateRow &row) {
  size_t tensors = outputs.size() + row.inputs;
  size_t norms = row.needsNorms() ? 2 : 0;
  if (absl::Status status = expectCounts(
          tensors + norms + (op.has_learning_rate() ? 0 : 1), outputs.size());
      !status.ok())
    return status;
  for (size_t i = tensors; i < tensors + norms; ++i)
    if (inputs[i].type != fb::DataType::Float32 || inputs[i].count != 1 ||
        inputs[i].layout != 0)
      return invalid("expected squared norms of one float32 element");
  if (norms > 0 && !isInShards(inputs[0]))
    return invalid("expected states that are whole or in shards");
  for (auto *list : {&inputs, &outputs})
    for (size_t i = 0; i < std::min(list->size(), tensors); ++i)
      if (!(*list)[i].hasTypeOf(inputs[0]))
        return invalid("expected values of one element type, count and layout");
  if (isInteger(inputs[0].type))
    return invalid("expected floating-point elements");
  return op.has_learning_rate() ? absl::OkStatus()
                                : verifyLearningRate(inputs.back());
}

/// Whether each rank stores a part of the value, or all of it.
bool InstructionVerifier::isInShards(const VerifiedValue &value) const {
  const Layout &layout = plan.layoutOf(value);
  return std::all_of(layout.begin(), layout.end(), [](const LayoutPart &part) {
    return part.kind == LayoutPart::Kind::Shard;
  });
}

absl::Status InstructionVerifier::verifyNorm() {
  if (absl::Status status = expectCounts(1, 1); !status.ok())
    return status;
  if (isInteger(inputs[0].type) || !isInShards(inputs[0]))
    return invalid("expected floating-point elements, whole or in shards");
  if (outputs[0].type != fb::DataType::Float32 || outputs[0].count != 1 ||
      outputs[0].layout != 0)
    return invalid("expected a norm of one float32 element");
  return absl::OkStatus();
}

/// Waits alone: a result is where the operand is.
absl::Status InstructionVerifier::verifyAfter() {
  if (outputs.empty())
    return absl::OkStatus();
  if (outputs.size() > 1 || inputs.empty() ||
      !outputs[0].hasTypeOf(inputs[0]) || !outputs[0].hasPlaceOf(inputs[0]))
    return invalid("expected a result with type and place of the first input");
  return absl::OkStatus();
}

absl::Status InstructionVerifier::verifyEncode() {
  if (absl::Status status = expectCounts(1, 1); !status.ok())
    return status;
  if (inputs[0].isEncoded() || !outputs[0].isEncoded() ||
      !inputs[0].hasTensorOf(outputs[0]) ||
      !plan.formOf(outputs[0]).terms.empty())
    return invalid("expected a value and its encoded form without terms");
  if (findEncoding(plan.formOf(outputs[0]).encoding.id)->needsFeedback)
    return invalid("expected an encoding that needs no feedback");
  return absl::OkStatus();
}

absl::Status InstructionVerifier::verifyDecode() {
  if (absl::Status status = expectCounts(1, 1); !status.ok())
    return status;
  if (!inputs[0].isEncoded() || outputs[0].isEncoded() ||
      !inputs[0].hasTensorOf(outputs[0]))
    return invalid("expected an encoded input, and an output of the same type, "
                   "count and layout that is not encoded");
  if (op.kind() != fb::ReduceKind::Sum && op.kind() != fb::ReduceKind::Mean)
    return invalid("expected kind sum or mean for encoded terms");
  return absl::OkStatus();
}

absl::Status InstructionVerifier::verifyCollective(Collective collective) {
  bool isExchange = collective == Collective::ExchangeRing ||
                    collective == Collective::ExchangeShiftOne;
  if (!isExchange)
    if (absl::Status status = expectCounts(1, 1); !status.ok())
      return status;
  if (isReduction(collective) && op.kind() == fb::ReduceKind::Mean &&
      isInteger(inputs[0].type))
    return invalid("a mean of integers is not defined");
  bool isEncoded = !expectPlain().ok();
  if (isEncoded && op.shape() && op.shape()->size() > 0)
    return invalid("expected no shape for encoded values");
  if (isEncoded && collective == Collective::AllToAll)
    return verifyEncodedAllToAll();
  if (isEncoded && collective == Collective::AllGather)
    return verifyEncodedAllGather();
  if (isEncoded && !isExchange)
    return expectPlain();
  switch (collective) {
  case Collective::AllReduce:
    return verifyAllReduce();
  case Collective::ReduceScatter:
    return isInPieces(op)
               ? verifyPieces(inputs[0], outputs[0], op.split_dim())
               : expectPushed(inputs[0], outputs[0], LayoutPart::Kind::Shard);
  case Collective::AllGather:
    return isInPieces(op)
               ? verifyPieces(outputs[0], inputs[0], op.concat_dim())
               : expectPushed(outputs[0], inputs[0], LayoutPart::Kind::Shard);
  case Collective::Reduce:
    return expectPushed(inputs[0], outputs[0], LayoutPart::Kind::Root);
  case Collective::Broadcast:
    return expectPushed(outputs[0], inputs[0], LayoutPart::Kind::Root);
  case Collective::AllToAll:
    return verifyAllToAll();
  case Collective::ExchangeRing:
  case Collective::ExchangeShiftOne:
    return verifyExchange();
  case Collective::Permute:
    return verifyPermute();
  case Collective::Push:
    return verifyServers(inputs[0], outputs[0]);
  case Collective::Pull:
    return verifyServers(outputs[0], inputs[0]);
  }
  return invalid("unknown collective");
}

absl::Status InstructionVerifier::verifyConcat() {
  if (inputs.empty() || outputs.size() != 1)
    return invalid("expected inputs and one output");
  return verifyBucket(outputs[0], inputs);
}

absl::Status InstructionVerifier::verifySplit() {
  if (outputs.empty() || inputs.size() != 1)
    return invalid("expected one input and outputs");
  return verifyBucket(inputs[0], outputs);
}

absl::Status InstructionVerifier::verifyCast() {
  if (absl::Status status = expectCounts(1, 1); !status.ok())
    return status;
  if (inputs[0].count != outputs[0].count ||
      inputs[0].layout != outputs[0].layout)
    return invalid("expected a change of element type alone");
  return absl::OkStatus();
}

absl::Status InstructionVerifier::verifyArithmetic() {
  std::optional<ArithmeticRule> rule = arithmeticRuleOf(op.opcode());
  if (!rule)
    return invalid("expected an opcode with a rule, found one without");
  if (inputs.empty() || outputs.empty())
    return invalid("expected inputs and outputs, found none");
  if (std::string refusal = rule->refusal(op); !refusal.empty())
    return invalid(refusal);
  if (kind() == InstructionKind::Update)
    return verifyUpdate(*updateOf(op));
  if (absl::Status status =
          expectCounts(rule->inputs.value_or(inputs.size()), 1);
      !status.ok())
    return status;
  if (isInteger(inputs[0].type))
    return invalid("expected floating-point elements");
  return expectOneType();
}

absl::Status InstructionVerifier::verifyOpcode() {
  bool isArithmetic = kind() == InstructionKind::Arithmetic ||
                      kind() == InstructionKind::Direction ||
                      kind() == InstructionKind::Update;
  // An instruction that only waits may say what it likes.
  if (!isArithmetic && kind() != InstructionKind::After && constantCount() > 0)
    return invalid("expected no constants");
  bool takesEncoded = kind() == InstructionKind::Collective ||
                      kind() == InstructionKind::Encode ||
                      kind() == InstructionKind::Decode ||
                      kind() == InstructionKind::After;
  if (absl::Status status = takesEncoded ? absl::OkStatus() : expectPlain();
      !status.ok())
    return status;
  switch (kind()) {
  case InstructionKind::Collective:
    return verifyCollective(*collectiveOf(op));
  case InstructionKind::Encode:
    return verifyEncode();
  case InstructionKind::Decode:
    return verifyDecode();
  case InstructionKind::Concat:
    return verifyConcat();
  case InstructionKind::Split:
    return verifySplit();
  case InstructionKind::Slice:
    return verifySlice();
  case InstructionKind::Cast:
    return verifyCast();
  case InstructionKind::Arithmetic:
  case InstructionKind::Direction:
  case InstructionKind::Update:
    return verifyArithmetic();
  case InstructionKind::Norm:
    return verifyNorm();
  case InstructionKind::After:
    return verifyAfter();
  }
  return invalid("unknown kind of instruction");
}

/// Whether an overlap of a collective's two values keeps its meaning.
bool InstructionVerifier::mayOverlap(Collective collective,
                                     const VerifiedValue &input,
                                     const VerifiedValue &output) {
  switch (collective) {
  case Collective::AllReduce:
  case Collective::Reduce:
  case Collective::Broadcast:
    return input.hasPlaceOf(output);
  case Collective::ReduceScatter:
  case Collective::AllGather:
  case Collective::AllToAll:
  case Collective::ExchangeRing:
  case Collective::ExchangeShiftOne:
  case Collective::Permute:
    return false;
  case Collective::Push:
  case Collective::Pull: {
    const Layout &layout =
        plan.layoutOf(collective == Collective::Push ? output : input);
    return input.hasPlaceOf(output) && layout.size() == 1 &&
           layout[0].server >= 0;
  }
  }
  return false;
}

bool InstructionVerifier::mayOverlap(const VerifiedValue &input,
                                     const VerifiedValue &output) {
  switch (kind()) {
  case InstructionKind::Collective:
    return mayOverlap(*collectiveOf(op), input, output);
  case InstructionKind::Cast:
    return input.hasPlaceOf(output) && input.maxBytes == output.maxBytes;
  case InstructionKind::Encode:
  case InstructionKind::Decode:
  case InstructionKind::Norm:
    return false; // statistics are of all elements
  case InstructionKind::Slice:
  case InstructionKind::Arithmetic:
  case InstructionKind::Direction:
  case InstructionKind::Update:
    return input.hasPlaceOf(output);
  case InstructionKind::Concat:
  case InstructionKind::Split:
  case InstructionKind::After:
    return true; // verified by themselves
  }
  return false;
}

/// Results overlap no other result, and an operand only in place. Of concat and
/// split a tensor is exactly where it is in the bucket, or apart from all of
/// it.
absl::Status InstructionVerifier::verifyOverlaps() {
  std::vector<VerifiedValue> sorted = outputs;
  std::sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) {
    return std::tie(a.space, a.offset, a.maxBytes) <
           std::tie(b.space, b.offset, b.maxBytes);
  });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i - 1].overlaps(sorted[i]))
      return invalid("two outputs overlap");
  bool isConcat = kind() == InstructionKind::Concat;
  if (isConcat || kind() == InstructionKind::Split) {
    const VerifiedValue &bucket = isConcat ? outputs[0] : inputs[0];
    // In a striped bucket that is whole, a tensor's elements are not
    // contiguous.
    bool isScattered =
        striped != 0 && bucket.layout == 0 &&
        partCount(plan.layoutOf({bucket.type, 0, striped}), cluster) > 1;
    int64_t at = bucket.offset;
    for (const VerifiedValue &tensor : isConcat ? inputs : outputs) {
      bool isInPlace =
          !isScattered && tensor.space == bucket.space && tensor.offset == at;
      if (tensor.overlaps(bucket) && !isInPlace)
        return invalid("a tensor overlaps the bucket at another place than its "
                       "own");
      at += tensor.maxBytes;
    }
    return absl::OkStatus();
  }
  if (kind() == InstructionKind::After)
    return absl::OkStatus(); // moves nothing, and may have many inputs
  for (const VerifiedValue &input : inputs)
    for (const VerifiedValue &output : outputs)
      if (input.overlaps(output) && !mayOverlap(input, output))
        return invalid("an output overlaps an input other than in place");
  return absl::OkStatus();
}

absl::Status InstructionVerifier::verify() {
  absl::Status status = verifyAttributes();
  if (status.ok())
    status = readOperands();
  if (status.ok())
    status = verifyOpcode();
  if (status.ok())
    status = verifyRanks();
  return status.ok() ? verifyOverlaps() : status;
}

} // namespace

absl::Status verifyInstruction(PlanVerifier &verifier,
                               const fb::Instruction &instruction) {
  return InstructionVerifier(verifier, instruction).verify();
}

} // namespace bagua::runtime
