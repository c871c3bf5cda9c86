//===- Sweep.cpp - Strategies over a range of clusters --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each point is a copy of the module on a cluster of its own.
//
//===----------------------------------------------------------------------===//
#include "Sweep.h"

#include "Page.h"

#include "bagua/Transforms/Utils/Retarget.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace bagua;

static constexpr double kFactors[] = {0.125, 0.25, 0.5, 1, 2, 4, 8};

namespace {
struct KindText {
  const char *name, *unit;
};
} // namespace

static KindText kindTextOf(SweepKind kind) {
  switch (kind) {
  case SweepKind::Bandwidth:
    return {"bandwidth", "bytes/s"};
  case SweepKind::Latency:
    return {"latency", "ns"};
  case SweepKind::Ranks:
    return {"ranks", "ranks"};
  }
  llvm_unreachable("every kind is named");
}

static int64_t scaled(int64_t value, double factor) {
  return std::llround(static_cast<double>(value) * factor);
}

/// Three significant digits, without trailing zeros.
static std::string shortNumber(double value) {
  std::string text = llvm::formatv(value < 10    ? "{0:F2}"
                                   : value < 100 ? "{0:F1}"
                                                 : "{0:F0}",
                                   value);
  if (StringRef(text).contains('.'))
    text = StringRef(text).rtrim('0').rtrim('.').str();
  return text;
}

/// The value as people write it: `10 Gbit/s`, `25 us`, `8 ranks`.
static std::string sayValue(SweepKind kind, int64_t value) {
  struct Unit {
    double size;
    const char *name;
  };
  static constexpr Unit kRates[] = {
      {1e9, " Gbit/s"}, {1e6, " Mbit/s"}, {1e3, " kbit/s"}, {1, " bit/s"}};
  static constexpr Unit kTimes[] = {
      {1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1, " ns"}};
  static constexpr Unit kCounts[] = {{1, " ranks"}};
  bool isRate = kind == SweepKind::Bandwidth;
  double number = static_cast<double>(value) * (isRate ? 8 : 1);
  ArrayRef<Unit> units = isRate                       ? ArrayRef(kRates)
                         : kind == SweepKind::Latency ? ArrayRef(kTimes)
                                                      : ArrayRef(kCounts);
  const Unit *unit = llvm::find_if(
      units, [&](const Unit &entry) { return number >= entry.size; });
  if (unit == units.end())
    --unit;
  return shortNumber(number / unit->size) + unit->name;
}

/// Changes `cluster` to that of a point and returns the value. Returns nothing
/// if that cluster would be invalid or its value occurs already.
static std::optional<int64_t> change(ClusterOp cluster, SweepKind kind,
                                     double factor) {
  AxisAttr outer = cluster.getAxis(0);
  int64_t size = outer.getSize(), latency = outer.getLatencyNs(),
          rate = outer.getBytesPerS(), value = 0;
  if (kind == SweepKind::Bandwidth)
    value = rate = std::max<int64_t>(1, scaled(rate, factor));
  else if (kind == SweepKind::Latency)
    value = latency = scaled(latency, factor);
  else
    size = scaled(size, factor);
  if (kind == SweepKind::Ranks) {
    if (factor < 0.25 || static_cast<double>(size) !=
                             static_cast<double>(outer.getSize()) * factor)
      return std::nullopt;
    if (std::optional<uint64_t> servers = cluster.getServers())
      cluster.setServers(
          std::max<int64_t>(1, scaled(static_cast<int64_t>(*servers), factor)));
  }
  SmallVector<Attribute> axes(cluster.getAxes().getValue());
  for (auto [index, attribute] : llvm::enumerate(axes)) {
    auto axis = cast<AxisAttr>(attribute);
    if (index > 0 &&
        (!axis.getLinksOf() || axis.getLinksOf() != outer.getName()))
      continue;
    // Measured times hold only for the cluster that was measured.
    attribute = AxisAttr::get(
        axis.getContext(), axis.getName(), index == 0 ? size : axis.getSize(),
        latency, rate, axis.getSharers(), axis.getOverlappedRate(),
        axis.getOverlappedNs(), axis.getConcurrentRate(), axis.getGapNs(),
        axis.getLinksOf(), factor == 1 ? axis.getTable() : nullptr);
  }
  cluster.setAxesAttr(ArrayAttr::get(cluster.getContext(), axes));
  return kind == SweepKind::Ranks ? cluster.getWorkerCount() : value;
}

FailureOr<Sweep> bagua::sweep(ModuleOp module, SweepKind kind,
                              ArrayRef<std::string> strategies) {
  FailureOr<StepOp> step = getOnlyStep(module);
  if (failed(step))
    return failure();
  ClusterOp cluster = step->lookupCluster();
  Sweep result{kind,
               step->getSymName().str(),
               cluster.getAxis(0).getName().str(),
               strategies.vec(),
               {}};
  for (double factor : kFactors) {
    OwningOpRef<ClusterOp> changed = cast<ClusterOp>(cluster->clone());
    std::optional<int64_t> value = change(*changed, kind, factor);
    if (!value ||
        (!result.points.empty() && result.points.back().value == *value))
      continue;
    OwningOpRef<ModuleOp> copy = module.clone();
    if (failed(retarget(*copy, *changed)))
      return failure();
    FailureOr<BoundReport> bounded = bound(*copy);
    if (failed(bounded))
      return failure();
    SweepPoint point{*value, bounded->bound.ns, {}};
    for (const std::string &strategy : strategies) {
      Prediction prediction = predict(*copy, strategy);
      point.stepNs.push_back(prediction.refusal.empty()
                                 ? std::optional<double>(prediction.stepNs)
                                 : std::nullopt);
    }
    llvm::errs() << llvm::formatv("bagua-sim: {0} {1}\n", kindTextOf(kind).name,
                                  sayValue(kind, *value));
    result.points.push_back(std::move(point));
  }
  return result;
}

void bagua::printSweep(const Sweep &sweep, llvm::raw_ostream &os) {
  StringRef name = kindTextOf(sweep.kind).name;
  os << "step ms over " << name << " along '" << sweep.axis << "'\n";
  SmallVector<size_t> widths;
  os << llvm::right_justify(name, 14) << "       bound";
  for (const std::string &strategy : sweep.strategies) {
    widths.push_back(std::max<size_t>(10, strategy.size()));
    os << "  " << llvm::right_justify(strategy, widths.back());
  }
  os << "\n";
  for (const SweepPoint &point : sweep.points) {
    os << llvm::right_justify(sayValue(sweep.kind, point.value), 14)
       << llvm::format("%12.3f", point.boundNs * 1e-6);
    for (auto [ns, width] : llvm::zip_equal(point.stepNs, widths))
      os << "  "
         << llvm::right_justify(ns ? llvm::formatv("{0:F3}", *ns * 1e-6).str()
                                   : "refused",
                                width);
    os << "\n";
  }
}

llvm::json::Object bagua::toJson(const Sweep &sweep) {
  KindText text = kindTextOf(sweep.kind);
  llvm::json::Array values, bounds, strategies;
  for (const SweepPoint &point : sweep.points) {
    values.push_back(point.value);
    bounds.push_back(std::llround(point.boundNs));
  }
  for (auto [index, strategy] : llvm::enumerate(sweep.strategies)) {
    llvm::json::Array times;
    for (const SweepPoint &point : sweep.points)
      times.push_back(point.stepNs[index] ? llvm::json::Value(std::llround(
                                                *point.stepNs[index]))
                                          : llvm::json::Value(nullptr));
    strategies.push_back(
        llvm::json::Object{{"name", strategy}, {"step_ns", std::move(times)}});
  }
  return llvm::json::Object{{"step", sweep.step},
                            {"sweep", text.name},
                            {"unit", text.unit},
                            {"axis", sweep.axis},
                            {"values", std::move(values)},
                            {"lower_bound_ns", std::move(bounds)},
                            {"strategies", std::move(strategies)}};
}

std::string bagua::pageOf(const Sweep &sweep) {
  llvm::json::Object data = toJson(sweep);
  llvm::json::Array labels;
  for (const SweepPoint &point : sweep.points)
    labels.push_back(sayValue(sweep.kind, point.value));
  data["labels"] = std::move(labels);
  return fillPage("sweep", std::move(data));
}
