//===- Naming.h - Readable, unique names ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of a step's arguments from tree paths, and what paths say of roles.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_NAMING_H
#define BAGUA_TARGET_STABLEHLO_NAMING_H

#include "ImportedStep.h"

namespace bagua::importer {

/// The role of a state whose tree path says it; nothing if none is said.
std::optional<Role> roleByName(llvm::StringRef path);

/// Gives a name to every argument that has none: for state the path in its tree
/// (`layer_0.bias`, `momentum.layer_0.bias`), for others the whole path
/// (`batch.image`). Names that would clash get their tree's name in front, then
/// a number.
void nameArguments(const Graph &graph, std::vector<StepArgument> &arguments);

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_NAMING_H
