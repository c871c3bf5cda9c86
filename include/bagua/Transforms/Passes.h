//===- Passes.h - Passes of the bagua compiler ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations and registration of all passes; each is in a file of its own.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_PASSES_H
#define BAGUA_TRANSFORMS_PASSES_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Transforms/WordOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace bagua {

#define GEN_PASS_DECL
#include "bagua/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bagua/Transforms/Passes.h.inc"

} // namespace bagua

#endif // BAGUA_TRANSFORMS_PASSES_H
