//===- DeviceNumbers.cpp - Values that depend on the device alone ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes integer arithmetic on splats once for each device.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/DeviceNumbers.h"

#include "StableHLO/Graph/NumberRules.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

namespace {
/// One number for each device; empty if it is not known.
using Numbers = std::vector<int64_t>;

class DeviceNumbers {
public:
  explicit DeviceNumbers(Graph &graph) : graph(graph) {}

  void run();

private:
  Numbers of(ValueId value) const;
  Numbers compute(const FlatOp &op) const;
  Numbers lookUp(const FlatOp &op) const;
  AxisMask differing(const Numbers &known) const;

  Graph &graph;
};
} // namespace

/// The numbers found for a value, or those of a constant.
Numbers DeviceNumbers::of(ValueId value) const {
  if (auto found = graph.deviceNumbers.find(value);
      found != graph.deviceNumbers.end())
    return found->second;
  std::optional<double> splat = graph.values[value].splat;
  if (!splat || *splat != std::trunc(*splat) || std::fabs(*splat) > 1e9)
    return {};
  return Numbers(graph.deviceCount(), static_cast<int64_t>(*splat));
}

/// Whether the integer type has the number, so that nothing wrapped.
static bool holds(Type type, double number) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return false;
  unsigned width = std::min(integer.getWidth(), 32u);
  bool isUnsigned = integer.isUnsigned() || width == 1;
  double end = std::ldexp(1, static_cast<int>(isUnsigned ? width : width - 1));
  return number >= (isUnsigned ? 0 : -end) && number < end;
}

/// The numbers of a look-up in a table of constants, which is how XLA's
/// partitioner writes where a device's part begins.
Numbers DeviceNumbers::lookUp(const FlatOp &op) const {
  const FlatOp *table = graph.defOf(op.operands[0]);
  auto constants =
      table && table->source
          ? table->source->getAttrOfType<DenseIntElementsAttr>("value")
          : nullptr;
  if (!constants || constants.getType().getRank() != 1 || constants.empty() ||
      graph.countOf(op.results[0]) != 1)
    return {};
  Numbers numbers = of(op.operands[1]);
  auto element = cast<IntegerType>(constants.getElementType());
  bool isSigned = !element.isUnsigned() && element.getWidth() > 1;
  for (int64_t &number : numbers) {
    int64_t at = std::clamp<int64_t>(number, 0, constants.size() - 1);
    APInt constant = constants.getValues<APInt>()[at];
    if (constant.getActiveBits() > 31 && !(isSigned && constant.isNegative()))
      return {};
    number = isSigned ? constant.getSExtValue()
                      : static_cast<int64_t>(constant.getZExtValue());
  }
  return numbers;
}

Numbers DeviceNumbers::compute(const FlatOp &op) const {
  if (!op.source || op.results.size() != 1)
    return {};
  StringRef name = op.source->getName().stripDialect();
  if (name == "dynamic_slice" && op.operands.size() == 2)
    return lookUp(op);
  bool isPlace = name == "partition_id" || name == "replica_id";
  Rule rule = isPlace ? nullptr : ruleOf(op.source);
  if (!isPlace && (!rule || op.operands.empty()))
    return {};
  // Devices of a mesh are numbered either as replicas or as partitions.
  if (isPlace && graph.replicas != 1 && graph.partitions != 1)
    return {};
  bool counts = (name == "replica_id" ? graph.replicas : graph.partitions) != 1;
  SmallVector<Numbers> inputs;
  for (ValueId operand : op.operands) {
    inputs.push_back(of(operand));
    if (inputs.back().empty())
      return {};
  }
  Type element = graph.values[op.results[0]].type.getElementType();
  Numbers results;
  for (int64_t device = 0; device < graph.deviceCount(); ++device) {
    double own[3] = {0, 0, 0};
    for (auto [index, input] : llvm::enumerate(inputs))
      own[index] = static_cast<double>(input[device]);
    double result = isPlace ? static_cast<double>(counts ? device : 0)
                            : rule(own[0], own[1], own[2]);
    if (!holds(element, result))
      return {};
    results.push_back(static_cast<int64_t>(result));
  }
  return results;
}

/// The axes along which devices that differ in no other axis have different
/// numbers.
AxisMask DeviceNumbers::differing(const Numbers &known) const {
  AxisMask axes = 0;
  int64_t stride = 1;
  for (size_t axis = graph.mesh.axes.size(); axis-- > 0;) {
    int64_t size = graph.mesh.axes[axis].size;
    for (int64_t device = 0; device < graph.deviceCount(); ++device)
      if (int64_t coordinate = device / stride % size;
          known[device] != known[device - coordinate * stride])
        axes |= AxisMask(1) << axis;
    stride *= size;
  }
  return axes;
}

void DeviceNumbers::run() {
  for (const FlatOp &op : graph.ops) {
    if (op.isDead)
      continue;
    Numbers known = compute(op);
    if (known.empty())
      continue;
    FlatValue &result = graph.values[op.results[0]];
    result.isStatic = true;
    result.isOfDevice = op.kind == OpKind::RankDependent ||
                        llvm::any_of(op.operands, [&](ValueId operand) {
                          return graph.values[operand].isOfDevice;
                        });
    result.ofDevice = differing(known);
    graph.deviceNumbers[op.results[0]] = std::move(known);
  }
}

void bagua::importer::findDeviceNumbers(Graph &graph) {
  bool asks = llvm::any_of(graph.ops, [](const FlatOp &op) {
    return !op.isDead && op.kind == OpKind::RankDependent;
  });
  if (asks)
    DeviceNumbers(graph).run();
}
