//===- Cost.cpp - Floating-point operations and bytes of ops --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes costs of single ops, trip counts, and sums over bodies and calls.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Cost.h"

#include "StableHLO/Graph/Splats.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace bagua::importer;

CostModel::CostModel(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    functions[function.getSymName()] = function;
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

/// 2 * elements of the result * contracted elements.
static int64_t dotFlops(Operation *op) {
  auto lhs = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!lhs)
    return 0;
  int64_t contracted = 1;
  if (auto dims = op->getAttrOfType<OpaqueAttr>("dot_dimension_numbers")) {
    for (int64_t dim : listOf(dims.getAttrData(), "lhs_contracting_dimensions"))
      if (dim >= 0 && dim < lhs.getRank())
        contracted *= lhs.getDimSize(dim);
  } else if (lhs.getRank() > 0) {
    contracted = lhs.getDimSize(lhs.getRank() - 1); // the older `dot`
  }
  return 2 * elementsOf(op->getResult(0)) * contracted;
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
      dilation *= std::max<int64_t>(size, 1);
  return 2 * elementsOf(op->getResult(0)) * elementsOf(op->getOperand(1)) /
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

/// The bytes of an op alone; `bytesOfOperand` gives those of an operand.
static int64_t
ownBytes(Operation *op,
         llvm::function_ref<int64_t(unsigned operand)> bytesOfOperand) {
  StringRef name = op->getName().stripDialect();
  int64_t bytes = 0;
  for (Value result : op->getResults())
    bytes += bytesOf(result.getType());
  if (name == "slice" || name == "dynamic_slice" || name == "gather")
    return 2 * bytes;
  if (name == "dynamic_update_slice" && op->getNumOperands() >= 2)
    return 2 * bytesOfOperand(1);
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    bytes += bytesOfOperand(i);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static Operation *terminatorOf(Region &region) {
  return region.empty() || region.front().empty() ? nullptr
                                                  : &region.front().back();
}

/// The integer of a constant op, or of a conversion of one.
static std::optional<int64_t> constantOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    StringRef name = op->getName().stripDialect();
    if (name == "constant") {
      std::optional<double> splat = splatOf(op);
      return splat ? std::optional<int64_t>(static_cast<int64_t>(*splat))
                   : std::nullopt;
    }
    if (name != "convert" && name != "reshape")
      return std::nullopt;
    value = op->getOperand(0);
  }
  return std::nullopt;
}

/// The number that a body adds to its counter in each turn, possibly in a call.
std::optional<int64_t> CostModel::incrementOf(Value next, Value counter) {
  Operation *op = next.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto call = dyn_cast<func::CallOp>(op)) {
    func::FuncOp callee = functions.lookup(call.getCallee());
    if (!callee || callee.isExternal())
      return std::nullopt;
    Block &body = callee.getBody().front();
    for (auto [index, operand] : llvm::enumerate(call.getOperands()))
      if (operand == counter)
        return incrementOf(body.getTerminator()->getOperand(
                               cast<OpResult>(next).getResultNumber()),
                           body.getArgument(index));
    return std::nullopt;
  }
  if (op->getName().stripDialect() != "add" || op->getNumOperands() != 2)
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (op->getOperand(i) == counter)
      return constantOf(op->getOperand(1 - i));
  return std::nullopt;
}

/// The turns of `while (i < n) i += step`, where n is a constant or carried
/// unchanged.
std::optional<int64_t> CostModel::tripCountOf(Operation *op,
                                              InitialValue initial) {
  if (op->getNumRegions() != 2 || op->getNumOperands() < op->getNumResults() ||
      llvm::any_of(op->getRegions(), [&](Region &region) {
        return region.getNumArguments() != op->getNumResults();
      }))
    return std::nullopt;
  Operation *condition = terminatorOf(op->getRegion(0));
  Operation *body = terminatorOf(op->getRegion(1));
  if (!condition || !body || condition->getNumOperands() != 1 ||
      body->getNumOperands() != op->getNumResults())
    return std::nullopt;
  Operation *compare = condition->getOperand(0).getDefiningOp();
  if (!compare || compare->getName().stripDialect() != "compare" ||
      compare->getNumOperands() != 2)
    return std::nullopt;
  auto direction = compare->getAttrOfType<OpaqueAttr>("comparison_direction");
  auto counter = dyn_cast<BlockArgument>(compare->getOperand(0));
  if (!direction || !counter)
    return std::nullopt;
  unsigned index = counter.getArgNumber();
  std::optional<int64_t> end = constantOf(compare->getOperand(1));
  if (auto carried = dyn_cast<BlockArgument>(compare->getOperand(1))) {
    unsigned at = carried.getArgNumber();
    if (body->getOperand(at) == op->getRegion(1).getArgument(at))
      end = initial(at);
  }
  std::optional<int64_t> begin = initial(index);
  std::optional<int64_t> step =
      incrementOf(body->getOperand(index), op->getRegion(1).getArgument(index));
  if (!begin || !end || !step || *step <= 0)
    return std::nullopt;
  int64_t span = *end - *begin;
  if (direction.getAttrData().contains("comparison_direction LE"))
    ++span;
  else if (!direction.getAttrData().contains("comparison_direction LT"))
    return std::nullopt;
  return std::max<int64_t>(0, (span + *step - 1) / *step);
}

CostModel::Cost CostModel::costOfLoop(Operation *op, InitialValue initial) {
  std::optional<int64_t> turns = tripCountOf(op, initial);
  if (!turns)
    emitRemark(op->getLoc())
        << "'" << op->getName()
        << "' has no trip count that is known; its cost is that of one turn";
  Cost total;
  for (Region &region : op->getRegions()) {
    Cost cost = costOf(region);
    total.flops += turns.value_or(1) * cost.flops;
    total.bytes += turns.value_or(1) * cost.bytes;
  }
  return total;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Whether an op is a return; the stub dialects don't mark it as a terminator.
static bool isTerminator(Operation *op) {
  return op == &op->getBlock()->back() && op->getNumResults() == 0;
}

CostModel::Cost CostModel::costOf(Region &region) {
  Cost total;
  for (Block &block : region)
    for (Operation &op : block) {
      Cost cost = isTerminator(&op) ? Cost() : costOf(&op);
      total.flops += cost.flops;
      total.bytes += cost.bytes;
    }
  return total;
}

CostModel::Cost CostModel::costOf(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op)) {
    func::FuncOp callee = functions.lookup(call.getCallee());
    if (!callee)
      return {};
    auto known = functionCosts.find(callee);
    if (known != functionCosts.end())
      return known->second;
    functionCosts[callee] = {}; // a recursive call, refused elsewhere
    return functionCosts[callee] = costOf(callee.getBody());
  }
  StringRef name = op->getName().stripDialect();
  if (name == "while")
    return costOfLoop(
        op, [&](unsigned i) { return constantOf(op->getOperand(i)); });
  if (name == "if" || name == "case") {
    Cost dearest;
    for (Region &region : op->getRegions()) {
      Cost cost = costOf(region);
      dearest.flops = std::max(dearest.flops, cost.flops);
      dearest.bytes = std::max(dearest.bytes, cost.bytes);
    }
    return dearest;
  }
  if (traitsOf(op).isFree)
    return {};
  return {ownFlops(op), ownBytes(op, [&](unsigned i) {
            return bytesOf(op->getOperand(i).getType());
          })};
}

void CostModel::annotate(const Graph &graph, FlatOp &op, OpTraits traits) {
  if (traits.isFree)
    return;
  StringRef name = op.source->getName().stripDialect();
  if (name == "while") {
    Cost cost = costOfLoop(op.source, [&](unsigned i) {
      std::optional<double> splat = graph.values[op.operands[i]].splat;
      return splat ? std::optional<int64_t>(static_cast<int64_t>(*splat))
                   : std::nullopt;
    });
    op.flops = cost.flops;
    op.bytes = cost.bytes;
    return;
  }
  if (name == "if" || name == "case") {
    Cost cost = costOf(op.source);
    op.flops = cost.flops;
    op.bytes = cost.bytes;
    return;
  }
  op.flops = ownFlops(op.source);
  op.bytes = ownBytes(op.source, [&](unsigned i) {
    ValueId value = op.operands[i];
    while (const FlatOp *def = graph.defOf(value)) {
      if (def->kind != OpKind::Reshape && def->kind != OpKind::Broadcast)
        break;
      value = def->operands[0];
    }
    return graph.values[value].isStatic ? int64_t(0)
                                        : bytesOf(graph.values[value].type);
  });
}
