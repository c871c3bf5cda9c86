//===- Splats.cpp - Values that are known to be one number ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folds splats in the precision of their element type.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Splats.h"

#include "StableHLO/Graph/NumberRules.h"

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

/// The number that an element of this type stores for the value.
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

void bagua::importer::inferSplat(Graph &graph, FlatOp &op) {
  if (op.results.size() != 1)
    return;
  FlatValue &result = graph.values[op.results[0]];
  StringRef name = op.source->getName().stripDialect();
  std::optional<double> value;
  if (name == "constant") {
    value = splatOf(op.source);
  } else if (Rule rule = ruleOf(op.source)) {
    double inputs[3] = {0, 0, 0};
    for (auto [index, operand] : llvm::enumerate(op.operands)) {
      if (!graph.values[operand].splat)
        return;
      inputs[index] = *graph.values[operand].splat;
    }
    value = rule(inputs[0], inputs[1], inputs[2]);
  }
  if (value && std::isfinite(*value))
    result.splat = roundTo(result.type.getElementType(), *value);
}
