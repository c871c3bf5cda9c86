//===- NumberRules.h - The arithmetic of ops on numbers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules for one element, in double precision: for constants, for values that
// depend on the device, and for formulas.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_NUMBERRULES_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_NUMBERRULES_H

#include "mlir/IR/Operation.h"

namespace bagua::importer {

/// A function of up to three operands; further ones are ignored. A result that
/// is not finite is undefined.
using Rule = double (*)(double a, double b, double c);

/// The rule of an op; null if it is not known, or if element `i` of its result
/// is not made of elements `i`. An op that only changes the shape returns its
/// operand. Integers are not wrapped, and divide towards zero.
Rule ruleOf(mlir::Operation *op);

/// Whether the op's arithmetic is piecewise, as a comparison's is.
bool isPiecewise(mlir::Operation *op);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_NUMBERRULES_H
