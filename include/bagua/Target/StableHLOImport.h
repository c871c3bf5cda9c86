//===- StableHLOImport.h - Exported training steps to bagua.step ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a whole training step (forward, loss, backward, reduction, update) in
// StableHLO's generic text form, as JAX exports it, and writes it as
// bagua.step. What is recognised, and what is refused: docs/Import.md.
//
//   llvm::SourceMgr sources;
//   sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
//   mlir::SourceMgrDiagnosticHandler handler(sources, &context);
//   mlir::OwningOpRef<mlir::ModuleOp> step =
//       bagua::importStableHLO(sources, &context, options);
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLOIMPORT_H
#define BAGUA_TARGET_STABLEHLOIMPORT_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Support/Words.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace bagua {

/// The stages of the import, in order: the module as it was read, the graph of
/// its ops, what was recognised in it, and the step.
enum class ImportStage { Reading, Graph, Recognition, Writing };

template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<ImportStage> = {
    "reading", "graph", "recognition", "writing"};

struct StableHLOImportOptions {
  /// The cluster to plan for, copied into the result. Null: a cluster of the
  /// exported mesh's axes with default links.
  ClusterOp cluster;
  /// Text of a mapping file (JSON), and its name for messages; empty for none.
  std::string mapping;
  std::string mappingName = "mapping";
  /// Every size of N elements becomes max(1, round(N * sizeScale)), in a tensor
  /// of rank 1.
  double sizeScale = 1;
  /// Moves sums over ranks out of loops that only add them up or stack them.
  bool hoists = true;
  /// Writes out other loops that communicate, if their trip count is known.
  bool unrolls = true;
  /// Where to write what stage `dumpAfter` has made of the step, as soon as it
  /// has; null: nowhere.
  llvm::raw_ostream *dump = nullptr;
  ImportStage dumpAfter = ImportStage::Writing;
};

/// Facts about the import that the step itself does not show.
struct StableHLOImportInfo {
  /// all_reduces of the exported step, gradients' included.
  int64_t allReducesFound = 0;
  /// The reductions that are not of a gradient, and why, such as `all_reduce
  /// sum over [data = 2] of tensor<4xf32> 'loss': it reaches no param`.
  std::vector<std::string> keptReductions;
};

/// The step and its cluster in a new, verified module; null after an error,
/// which diagnostics describe. A remark names each op that is kept without
/// being understood. The context gets stub dialects for the exporters' ops.
mlir::OwningOpRef<mlir::ModuleOp>
importStableHLO(llvm::SourceMgr &sources, mlir::MLIRContext *context,
                const StableHLOImportOptions &options = {},
                StableHLOImportInfo *info = nullptr);

} // namespace bagua

#endif // BAGUA_TARGET_STABLEHLOIMPORT_H
