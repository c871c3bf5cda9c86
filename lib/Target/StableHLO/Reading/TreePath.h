//===- TreePath.h - Names such as params['layer_0']['bias'] ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths into the exporter's trees of arguments and results.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_READING_TREEPATH_H
#define BAGUA_LIB_TARGET_STABLEHLO_READING_TREEPATH_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace bagua::importer {

/// The components of a path: `params['a'][0].b` is params, a, 0, b. Empty for a
/// text that is no path.
llvm::SmallVector<std::string, 4> parseTreePath(llvm::StringRef text);

/// The components as a name: `a.0.b`.
std::string joinPath(llvm::ArrayRef<std::string> components);

/// Whether a path only numbers an argument, as newer pmaps do: flat_args[7].
bool isNumbered(llvm::StringRef path);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_READING_TREEPATH_H
