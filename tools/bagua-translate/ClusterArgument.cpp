//===- ClusterArgument.cpp - What --cluster names -------------------------===//
//
// A file, or sizes such as node=2,gpu=4.
//
//===----------------------------------------------------------------------===//
#include "Translations.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace bagua;

llvm::FailureOr<ClusterArgument> bagua::readCluster(StringRef argument,
                                                    MLIRContext *context) {
  ClusterArgument result;
  if (argument.empty())
    return result;
  if (!llvm::sys::fs::exists(argument)) {
    if (argument.contains('=')) {
      result.sizes = argument.str();
      return result;
    }
    return emitError(UnknownLoc::get(context))
           << "expected a file or sizes such as node=2,gpu=4 for --cluster, "
              "found '"
           << argument << "'";
  }
  context->loadDialect<BaguaDialect>();
  result.file = parseSourceFile<ModuleOp>(argument, context);
  if (!result.file)
    return failure();
  auto clusters = llvm::to_vector(result.file->getOps<ClusterOp>());
  if (clusters.size() != 1)
    return emitError(UnknownLoc::get(context))
           << "expected one bagua.cluster in " << argument << ", found "
           << clusters.size();
  result.cluster = clusters.front();
  return result;
}
