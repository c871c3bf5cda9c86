//===- BaguaDialect.cpp - Registration of the bagua dialect ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers attributes, types and ops.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Bagua.h"

using namespace mlir;
using namespace bagua;

#include "bagua/Dialect/Bagua/BaguaDialect.cpp.inc"

void BaguaDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "bagua/Dialect/Bagua/BaguaOps.cpp.inc"
      >();
}
