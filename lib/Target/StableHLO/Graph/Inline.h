//===- Inline.h - Calls of an exported step -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces calls by the bodies of the called functions, and the starts of
// asynchronous ops by theirs.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_INLINE_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_INLINE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace bagua::importer {

/// For ops that come from calls: the scope of the outermost call that has one,
/// without the name of the call, because helpers are shared.
using CallScopes = llvm::DenseMap<mlir::Operation *, mlir::StringAttr>;

/// The functions of a module by name, each of one block that ends in a return.
using Functions = llvm::StringMap<mlir::func::FuncOp>;

/// Inlines all calls in the function and in the bodies of Shardy's manual
/// computations in it; calls in loops and branches stay. Called functions are
/// changed, too. An error names a recursive call, or a call of a function
/// without a body. O(ops written).
mlir::FailureOr<CallScopes> inlineCalls(mlir::func::FuncOp entry,
                                        const Functions &functions);

/// Inlines all calls in a block, as in the function that has it.
mlir::LogicalResult inlineCalls(mlir::Block &block, const Functions &functions,
                                CallScopes &scopes);

/// A copy of the op, also of what MLIR 19's clone drops: the properties in
/// <{..}> of unregistered ops, its own and those of ops in its regions.
mlir::Operation *cloneWhole(mlir::OpBuilder &builder, mlir::Operation &op,
                            mlir::IRMapping &mapping);

/// The functions that an op's attributes name. O(attributes).
llvm::SmallVector<mlir::func::FuncOp> functionsOf(mlir::Operation *op,
                                                  const Functions &functions);

/// Erases the functions that no loop or branch of `entry` calls, directly or
/// through others. O(ops).
void eraseUncalled(mlir::func::FuncOp entry, const Functions &functions);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_INLINE_H
