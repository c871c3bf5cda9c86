//===- ExportPlan.cpp - Plans as files and as text ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The translations --export-plan, --print-plan and --plan-to-json.
//
//===----------------------------------------------------------------------===//
#include "Translations.h"

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Target/PlanExport.h"

#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace bagua;

/// Reads the plan in the source, and prints the text that `print` returns for
/// it.
static LogicalResult printPlan(const std::shared_ptr<llvm::SourceMgr> &sources,
                               llvm::raw_ostream &output, MLIRContext *context,
                               std::string (*print)(const runtime::Plan &)) {
  const llvm::MemoryBuffer *buffer =
      sources->getMemoryBuffer(sources->getMainFileID());
  auto plan = runtime::Plan::fromBytes(buffer->getBuffer().str());
  if (!plan.ok())
    return emitError(FileLineColLoc::get(context, buffer->getBufferIdentifier(),
                                         0, 0))
           << std::string(plan.status().message());
  output << print(**plan);
  return success();
}

namespace {
/// Stops messages from printing the op they are about: a message has a
/// location, and of a step the op would be the whole step. MLIR's driver has no
/// option for this.
struct MessagesWithoutOps
    : public DialectExtension<MessagesWithoutOps, BaguaDialect> {
  void apply(MLIRContext *context, BaguaDialect *) const override {
    context->printOpOnDiagnostic(false);
  }
};
} // namespace

void bagua::registerPlanTranslations() {
  static TranslateFromMLIRRegistration exportPlanRegistration(
      "export-plan", "a scheduled step as a plan file",
      [](ModuleOp module, llvm::raw_ostream &output) -> LogicalResult {
        if (failed(expectOptions(module.getContext(), "export-plan", {})))
          return failure();
        llvm::FailureOr<std::string> bytes = exportPlan(module);
        if (failed(bytes))
          return failure();
        output << *bytes;
        return success();
      },
      [](DialectRegistry &registry) {
        registry.insert<BaguaDialect>();
        registry.addExtensions<MessagesWithoutOps>();
      });
  static TranslateRegistration printRegistration(
      "print-plan", "a plan as text",
      [](const std::shared_ptr<llvm::SourceMgr> &sources,
         llvm::raw_ostream &output, MLIRContext *context) {
        return printPlan(sources, output, context, runtime::planToText);
      });
  static TranslateRegistration jsonRegistration(
      "plan-to-json", "a plan as JSON",
      [](const std::shared_ptr<llvm::SourceMgr> &sources,
         llvm::raw_ostream &output, MLIRContext *context) {
        return printPlan(sources, output, context, runtime::planToJson);
      });
}
