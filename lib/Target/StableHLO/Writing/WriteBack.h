//===- WriteBack.h - A planned step back in its module --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The way back: takes the graph of a module, what the import made of it, and
// the step after planning, and changes the module into the planned one.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_WRITING_WRITEBACK_H
#define BAGUA_LIB_TARGET_STABLEHLO_WRITING_WRITEBACK_H

#include "StableHLO/Writing/Emit.h"

namespace bagua::importer {

/// Writes `step` into the module of `graph`. `emitted` is the step as it was
/// before planning. An error names an op that can't be written.
mlir::LogicalResult writeBack(StepOp step, Graph &graph,
                              const ImportedStep &model, EmittedStep &emitted);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_WRITING_WRITEBACK_H
