//===- GradientSum.cpp - The reductions of a gradient as one sum ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the results of reductions to the value in which they meet, and tells
// means from other sums.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/GradientSum.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

SumReader::SumReader(const Graph &graph, const Uses &uses)
    : graph(graph), uses(uses), isOutput(graph.values.size(), false) {
  for (const Output &output : graph.outputs)
    isOutput[output.value] = isOutput[output.value] || !output.isForMapping;
}

//===----------------------------------------------------------------------===//
// Following values
//===----------------------------------------------------------------------===//

/// The op that is the value's only use; kNone if there are others or none.
OpId SumReader::onlyUserOf(ValueId value) const {
  ArrayRef<OpId> users = uses.of(value);
  return users.size() == 1 && !isOutput[value] ? users.front() : kNone;
}

/// Whether the op is the only user of the value, apart from conversions and
/// reshapes in between.
bool SumReader::isOnlyUse(ValueId value, OpId user) const {
  while (true) {
    OpId next = onlyUserOf(value);
    if (next == kNone || next == user)
      return next != kNone;
    if (!isView(graph.ops[next]))
      return false;
    value = graph.ops[next].results[0];
  }
}

/// Whether an op only puts the elements of its operand elsewhere.
static bool movesElements(const FlatOp &op) {
  return op.kind == OpKind::Reshape ||
         (op.source && op.source->getName().stripDialect() == "transpose");
}

static bool isAddition(const FlatOp &op) {
  return op.kind == OpKind::Elementwise && op.source &&
         op.source->getName().stripDialect() == "add";
}

/// The value in which all of the values are added up, with no other use of any
/// of them on the way; kNone if there is none.
ValueId SumReader::meetingOf(ArrayRef<ValueId> sums) const {
  SmallVector<ValueId> pending(sums);
  llvm::DenseSet<OpId> hasOne;
  size_t left = sums.size();
  while (left > 1) {
    if (pending.empty())
      return kNone; // something else is added, too
    ValueId value = pending.pop_back_val();
    OpId user = onlyUserOf(value);
    if (user == kNone)
      return kNone;
    const FlatOp &op = graph.ops[user];
    if (isAddition(op)) {
      if (hasOne.insert(user).second)
        continue;
      --left;
    } else if (!movesElements(op)) {
      return kNone;
    }
    pending.push_back(op.results[0]);
  }
  return pending.back();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Adds a sum that follows the last one, over other axes; false if it does not.
bool SumReader::append(OpId id, GradientSum &sum) const {
  const FlatOp &op = graph.ops[id];
  if (!sum.ops.empty()) {
    ValueId last = graph.ops[sum.ops.back()].results[0];
    if (!sum.divisions.empty() && isOnlyUse(last, sum.divisions.back().op))
      last = graph.ops[sum.divisions.back().op].results[0];
    if ((sum.axes & op.collective.axes) || !isOnlyUse(last, id))
      return false;
    sum.isDividedBetween = sum.divisor != 1;
  }
  sum.ops.push_back(id);
  sum.axes |= op.collective.axes;
  auto size = static_cast<double>(graph.mesh.sizeOf(op.collective.axes));
  sum.size *= size;
  if (op.collective.kind == ReduceKind::Mean) {
    sum.divisor *= size;
    sum.divisorOfMeans *= size;
  } else if (std::optional<Division> division =
                 findDivision(graph, uses, op.results[0])) {
    sum.divisor *= division->divisor;
    sum.divisions.push_back(*division);
  }
  return true;
}

/// Reads sums over the same axes that are added up, before or after each is
/// divided by the same number; false if they are not.
bool SumReader::addUp(ArrayRef<OpId> ids, GradientSum &sum) const {
  sum.isChain = false;
  sum.ops.assign(ids.begin(), ids.end());
  sum.axes = graph.ops[ids.front()].collective.axes;
  sum.size = static_cast<double>(graph.mesh.sizeOf(sum.axes));
  ReduceKind kind = graph.ops[ids.front()].collective.kind;
  SmallVector<ValueId> results, quotients;
  for (OpId id : ids) {
    const FlatOp &op = graph.ops[id];
    if (op.collective.axes != sum.axes || op.collective.kind != kind)
      return false;
    results.push_back(op.results[0]);
  }
  sum.whole = meetingOf(results);
  if (kind == ReduceKind::Mean) {
    sum.divisor = sum.size;
    return sum.whole != kNone;
  }
  sum.isDividedBetween = sum.whole == kNone;
  if (sum.whole != kNone)
    results = {sum.whole};
  for (ValueId result : results) {
    std::optional<Division> division = findDivision(graph, uses, result);
    if (!division)
      return sum.whole != kNone;
    if (!sum.divisions.empty() && division->divisor != sum.divisor)
      return false;
    sum.divisor = division->divisor;
    sum.divisions.push_back(*division);
    quotients.push_back(graph.ops[division->op].results[0]);
  }
  if (sum.whole == kNone)
    sum.whole = meetingOf(quotients);
  return sum.whole != kNone;
}

/// Whether the sum is a mean. Its divisor is the number of ranks over whose
/// axes the sum runs, or of those and further axes: an expert's gradient
/// already contains the terms of other ranks, which the all_to_all of the
/// backward pass has added. Any other number does not belong to the reduction.
bool SumReader::isMean(const GradientSum &sum) const {
  SmallVector<AxisMask> further;
  for (size_t axis = 0; axis < graph.mesh.axes.size(); ++axis)
    if (!(sum.axes >> axis & 1) && graph.mesh.axes[axis].size > 1)
      further.push_back(AxisMask(1) << axis);
  for (size_t some = 0; some < size_t(1) << further.size(); ++some) {
    AxisMask axes = sum.axes;
    for (auto [index, axis] : llvm::enumerate(further))
      if (some >> index & 1)
        axes |= axis;
    if (sum.divisor == static_cast<double>(graph.mesh.sizeOf(axes)))
      return true;
  }
  return false;
}

/// Why the sum, without its divisions, is not a multiple of a mean in every
/// bit; empty if it is one.
std::string SumReader::whyNoMultiple(const GradientSum &sum) const {
  auto ranks = static_cast<uint64_t>(sum.size);
  Type element =
      graph.values[graph.ops[sum.ops.back()].results[0]].type.getElementType();
  bool isWide = element.isF32() || element.isF64() || element.isBF16();
  if (llvm::isPowerOf2_64(ranks) && isWide && !sum.isDividedBetween)
    return "";
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "it is no mean: a sum over " << ranks << " ranks that ";
  if (sum.divisions.empty())
    stream << "no division by a constant follows";
  else
    stream << "is divided by " << llvm::format("%g", sum.divisor);
  if (!llvm::isPowerOf2_64(ranks))
    stream << ", and " << ranks << " times a mean has other bits";
  else if (!isWide)
    stream << ", and " << ranks << " times a term may be too large for "
           << element;
  else
    stream << " before all of it is added up";
  return text;
}

/// The first value from here on that has the param's elements in their places,
/// if elements are only moved on the way, and the sum's own division is there:
/// an exporter may reduce a gradient before it transposes it. Otherwise the
/// first one of the param's shape; kNone if there is none.
ValueId SumReader::inPlace(ValueId value, const GradientSum &sum, ValueId param,
                           llvm::function_ref<bool(ValueId)> isInPlace) const {
  auto goesOn = [&](OpId user) {
    return user != kNone &&
           (movesElements(graph.ops[user]) ||
            llvm::any_of(sum.divisions, [&](const Division &division) {
              return division.op == user;
            }));
  };
  ValueId found = kNone;
  while (true) {
    if (graph.sameShape(value, param)) {
      if (isInPlace(value))
        return value;
      if (found == kNone)
        found = value;
    }
    OpId user = onlyUserOf(value);
    if (!goesOn(user))
      return found;
    value = graph.ops[user].results[0];
  }
}

std::string SumReader::read(ArrayRef<OpId> ids, ValueId param,
                            llvm::function_ref<bool(ValueId)> isInPlace,
                            GradientSum &sum) const {
  sum = GradientSum();
  if (llvm::all_of(ids, [&](OpId id) { return append(id, sum); })) {
    sum.whole = graph.ops[ids.back()].results[0];
  } else {
    sum = GradientSum();
    if (!addUp(ids, sum))
      return "several reductions reach it, which neither form a chain nor are "
             "just added up";
  }
  sum.isMean = isMean(sum);
  if (!sum.isMean) {
    if (std::string reason = whyNoMultiple(sum); !reason.empty())
      return reason;
    // The divisions that follow are the step's own.
    sum.divisions.clear();
    sum.divisor = sum.divisorOfMeans;
  }
  ValueId whole = inPlace(sum.whole, sum, param, isInPlace);
  auto shapeOf = [&](ValueId value) {
    SmallVector<int64_t> sizes(graph.values[value].type.getShape());
    llvm::erase(sizes, 1);
    return sizes;
  };
  if (whole == kNone && (!sum.isChain || shapeOf(sum.whole) != shapeOf(param)))
    return "it has another shape than the param";
  sum.whole = whole;
  return "";
}
