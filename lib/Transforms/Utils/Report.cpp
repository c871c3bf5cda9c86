//===- Report.cpp - What the passes decided -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes find the report by a dialect interface: a report belongs to a context,
// as its diagnostics do.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/Report.h"

#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace bagua;

static Operation *outermost(Operation *op) {
  while (Operation *parent = op->getParentOp())
    op = parent;
  return op;
}

void Report::add(Operation *op, StringRef pass, llvm::json::Object entry) {
  auto step = dyn_cast<StepOp>(op);
  std::string name = step ? step.getSymName().str() : "";
  if (step)
    entry["step"] = name;
  entry["pass"] = pass;
  // Decisions are kept as text, because JSON values refer to strings of a
  // context that may end first.
  std::string text =
      llvm::formatv("{0}", llvm::json::Value(std::move(entry))).str();
  std::lock_guard<std::mutex> lock(mutex);
  if (trials.contains(outermost(op)))
    return;
  decisions[name].push_back(std::move(text));
}

void Report::print(llvm::raw_ostream &os) const {
  llvm::ListSeparator separator(",\n");
  os << "{\"decisions\":[\n";
  for (const auto &[step, entries] : decisions)
    for (const std::string &entry : entries)
      os << separator << entry;
  os << "\n]}\n";
}

namespace {
struct ReportInterface : public DialectInterface::Base<ReportInterface> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReportInterface)
  ReportInterface(Dialect *dialect, Report &target)
      : Base(dialect), report(target) {}

  Report &report;
};

struct ReportExtension
    : public DialectExtension<ReportExtension, BaguaDialect> {
  explicit ReportExtension(Report &target) : report(target) {}

  void apply(MLIRContext *, BaguaDialect *dialect) const override {
    dialect->addInterface<ReportInterface>(report);
  }

  Report &report;
};
} // namespace

void bagua::attachReport(DialectRegistry &registry, Report &report) {
  registry.addExtension(std::make_unique<ReportExtension>(report));
}

Report *bagua::getReport(MLIRContext *context) {
  auto *dialect = context->getLoadedDialect<BaguaDialect>();
  auto *found =
      dialect ? dialect->getRegisteredInterface<ReportInterface>() : nullptr;
  return found ? &found->report : nullptr;
}

ReportTrial::ReportTrial(ModuleOp module)
    : report(getReport(module.getContext())), module(module) {
  if (!report)
    return;
  std::lock_guard<std::mutex> lock(report->mutex);
  report->trials.insert(module);
}

ReportTrial::~ReportTrial() {
  if (!report)
    return;
  std::lock_guard<std::mutex> lock(report->mutex);
  report->trials.erase(module);
}
