//===- Naming.h - Readable, unique names ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of a step's arguments, and roles, from tree paths.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_NAMING_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_NAMING_H

#include "StableHLO/Recognition/ImportedStep.h"

namespace bagua::importer {

/// The role that a state's tree path tells; nothing if it tells none.
std::optional<Role> roleByName(llvm::StringRef path);

/// Gives a name to every argument that has none: a state gets the path in its
/// tree (`layer_0.bias`, `momentum.layer_0.bias`), others the whole path
/// (`batch.image`). Names that would clash get their tree's name in front, then
/// a number.
void nameArguments(const Graph &graph, std::vector<StepArgument> &arguments);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_NAMING_H
