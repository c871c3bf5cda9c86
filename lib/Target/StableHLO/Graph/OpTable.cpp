//===- OpTable.cpp - What is known about StableHLO's ops ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kinds of ops by name.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/OpTable.h"

#include "StableHLO/Graph/CustomCalls.h"
#include "StableHLO/Graph/Splats.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

/// Names with blanks between them.
constexpr llvm::StringLiteral kElementwise =
    "abs add and atan2 cbrt ceil clamp compare complex convert cosine "
    "count_leading_zeros divide exponential exponential_minus_one "
    "floor imag is_finite log log_plus_one logistic maximum minimum "
    "multiply negate not or popcnt power real reduce_precision "
    "remainder round_nearest_afz round_nearest_even rsqrt select "
    "shift_left shift_right_arithmetic shift_right_logical sign sine "
    "sqrt subtract tan tanh xor";
constexpr llvm::StringLiteral kPure =
    "batch_norm_grad batch_norm_inference batch_norm_training cholesky "
    "convolution dot dot_general fft reduce_window rng_bit_generator scatter "
    "select_and_scatter sort triangular_solve";
constexpr llvm::StringLiteral kOpaque =
    "collective_broadcast cross-replica-sum infeed outfeed recv send";

static llvm::StringMap<OpTraits> makeTable() {
  llvm::StringMap<OpTraits> map;
  auto add = [&](OpTraits traits, StringRef names) {
    for (StringRef name : llvm::split(names, ' '))
      map[name] = traits;
  };
  add({OpKind::Elementwise, false, Traffic::Fused}, kElementwise);
  add({OpKind::Reshape, false, Traffic::View}, "reshape");
  add({OpKind::Broadcast, false, Traffic::View}, "broadcast_in_dim broadcast");
  add({OpKind::Constant, false, Traffic::None}, "constant iota");
  add({OpKind::Pure}, kPure);
  add({OpKind::Pure, false, Traffic::View}, "bitcast_convert transpose");
  add({OpKind::Pure, false, Traffic::Fused}, "concatenate map pad reverse");
  add({OpKind::Pure, false, Traffic::Reduction}, "reduce");
  add({OpKind::Pure, false, Traffic::Part}, "dynamic_slice gather slice");
  add({OpKind::Pure, false, Traffic::InPlace}, "dynamic_update_slice");
  add({OpKind::Pure, false, Traffic::Outside}, "case composite if while");
  add({OpKind::RankDependent}, "partition_id replica_id rng");
  add({OpKind::AllReduce, false, Traffic::Outside}, "all_reduce");
  add({OpKind::ReduceScatter, false, Traffic::Outside}, "reduce_scatter");
  add({OpKind::AllGather, false, Traffic::Outside}, "all_gather");
  add({OpKind::AllToAll, false, Traffic::Outside}, "all_to_all");
  add({OpKind::Permute, false, Traffic::Outside}, "collective_permute");
  add({OpKind::Opaque, true, Traffic::Outside}, kOpaque);
  return map;
}

static const llvm::StringMap<OpTraits> &table() {
  static const llvm::StringMap<OpTraits> entries = makeTable();
  return entries;
}

static bool agreeInShape(Operation *op) {
  ArrayRef<int64_t> shape;
  bool isFirst = true;
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || (!isFirst && tensor.getShape() != shape))
        return false;
      shape = tensor.getShape();
      isFirst = false;
    }
  return !isFirst;
}

bool bagua::importer::isIdentity(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return (name == "sdy.sharding_constraint" || name == "sdy.reshard" ||
          name == "sdy.propagation_barrier" ||
          name == "stablehlo.optimization_barrier" || name == "mhlo.copy") &&
         op->getNumOperands() == op->getNumResults();
}

bool bagua::importer::isReduceOfOne(Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock())
    return false;
  auto input = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto output = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  Operation *start = op->getOperand(1).getDefiningOp();
  Block &body = op->getRegion(0).front();
  return input && output && input.hasStaticShape() && output.hasStaticShape() &&
         input.getNumElements() == output.getNumElements() && start &&
         splatOf(start) == 0.0 && body.getOperations().size() == 2 &&
         body.front().getName().stripDialect() == "add";
}

/// Whether a broadcast also transposes.
static bool permutesDimensions(Operation *op) {
  SmallVector<int64_t> dimensions;
  if (auto array = op->getAttrOfType<DenseI64ArrayAttr>("broadcast_dimensions"))
    llvm::append_range(dimensions, array.asArrayRef());
  else if (auto elements =
               op->getAttrOfType<DenseIntElementsAttr>("broadcast_dimensions"))
    for (const APInt &dimension : elements.getValues<APInt>())
      dimensions.push_back(dimension.getSExtValue());
  return !llvm::is_sorted(dimensions);
}

/// Shardy's ops that move nothing; the others change where values are stored.
constexpr llvm::StringLiteral kShardyStructure =
    "constant data_flow_edge manual_computation mesh named_computation return "
    "sharding_group";

/// The traits of an unknown op: compute, unless it has a mark of communication.
static OpTraits traitsOfUnknown(Operation *op) {
  auto [dialect, name] = op->getName().getStringRef().split('.');
  OpTraits traits;
  traits.isOtherCommunication =
      dialect == "sdy"
          ? !llvm::is_contained(llvm::split(kShardyStructure, ' '), name)
          : carriesCommunication(op);
  return traits;
}

/// The least number of operands of ops with such traffic.
static unsigned operandsOf(Traffic traffic) {
  switch (traffic) {
  case Traffic::View:
  case Traffic::Part:
    return 1;
  case Traffic::InPlace:
    return 2;
  case Traffic::Kernel:
  case Traffic::None:
  case Traffic::Fused:
  case Traffic::Reduction:
  case Traffic::Outside:
    return 0;
  }
  llvm_unreachable("all kinds are handled");
}

static OpTraits traitsByName(Operation *op) {
  auto [dialect, name] = op->getName().getStringRef().split('.');
  // CHLO's ops are pure, and all but a few (top_k) elementwise.
  if (dialect == "chlo")
    return agreeInShape(op)
               ? OpTraits{OpKind::Elementwise, false, Traffic::Fused}
               : OpTraits{OpKind::Pure};
  // torch-mlir leaves some constants in this dialect.
  if (dialect == "arith" && name == "constant")
    return {OpKind::Constant, false, Traffic::None};
  if (isCustomCall(op))
    return traitsOfCustomCall(op);
  if (dialect != "stablehlo" && dialect != "mhlo")
    return traitsOfUnknown(op);
  if (name == "broadcast_in_dim" && permutesDimensions(op))
    return {OpKind::Pure, false, Traffic::View};
  if (name == "reduce" && isReduceOfOne(op))
    return {OpKind::Reshape, false, Traffic::View};
  auto entry = table().find(name);
  return entry == table().end() ? traitsOfUnknown(op) : entry->second;
}

OpTraits bagua::importer::traitsOf(Operation *op) {
  OpTraits traits = traitsByName(op);
  // Stub dialects verify nothing.
  if (op->getNumOperands() < operandsOf(traits.traffic) ||
      (traits.traffic != Traffic::Kernel && op->getNumResults() == 0))
    traits.traffic = Traffic::Kernel;
  return traits;
}

bool bagua::importer::isWellFormed(Operation *op, OpKind kind) {
  if (kind != OpKind::Elementwise && kind != OpKind::Reshape &&
      kind != OpKind::Broadcast && kind != OpKind::Constant)
    return true;
  StringRef name = op->getName().stripDialect();
  bool isBinary = name == "add" || name == "subtract" || name == "multiply" ||
                  name == "divide" || name == "power" || name == "maximum" ||
                  name == "minimum" || name == "compare";
  unsigned operands = op->getNumOperands();
  if (op->getNumResults() != 1)
    return false;
  if (kind == OpKind::Constant)
    return operands == 0;
  if (kind == OpKind::Elementwise && !isBinary && name != "convert" &&
      name != "negate" && name != "sqrt")
    return operands > 0;
  if (operands != (isBinary ? 2u : 1u) && !isReduceOfOne(op))
    return false;
  auto input = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto output = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!input || !output || !input.hasStaticShape() || !output.hasStaticShape())
    return true; // refused elsewhere
  if (kind == OpKind::Elementwise)
    return input.getShape() == output.getShape();
  return kind == OpKind::Broadcast ||
         input.getNumElements() == output.getNumElements();
}
