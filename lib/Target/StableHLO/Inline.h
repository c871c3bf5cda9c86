//===- Inline.h - Calls of an exported step -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the bodies of called functions in the place of the calls, and those of
// asynchronous ops in the place of their start.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_INLINE_H
#define BAGUA_TARGET_STABLEHLO_INLINE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace bagua::importer {

/// Of ops that came through calls the scope of the outermost one that has a
/// scope, without the name of the call: helpers are shared.
using CallScopes = llvm::DenseMap<mlir::Operation *, mlir::StringAttr>;

/// The functions of a module by name, each of one block that ends in a return.
using Functions = llvm::StringMap<mlir::func::FuncOp>;

/// Leaves no call in the function, nor in the bodies of Shardy's manual
/// computations in it; in loops and branches calls stay. What is called is
/// inlined into, too. An error names a call of itself, or of a function without
/// a body. O(ops written).
mlir::FailureOr<CallScopes> inlineCalls(mlir::func::FuncOp entry,
                                        const Functions &functions);

/// The functions that an op's attributes name. O(attributes).
llvm::SmallVector<mlir::func::FuncOp> functionsOf(mlir::Operation *op,
                                                  const Functions &functions);

/// Erases the functions that a loop or a branch of `entry` calls neither
/// directly nor through others. O(ops).
void eraseUncalled(mlir::func::FuncOp entry, const Functions &functions);

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_INLINE_H
