//===- BaguaOps.cpp - Generated definitions of ops ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Includes what tablegen generates from the op files. Verifiers, syntax, folds
// and fact rules written by hand are in the files beside this one.
//
//===----------------------------------------------------------------------===//
#include "AssemblyFormat.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace bagua;

#include "bagua/Dialect/Bagua/BaguaEnums.cpp.inc"
#include "bagua/Dialect/Bagua/BaguaInterfaces.cpp.inc"

static Value sideOf(StepOpInterface op, WholeSide side) {
  return side == WholeSide::Operand ? op->getOperand(0)
                                    : Value(op->getResult(0));
}

Value StepOpInterface::getWholeValue() {
  return sideOf(*this, wholeSideOf(*getCollective()));
}

Value StepOpInterface::getPartialValue() {
  bool isOperand = wholeSideOf(*getCollective()) == WholeSide::Operand;
  return sideOf(*this, isOperand ? WholeSide::Result : WholeSide::Operand);
}

#define GET_OP_CLASSES
#include "bagua/Dialect/Bagua/BaguaOps.cpp.inc"
