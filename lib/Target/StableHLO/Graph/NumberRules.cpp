//===- NumberRules.cpp - The arithmetic of ops on numbers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of rules by name.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/NumberRules.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace bagua::importer;

/// The rule of a comparison, which has a direction.
static Rule compareRule(Operation *op) {
  std::string how;
  llvm::raw_string_ostream(how) << op->getAttr("comparison_direction");
  return llvm::StringSwitch<Rule>(StringRef(how).take_back(3).take_front(2))
      .Case("EQ", [](double a, double b, double) -> double { return a == b; })
      .Case("NE", [](double a, double b, double) -> double { return a != b; })
      .Case("LT", [](double a, double b, double) -> double { return a < b; })
      .Case("LE", [](double a, double b, double) -> double { return a <= b; })
      .Case("GT", [](double a, double b, double) -> double { return a > b; })
      .Case("GE", [](double a, double b, double) -> double { return a >= b; })
      .Default(nullptr);
}

static Rule piecewiseRule(Operation *op, StringRef name) {
  if (name == "compare")
    return compareRule(op);
  return llvm::StringSwitch<Rule>(name)
      .Case("select", [](double a, double b, double c) { return a ? b : c; })
      .Case("minimum",
            [](double a, double b, double) { return std::min(a, b); })
      .Case("maximum",
            [](double a, double b, double) { return std::max(a, b); })
      .Case("abs", [](double a, double, double) { return std::fabs(a); })
      .Default(nullptr);
}

static Rule smoothRule(StringRef name) {
  return llvm::StringSwitch<Rule>(name)
      .Case("add", [](double a, double b, double) { return a + b; })
      .Case("subtract", [](double a, double b, double) { return a - b; })
      .Case("multiply", [](double a, double b, double) { return a * b; })
      .Case("divide", [](double a, double b, double) { return a / b; })
      .Case("power", [](double a, double b, double) { return std::pow(a, b); })
      .Case("negate", [](double a, double, double) { return -a; })
      .Case("sqrt", [](double a, double, double) { return std::sqrt(a); })
      .Case("rsqrt", [](double a, double, double) { return 1 / std::sqrt(a); })
      .Case("square", [](double a, double, double) { return a * a; })
      .Cases("convert", "reshape", "broadcast_in_dim", "broadcast", "transpose",
             [](double a, double, double) { return a; })
      .Default(nullptr);
}

static Rule integerRule(StringRef name) {
  return llvm::StringSwitch<Rule>(name)
      .Case("divide",
            [](double a, double b, double) { return std::trunc(a / b); })
      .Case("remainder",
            [](double a, double b, double) { return std::fmod(a, b); })
      .Default(nullptr);
}

static bool isOfIntegers(Operation *op) {
  return op->getNumResults() == 1 &&
         getElementTypeOrSelf(op->getResult(0).getType()).isIntOrIndex();
}

Rule bagua::importer::ruleOf(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (op->getNumResults() != 1 || op->getNumOperands() > 3)
    return nullptr;
  if (Rule rule = isOfIntegers(op) ? integerRule(name) : nullptr)
    return rule;
  Rule rule = smoothRule(name);
  return rule ? rule : piecewiseRule(op, name);
}

bool bagua::importer::isPiecewise(Operation *op) {
  StringRef name = op->getName().stripDialect();
  return piecewiseRule(op, name) || (isOfIntegers(op) && integerRule(name));
}
