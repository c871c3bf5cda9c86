//===- Splats.cpp - Values known to be one number -------------------------===//
//
// Folds splats in the precision of their element type.
//
//===----------------------------------------------------------------------===//
#include "Splats.h"

#include "mlir/IR/BuiltinAttributes.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace bagua::importer;

static double toDouble(const APFloat &value) {
  bool losesInfo;
  APFloat copy = value;
  copy.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return copy.convertToDouble();
}

/// The value as an element of this type stores it.
static double roundTo(Type type, double value) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    bool losesInfo;
    APFloat rounded(value);
    rounded.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
    return toDouble(rounded);
  }
  return std::trunc(value);
}

std::optional<double> bagua::importer::splatOf(Operation *constant) {
  auto elements = constant->getAttrOfType<DenseElementsAttr>("value");
  if (!elements || !elements.isSplat())
    return std::nullopt;
  Type type = elements.getElementType();
  if (isa<FloatType>(type))
    return toDouble(elements.getSplatValue<APFloat>());
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.getWidth() > 64)
    return std::nullopt;
  APInt value = elements.getSplatValue<APInt>();
  return integer.isUnsigned() || integer.getWidth() == 1
             ? static_cast<double>(value.getZExtValue())
             : static_cast<double>(value.getSExtValue());
}

static std::optional<double> foldBinary(StringRef name, double a, double b) {
  if (name == "add")
    return a + b;
  if (name == "subtract")
    return a - b;
  if (name == "multiply")
    return a * b;
  if (name == "divide" && b != 0)
    return a / b;
  if (name == "power")
    return std::pow(a, b);
  if (name == "maximum")
    return std::max(a, b);
  if (name == "minimum")
    return std::min(a, b);
  return std::nullopt;
}

static std::optional<double> foldUnary(StringRef name, double a) {
  if (name == "convert" || name == "reshape" || name == "broadcast_in_dim" ||
      name == "broadcast" || name == "transpose")
    return a;
  if (name == "negate")
    return -a;
  if (name == "sqrt" && a >= 0)
    return std::sqrt(a);
  return std::nullopt;
}

void bagua::importer::inferSplat(Graph &graph, FlatOp &op) {
  if (op.results.size() != 1)
    return;
  FlatValue &result = graph.values[op.results[0]];
  StringRef name = op.source->getName().stripDialect();
  std::optional<double> value;
  auto operand = [&](unsigned index) {
    return graph.values[op.operands[index]].splat;
  };
  if (name == "constant")
    value = splatOf(op.source);
  else if (op.operands.size() == 1 && operand(0))
    value = foldUnary(name, *operand(0));
  else if (op.operands.size() == 2 && operand(0) && operand(1))
    value = foldBinary(name, *operand(0), *operand(1));
  if (value && std::isfinite(*value))
    result.splat = roundTo(result.type.getElementType(), *value);
}
