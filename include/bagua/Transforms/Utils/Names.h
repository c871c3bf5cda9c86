//===- Names.h - Names of values that cross to the program ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives unnamed results unique names of the form <op>.<result>.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_NAMES_H
#define BAGUA_TRANSFORMS_UTILS_NAMES_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "llvm/ADT/StringSet.h"

namespace bagua {

/// The names of one step. Deterministic: a name depends on the ops before it.
class StepNames {
public:
  explicit StepNames(StepOp step);

  /// The name of an argument, or of a result of a compute op or a collective,
  /// which gets one if it has none. Null for values that can't be named.
  mlir::StringAttr nameValue(mlir::Value value);

  /// `stem`, or `stem.1`, `stem.2`, ... where that is taken.
  mlir::StringAttr claim(llvm::StringRef stem);

private:
  StepOp step;
  llvm::StringSet<> taken;
};

/// The name of an argument or a named result; null if it has none.
mlir::StringAttr nameOf(StepOp step, mlir::Value value);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_NAMES_H
