//===- Cost.cpp - Floating-point operations and bytes of ops --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes arithmetic of single ops, and sums over bodies and calls; asks
// countTraffic for bytes.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Cost.h"

#include "StableHLO/Graph/Loops.h"
#include "StableHLO/Graph/OpTable.h"

#include "bagua/Scheduling/Prices/Traffic.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

/// Whether an op is a return; the stub dialects don't mark it as a terminator.
static bool isTerminator(Operation *op) {
  return op == &op->getBlock()->back() && op->getNumResults() == 0;
}

int64_t bagua::importer::bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  Type element = tensor.getElementType();
  int64_t bits = 0;
  if (auto complex = dyn_cast<ComplexType>(element))
    bits = 2 * complex.getElementType().getIntOrFloatBitWidth();
  else if (element.isIntOrFloat())
    bits = element.getIntOrFloatBitWidth();
  return tensor.getNumElements() * ((bits + 7) / 8);
}

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

static int64_t elementsOf(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.hasStaticShape() ? tensor.getNumElements() : 0;
}

/// The list after `key = [` in an opaque attribute; empty if absent.
static SmallVector<int64_t> listOf(StringRef text, StringRef key) {
  SmallVector<int64_t> list;
  size_t at = text.find(key);
  if (at == StringRef::npos)
    return list;
  StringRef items = text.drop_front(at).split('[').second.split(']').first;
  for (StringRef item : llvm::split(items, ',')) {
    int64_t number;
    if (!item.trim().getAsInteger(10, number))
      list.push_back(number);
  }
  return list;
}

/// More than any step has; sums of many such costs are numbers still.
constexpr int64_t kMostCost = int64_t(1) << 56;

static int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return llvm::MulOverflow(a, b, product) ? kMostCost
                                          : std::min(product, kMostCost);
}

static int64_t plus(int64_t a, int64_t b) {
  return std::min(a + std::min(b, kMostCost), kMostCost);
}

/// 2 * elements of the result * contracted elements.
static int64_t dotFlops(Operation *op) {
  auto lhs = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!lhs)
    return 0;
  int64_t contracted = 1;
  if (auto dims = op->getAttrOfType<OpaqueAttr>("dot_dimension_numbers")) {
    for (int64_t dim : listOf(dims.getAttrData(), "lhs_contracting_dimensions"))
      if (dim >= 0 && dim < lhs.getRank())
        contracted = times(contracted, lhs.getDimSize(dim));
  } else if (lhs.getRank() > 0) {
    contracted = lhs.getDimSize(lhs.getRank() - 1); // the older `dot`
  }
  return times(times(2, elementsOf(op->getResult(0))), contracted);
}

/// 2 * elements of the result * elements of the kernel / its `o` dimension,
/// without the products with zeros that lhs_dilation inserts.
static int64_t convolutionFlops(Operation *op) {
  auto kernel = dyn_cast<RankedTensorType>(op->getOperand(1).getType());
  auto numbers = op->getAttrOfType<OpaqueAttr>("dimension_numbers");
  if (!kernel || !numbers)
    return 0;
  // #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>
  StringRef dims = numbers.getAttrData().split("]x[").second.split(']').first;
  int64_t outputs = 1, dilation = 1;
  int64_t index = 0;
  for (StringRef dim : llvm::split(dims, ',')) {
    if (dim.trim() == "o" && index < kernel.getRank())
      outputs = kernel.getDimSize(index);
    ++index;
  }
  if (auto sizes = op->getAttrOfType<DenseI64ArrayAttr>("lhs_dilation"))
    for (int64_t size : sizes.asArrayRef())
      dilation = times(dilation, std::max<int64_t>(size, 1));
  return times(times(2, elementsOf(op->getResult(0))),
               elementsOf(op->getOperand(1))) /
         std::max<int64_t>(outputs, 1) / dilation;
}

static int64_t ownFlops(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (op->getNumOperands() < 2 || op->getNumResults() != 1)
    return 0;
  if (name == "dot_general" || name == "dot")
    return dotFlops(op);
  return name == "convolution" ? convolutionFlops(op) : 0;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

CostModel::Cost CostModel::costOfLoop(Operation *op, InitialValue initial) {
  std::optional<CountedLoop> loop = readCountedLoop(op, initial, functions);
  if (!loop)
    emitRemark(op->getLoc())
        << "'" << op->getName()
        << "' has no trip count that is known; its cost is that of one turn";
  int64_t turns = loop ? loop->turns : 1;
  Cost total;
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      Cost cost = costOf(block);
      total.flops = plus(total.flops, times(turns, cost.flops));
      total.bytes = plus(total.bytes, times(turns, cost.bytes));
    }
  return total;
}

CostModel::Cost CostModel::innerCostOf(Operation *op, InitialValue initial) {
  if (auto call = dyn_cast<func::CallOp>(op)) {
    func::FuncOp callee = functions.lookup(call.getCallee());
    if (!callee || callee.isExternal())
      return {};
    auto known = functionCosts.find(callee);
    if (known != functionCosts.end())
      return known->second;
    functionCosts[callee] = {}; // a recursive call, refused elsewhere
    return functionCosts[callee] = costOf(callee.getBody().front());
  }
  StringRef name = op->getName().stripDialect();
  if (name == "while")
    return costOfLoop(op, initial);
  Cost dearest;
  if (name == "if" || name == "case")
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        Cost cost = costOf(block);
        dearest.flops = std::max(dearest.flops, cost.flops);
        dearest.bytes = std::max(dearest.bytes, cost.bytes);
      }
  return dearest;
}

//===----------------------------------------------------------------------===//
// Blocks and graphs
//===----------------------------------------------------------------------===//

namespace {
/// The ops of a block as countTraffic takes them.
class BlockTraffic {
public:
  void add(Operation *op);
  void escape(ValueRange values) {
    for (Value value : values)
      escaping.push_back(numberOf(value));
  }
  /// The bytes that all ops together move.
  int64_t count() const {
    std::vector<int64_t> moved = countTraffic(ops, bytes, escaping);
    return std::accumulate(moved.begin(), moved.end(), int64_t(0), plus);
  }

private:
  int32_t numberOf(Value value) {
    auto [entry, isNew] =
        numbers.try_emplace(value, static_cast<int32_t>(bytes.size()));
    if (isNew)
      bytes.push_back(bytesOf(value.getType()));
    return entry->second;
  }

  std::vector<TrafficOp> ops;
  std::vector<int64_t> bytes;
  std::vector<int32_t> escaping;
  llvm::DenseMap<Value, int32_t> numbers;
};
} // namespace

void BlockTraffic::add(Operation *op) {
  if (isIdentity(op)) {
    for (auto [operand, result] :
         llvm::zip_equal(op->getOperands(), op->getResults()))
      numbers[result] = numberOf(operand);
    return;
  }
  Traffic kind =
      isa<func::CallOp>(op) ? Traffic::Outside : traitsOf(op).traffic;
  TrafficOp &entry = ops.emplace_back(TrafficOp{kind, {}, {}});
  for (Value operand : op->getOperands())
    entry.operands.push_back(numberOf(operand));
  for (Value result : op->getResults()) {
    entry.results.push_back(numberOf(result));
    if (kind == Traffic::None)
      bytes.back() = 0;
  }
}

CostModel::Cost CostModel::costOf(Block &block) {
  Cost total;
  BlockTraffic traffic;
  for (Operation &op : block) {
    if (isTerminator(&op)) {
      traffic.escape(op.getOperands());
      continue;
    }
    traffic.add(&op);
    Cost inner = innerCostOf(
        &op, [&](unsigned i) { return integerOf(op.getOperand(i)); });
    total.flops = plus(total.flops, plus(ownFlops(&op), inner.flops));
    total.bytes = plus(total.bytes, inner.bytes);
  }
  total.bytes = plus(total.bytes, traffic.count());
  return total;
}

void CostModel::annotate(Graph &graph) {
  std::vector<TrafficOp> ops;
  std::vector<FlatOp *> sources;
  for (FlatOp &op : graph.ops) {
    auto isStatic = [&](ValueId value) { return graph.values[value].isStatic; };
    if (op.isDead ||
        (!op.results.empty() && llvm::all_of(op.results, isStatic)))
      continue;
    Cost inner = innerCostOf(op.source, [&](unsigned i) {
      std::optional<double> splat = graph.values[op.operands[i]].splat;
      return splat && std::abs(*splat) < 0x1p53
                 ? std::optional<int64_t>(static_cast<int64_t>(*splat))
                 : std::nullopt;
    });
    op.flops = plus(ownFlops(op.source), inner.flops);
    op.bytes = inner.bytes;
    sources.push_back(&op);
    ops.push_back({traitsOf(op.source).traffic,
                   {op.operands.begin(), op.operands.end()},
                   {op.results.begin(), op.results.end()}});
  }
  std::vector<int64_t> bytes;
  for (const FlatValue &value : graph.values)
    bytes.push_back(value.isStatic ? 0 : bytesOf(value.type));
  std::vector<int32_t> escaping;
  for (const Output &output : graph.outputs)
    escaping.push_back(output.value);
  for (auto [op, moved] :
       llvm::zip_equal(sources, countTraffic(ops, bytes, escaping)))
    op->bytes = plus(op->bytes, moved);
}
