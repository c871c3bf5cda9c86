//===- NumberRules.h - What an op computes of numbers ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of one element, in double precision: for constants, for what depends on the
// device, and for formulas.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_NUMBERRULES_H
#define BAGUA_LIB_TARGET_STABLEHLO_NUMBERRULES_H

#include "mlir/IR/Operation.h"

namespace bagua::importer {

/// Of up to three operands; others are ignored. A result that is not finite is
/// not defined.
using Rule = double (*)(double a, double b, double c);

/// Null for an op of which element `i` is not made of elements `i`, and for one
/// that is not known. What gives its operand another shape hands it on.
/// Integers are not wrapped, and divide towards zero.
Rule ruleOf(mlir::Operation *op);

/// Whether the op's arithmetic is in pieces, as a comparison's is.
bool isPiecewise(mlir::Operation *op);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_NUMBERRULES_H
