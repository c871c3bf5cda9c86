//===- AnnotateCosts.cpp - bagua-annotate-costs ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets durations of compute ops, from the device's roofline or from
// measurements.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Algorithms/ProgramOps.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Report.h"

#include "mlir/IR/Builders.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

namespace bagua {
#define GEN_PASS_DEF_ANNOTATECOSTSPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
/// One line of the overlay file.
struct MeasuredTime {
  int64_t ns;
  unsigned line;
  bool isUsed = false;
};

struct AnnotateCostsPass
    : public bagua::impl::AnnotateCostsPassBase<AnnotateCostsPass> {
  using AnnotateCostsPassBase::AnnotateCostsPassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    llvm::StringMap<MeasuredTime> measured;
    if (failed(readOverlay(step, measured)))
      return signalPassFailure();
    std::optional<DeviceRates> device = ratesOf(step);
    bool isChanged = false;
    for (auto op : step.getBody().front().getOps<ComputeOp>()) {
      auto entry =
          measured.find(keyOf(op.getName(), stringifyPhaseKind(op.getPhase())));
      if (entry != measured.end()) {
        entry->second.isUsed = true;
        setCost(op, entry->second.ns, CostSource::Measured);
        isChanged = true;
      } else if (device && !op.getCostNs() &&
                 (op.getFlops() || op.getBytes())) {
        setCost(op, withLaunchNs(kernelNsOf(op, *device), *device),
                CostSource::Roofline);
        isChanged = true;
      }
    }
    if (!isChanged)
      markAllAnalysesPreserved();
    if (failed(reportUnused(step, measured)))
      return signalPassFailure();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(), summarize(step));
  }

private:
  static llvm::json::Object summarize(StepOp step) {
    int64_t totalNs = 0, measured = 0, estimated = 0, unknown = 0;
    for (auto op : step.getBody().front().getOps<ComputeOp>()) {
      totalNs += op.getCostNs().value_or(0);
      if (!op.getCostNs())
        ++unknown;
      else if (op.getCostSource() == CostSource::Roofline)
        ++estimated;
      else
        ++measured;
    }
    return llvm::json::Object{{"compute_ns", totalNs},
                              {"measured", measured},
                              {"roofline", estimated},
                              {"unknown", unknown}};
  }

  static std::string keyOf(StringRef name, StringRef phase) {
    return (phase + "," + name).str();
  }

  static void setCost(ComputeOp op, int64_t ns, CostSource source) {
    Builder builder(op.getContext());
    op.setCostNsAttr(builder.getI64IntegerAttr(ns));
    op.setCostSourceAttr(CostSourceAttr::get(op.getContext(), source));
  }

  LogicalResult readOverlay(StepOp step, llvm::StringMap<MeasuredTime> &into) {
    if (overlay.empty())
      return success();
    std::string message;
    std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(overlay, &message);
    if (!file)
      return step.emitError() << message;
    SmallVector<StringRef> lines;
    file->getBuffer().split(lines, '\n');
    for (auto [index, line] : llvm::enumerate(lines)) {
      line = line.trim();
      if (line.empty() || line.starts_with("#") || line == "name,phase,ns")
        continue;
      auto [rest, number] = line.rsplit(',');
      auto [name, phase] = rest.rsplit(',');
      int64_t ns;
      if (!symbolizePhaseKind(phase) || number.getAsInteger(10, ns) || ns < 0)
        return step.emitError()
               << overlay << ":" << index + 1
               << ": expected name,phase,ns, found '" << line << "'";
      auto [entry, isNew] = into.try_emplace(
          keyOf(name, phase), MeasuredTime{ns, unsigned(index + 1)});
      if (!isNew)
        return step.emitError() << overlay << ":" << index + 1 << ": " << phase
                                << " of '" << name << "' stands in line "
                                << entry->second.line << " already";
    }
    return success();
  }

  LogicalResult reportUnused(StepOp step,
                             const llvm::StringMap<MeasuredTime> &measured) {
    unsigned firstLine = ~0u;
    StringRef firstKey;
    for (const auto &entry : measured)
      if (!entry.second.isUsed && entry.second.line < firstLine) {
        firstLine = entry.second.line;
        firstKey = entry.getKey();
      }
    if (firstKey.empty())
      return success();
    auto [phase, name] = firstKey.split(',');
    return step.emitError()
           << overlay << ":" << firstLine << ": the step has no " << phase
           << " compute named '" << name << "'";
  }
};
} // namespace
