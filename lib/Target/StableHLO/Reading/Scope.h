//===- Scope.h - Names in locations ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters nest scopes in location names. Scopes are hints for reports;
// decisions about data flow never depend on them.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_READING_SCOPE_H
#define BAGUA_LIB_TARGET_STABLEHLO_READING_SCOPE_H

#include "mlir/IR/Location.h"

#include <string>

namespace bagua::importer {

/// `layer_0/query/dot_general` of a location: its names without those of
/// transformations (jit, jvp, transpose, ...); empty without names.
std::string scopeOf(mlir::Location loc);

/// Whether the location's names say that the op was made by transposition.
bool isTransposedScope(mlir::Location loc);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_READING_SCOPE_H
