//===- Report.cpp - Predictions as text and JSON --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text comes in columns for people, JSON with keys for scripts.
//
//===----------------------------------------------------------------------===//
#include "Report.h"

#include "bagua/Scheduling/Search/Strategy.h"
#include "bagua/Support/Encodings.h"
#include "bagua/Support/TraceWriter.h"
#include "bagua/Transforms/Utils/Names.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace bagua;

static int64_t rounded(double value) { return std::llround(value); }

static std::string milliseconds(double ns) {
  return llvm::formatv("{0:F3}", ns * 1e-6).str();
}

static std::string mebibytes(double bytes) {
  return llvm::formatv("{0:F1}", bytes / (1 << 20)).str();
}

/// The number of dedicated servers that send or receive bytes.
static int64_t usedServers(const Prediction &prediction) {
  const ClusterModel &cluster = prediction.cluster;
  const std::vector<double> &busyNs = prediction.simulation.linkBusyNs;
  int64_t used = 0;
  for (int64_t server = 0; server < cluster.dedicatedServers; ++server)
    used += busyNs[serverEgressLink(cluster, server)] > 0 ||
            busyNs[serverIngressLink(cluster, server)] > 0;
  return used;
}

/// `32`, or `32+8` with dedicated servers.
static std::string hostsOf(const Prediction &prediction) {
  std::string text = std::to_string(prediction.cluster.workers());
  if (int64_t servers = usedServers(prediction))
    text += "+" + std::to_string(servers);
  return text;
}

/// `late`, or `program+late` if some updates can't be late.
static std::string updatersOf(const Prediction &prediction) {
  std::string text;
  for (UpdatesBy updater : prediction.updatesBy) {
    text += text.empty() ? "" : "+";
    text += wordOf(updater);
  }
  return text.empty() ? "none" : text;
}

llvm::json::Object bagua::toJson(const Prediction &prediction,
                                 const BoundReport &bounded) {
  llvm::json::Object object{{"name", prediction.strategy}};
  if (!prediction.refusal.empty()) {
    object["refusal"] = prediction.refusal;
    return object;
  }
  object["step_ns"] = rounded(prediction.stepNs);
  object["lower_bound_ns"] = rounded(bounded.bound.ns);
  object["lower_bound_binding"] = bounded.binding;
  object["compute_ns"] = rounded(prediction.computeNs);
  object["exposed_communication_ns"] = rounded(prediction.exposedNs);
  object["updates"] = updatersOf(prediction);
  object["updates_ns"] = rounded(prediction.updatesNs);
  object["bytes_sent"] = rounded(prediction.bytesSent);
  object["peak_bytes"] = prediction.peakBytes;
  object["workers"] = prediction.cluster.workers();
  object["dedicated_servers"] = usedServers(prediction);
  object["binding_resource"] = prediction.bindingResource;
  object["binding_utilisation"] = prediction.bindingUtilisation;
  llvm::json::Object links;
  for (auto [link, ns] : llvm::enumerate(prediction.simulation.linkBusyNs))
    links[linkName(prediction.cluster, static_cast<int32_t>(link))] =
        prediction.stepNs > 0 ? ns / prediction.stepNs : 0;
  object["link_utilisation"] = std::move(links);
  return object;
}

std::string bagua::labelOf(Operation *op) {
  if (auto compute = llvm::dyn_cast<ComputeOp>(op))
    return (stringifyPhaseKind(compute.getPhase()) + " " + compute.getName())
        .str();
  auto step = llvm::cast<StepOp>(op->getParentOp());
  std::string label = op->getName().stripDialect().str();
  // A bucket is named by its first gradient.
  Value value = op->getNumOperands() ? op->getOperand(0) : Value();
  while (value) {
    if (StringAttr name = nameOf(step, value))
      return label + " " + name.str();
    Operation *maker = value.getDefiningOp();
    value = maker && maker->getNumOperands() ? maker->getOperand(0) : Value();
  }
  return label;
}

namespace {
/// A stretch of the critical path: the computation of one layer, or one op of
/// the runtime.
struct PathPart {
  std::string layer;
  double startNs, endNs;
  /// The time of each phase; a single entry if there are no phases.
  std::map<std::string, double> nsOf;
};
} // namespace

/// The name of a computation is a path whose first component is the layer.
static void printCriticalPath(const Prediction &prediction,
                              llvm::raw_ostream &os) {
  std::vector<PathPart> parts;
  for (int32_t task : prediction.simulation.criticalPath) {
    const TaskTimes &times = prediction.simulation.tasks[task];
    if (times.endNs <= times.startNs)
      continue;
    Operation *op = prediction.tasks.ops[task];
    auto compute = llvm::dyn_cast<ComputeOp>(op);
    std::string layer =
        compute ? compute.getName().split('/').first.str() : labelOf(op);
    if (!compute || parts.empty() || parts.back().layer != layer)
      parts.push_back({layer, times.startNs, times.endNs, {}});
    parts.back().endNs = times.endNs;
    parts.back()
        .nsOf[compute ? stringifyPhaseKind(compute.getPhase()).str() : ""] +=
        times.endNs - times.startNs;
  }
  os << "critical path (start ms, ms, layer)\n";
  for (const PathPart &part : parts) {
    auto most = llvm::max_element(part.nsOf, llvm::less_second());
    os << llvm::right_justify(milliseconds(part.startNs), 12)
       << llvm::right_justify(milliseconds(part.endNs - part.startNs), 12)
       << "  " << most->first << (most->first.empty() ? "" : " ") << part.layer
       << "\n";
  }
}

/// Whether the lower bound holds for this prediction; it assumes gradients that
/// are sent unchanged.
static bool isBounded(const Prediction &prediction) {
  auto [name, options] = llvm::StringRef(prediction.strategy).split('{');
  const Strategy *row = findStrategy(std::string_view(name.trim()));
  // A wire is an option of any strategy, or of single buckets.
  auto isNamed = [options = options](const EncodingRow &encoding) {
    return encoding.isOffered && options.contains(encoding.word);
  };
  return row && row->strategyClass == StrategyClass::Lossless &&
         llvm::none_of(getEncodings(), isNamed);
}

void bagua::printPrediction(const Prediction &prediction,
                            const BoundReport &bounded, llvm::raw_ostream &os) {
  if (!prediction.refusal.empty()) {
    os << "strategy       " << prediction.strategy << "\nrefused        "
       << prediction.refusal << "\n";
    return;
  }
  auto line = [&](llvm::StringRef key) -> llvm::raw_ostream & {
    return os << llvm::left_justify(key, 15);
  };
  line("strategy") << prediction.strategy << "\n";
  line("step time") << milliseconds(prediction.stepNs) << " ms";
  if (isBounded(prediction))
    os << llvm::format(", %.1f %% above the lower bound",
                       100 * (prediction.stepNs / bounded.bound.ns - 1));
  os << "\n";
  line("  compute") << milliseconds(prediction.computeNs) << " ms\n";
  line("  exposed") << milliseconds(prediction.exposedNs)
                    << " ms of communication that compute waits for\n";
  line("ranks") << hostsOf(prediction)
                << (usedServers(prediction) ? ", workers and servers\n" : "\n");
  line("updates") << updatersOf(prediction) << "\n";
  line("lower bound") << milliseconds(bounded.bound.ns) << " ms, by "
                      << bounded.binding
                      << (isBounded(prediction)
                              ? "\n"
                              : ", of strategies that send gradients as they "
                                "are\n");
  line("bytes sent") << mebibytes(prediction.bytesSent)
                     << " MiB in a step by rank 0\n";
  line("peak memory") << mebibytes(static_cast<double>(prediction.peakBytes))
                      << " MiB of the runtime's\n";
  line("binding") << prediction.bindingResource << ", "
                  << llvm::format("%.0f %%",
                                  100 * prediction.bindingUtilisation)
                  << " used\n";
  for (auto [index, stream] : llvm::enumerate(prediction.tasks.graph.streams))
    line("  " + stream.name)
        << llvm::format("%5.1f %%",
                        100 * prediction.simulation.streamBusyNs[index] /
                            prediction.stepNs)
        << " of the time\n";
  for (auto [link, ns] : llvm::enumerate(prediction.simulation.linkBusyNs))
    if (ns > 0)
      line("  " + linkName(prediction.cluster, static_cast<int32_t>(link)))
          << llvm::format("%5.1f %%", 100 * ns / prediction.stepNs) << "\n";
  printCriticalPath(prediction, os);
}

void bagua::printTable(llvm::ArrayRef<Prediction> predictions,
                       const BoundReport &bounded, llvm::raw_ostream &os) {
  size_t width = 8, updatersWidth = 7;
  for (const Prediction &prediction : predictions) {
    width = std::max(width, prediction.strategy.size());
    updatersWidth = std::max(updatersWidth, updatersOf(prediction).size());
  }
  os << llvm::left_justify("strategy", width) << "     ranks  "
     << llvm::left_justify("updates", updatersWidth)
     << "     step ms   / bound  exposed ms   sent MiB   peak MiB  "
        "binding\n";
  for (const Prediction &prediction : predictions) {
    os << llvm::left_justify(prediction.strategy, width);
    if (!prediction.refusal.empty()) {
      os << "  refused: " << prediction.refusal << "\n";
      continue;
    }
    os << llvm::right_justify(hostsOf(prediction), 10) << "  "
       << llvm::left_justify(updatersOf(prediction), updatersWidth)
       << llvm::right_justify(milliseconds(prediction.stepNs), 12)
       << (isBounded(prediction)
               ? llvm::formatv("{0,10:F3}",
                               prediction.stepNs / bounded.bound.ns)
                     .str()
               : std::string(9, ' ') + "-")
       << llvm::right_justify(milliseconds(prediction.exposedNs), 12)
       << llvm::right_justify(mebibytes(prediction.bytesSent), 11)
       << llvm::right_justify(
              mebibytes(static_cast<double>(prediction.peakBytes)), 11)
       << "  " << prediction.bindingResource
       << llvm::format(" %.0f %%", 100 * prediction.bindingUtilisation) << "\n";
  }
  os << "lower bound of any lossless strategy: "
     << milliseconds(bounded.bound.ns) << " ms, by " << bounded.binding << "\n";
}

std::string bagua::traceOf(const Prediction &prediction) {
  TraceWriter trace;
  trace.nameProcess(0, "every rank, simulated");
  const TaskGraph &graph = prediction.tasks.graph;
  // The program is thread 0, as in the trace of a run.
  std::vector<int> threads(graph.streams.size());
  int next = 1;
  for (auto [index, stream] : llvm::enumerate(graph.streams)) {
    threads[index] = stream.isCompute ? 0 : next++;
    trace.nameThread(0, threads[index],
                     stream.isCompute ? "program" : stream.name);
  }
  for (int32_t task = 0; task < graph.size(); ++task) {
    const TaskTimes &times = prediction.simulation.tasks[task];
    int64_t start = rounded(times.startNs), end = rounded(times.endNs);
    if (end > start)
      trace.add({labelOf(prediction.tasks.ops[task]),
                 0,
                 threads[graph[task].stream],
                 start,
                 end - start,
                 {{"bytes", graph[task].bytes}}});
  }
  return trace.toJson();
}
