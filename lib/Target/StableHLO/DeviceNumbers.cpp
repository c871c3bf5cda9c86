//===- DeviceNumbers.cpp - What depends on the device alone ---------------===//
//
// Integer arithmetic on splats, once for each device.
//
//===----------------------------------------------------------------------===//
#include "DeviceNumbers.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

namespace {
/// One number a device; empty where it is not known.
using Numbers = std::vector<int64_t>;

class DeviceNumbers {
public:
  explicit DeviceNumbers(Graph &graph)
      : graph(graph), numbers(graph.values.size()) {}

  void run();

private:
  Numbers of(ValueId value) const;
  Numbers compute(const FlatOp &op) const;
  AxisMask differing(const Numbers &known) const;

  Graph &graph;
  std::vector<Numbers> numbers;
};
} // namespace

/// What was found, or a constant.
Numbers DeviceNumbers::of(ValueId value) const {
  if (!numbers[value].empty())
    return numbers[value];
  std::optional<double> splat = graph.values[value].splat;
  if (!splat || *splat != std::trunc(*splat) || std::fabs(*splat) > 1e9)
    return {};
  return Numbers(graph.deviceCount(), static_cast<int64_t>(*splat));
}

/// Nothing for an op that is not known, and where it has no defined result.
static std::optional<int64_t> apply(Operation *op, ArrayRef<int64_t> inputs) {
  StringRef name = op->getName().stripDialect();
  if (inputs.size() == 1)
    return llvm::StringSwitch<std::optional<int64_t>>(name)
        .Cases("convert", "reshape", "broadcast_in_dim", "broadcast", inputs[0])
        .Case("negate", -inputs[0])
        .Default(std::nullopt);
  if (inputs.size() == 3 && name == "select")
    return inputs[0] ? inputs[1] : inputs[2];
  if (inputs.size() != 2)
    return std::nullopt;
  int64_t a = inputs[0], b = inputs[1];
  if (name == "divide" || name == "remainder") {
    if (b == 0)
      return std::nullopt;
    return name == "divide" ? a / b : a % b;
  }
  if (name == "compare") {
    std::string how;
    llvm::raw_string_ostream(how) << op->getAttr("comparison_direction");
    return llvm::StringSwitch<std::optional<int64_t>>(how)
        .Case("#stablehlo<comparison_direction EQ>", a == b)
        .Case("#stablehlo<comparison_direction NE>", a != b)
        .Case("#stablehlo<comparison_direction LT>", a < b)
        .Case("#stablehlo<comparison_direction LE>", a <= b)
        .Case("#stablehlo<comparison_direction GT>", a > b)
        .Case("#stablehlo<comparison_direction GE>", a >= b)
        .Default(std::nullopt);
  }
  return llvm::StringSwitch<std::optional<int64_t>>(name)
      .Case("add", a + b)
      .Case("subtract", a - b)
      .Case("multiply", a * b)
      .Case("minimum", std::min(a, b))
      .Case("maximum", std::max(a, b))
      .Default(std::nullopt);
}

/// Whether the number is one of the integer type, so that nothing wrapped.
static bool holds(Type type, int64_t number) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return false;
  unsigned width = std::min(integer.getWidth(), 32u);
  if (integer.isUnsigned() || width == 1)
    return number >= 0 && number < (int64_t(1) << width);
  return number >= -(int64_t(1) << (width - 1)) &&
         number < (int64_t(1) << (width - 1));
}

Numbers DeviceNumbers::compute(const FlatOp &op) const {
  if (!op.source || op.results.size() != 1)
    return {};
  StringRef name = op.source->getName().stripDialect();
  bool isPlace = name == "partition_id" || name == "replica_id";
  if (!isPlace && op.operands.empty())
    return {};
  // One of the two kinds alone numbers the devices of a mesh.
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
    SmallVector<int64_t> own;
    for (const Numbers &input : inputs)
      own.push_back(input[device]);
    std::optional<int64_t> result =
        isPlace ? std::optional(counts ? device : 0) : apply(op.source, own);
    if (!result || !holds(element, *result))
      return {};
    results.push_back(*result);
  }
  return results;
}

/// The axes along which two devices that differ in nothing else have different
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
    result.ofDevice = differing(known);
    numbers[op.results[0]] = std::move(known);
  }
}

void bagua::importer::findDeviceNumbers(Graph &graph) {
  bool asks = llvm::any_of(graph.ops, [](const FlatOp &op) {
    return !op.isDead && op.kind == OpKind::RankDependent;
  });
  if (asks)
    DeviceNumbers(graph).run();
}
