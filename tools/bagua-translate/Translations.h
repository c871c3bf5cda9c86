//===- Translations.h - What bagua-translate can do -----------------------===//
//
// Registration of the tool's translations, and what they share.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_TRANSLATE_TRANSLATIONS_H
#define BAGUA_TOOLS_BAGUA_TRANSLATE_TRANSLATIONS_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace bagua {

/// --import-stablehlo, --import-layers, and their options.
void registerImports();

/// --export-plan, --print-plan, --plan-to-json.
void registerPlanTranslations();

/// What `--cluster=C` names: a file with a bagua.cluster, or axes with default
/// links.
struct ClusterArgument {
  mlir::OwningOpRef<mlir::ModuleOp> file;
  /// Null unless a file was named.
  ClusterOp cluster;
  /// `node=2,gpu=4`; empty unless sizes were given.
  std::string sizes;
};

/// Emits an error and fails for a file without exactly one cluster.
llvm::FailureOr<ClusterArgument> readCluster(llvm::StringRef argument,
                                             mlir::MLIRContext *context);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_TRANSLATE_TRANSLATIONS_H
