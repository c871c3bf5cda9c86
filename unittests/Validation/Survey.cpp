//===- Survey.cpp - Predictions of a published table ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps are read once; constants change the cluster's numbers alone.
//
//===----------------------------------------------------------------------===//
#include "Survey.h"

#include "ExportedStep.h"
#include "bagua/Scheduling/Search/Decide.h"
#include "bagua/Scheduling/Search/PlanGraph.h"
#include "bagua/Scheduling/Search/PlanSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <fstream>
#include <sstream>

using namespace bagua;
using namespace bagua::test;

namespace {
struct Model {
  const char *name;
  const char *file;
  /// One GPU's step: local batch over measured samples a second.
  double stepNs;
  int batch;
};
} // namespace

static constexpr Model kModels[] = {
    {"ResNet-50", "resnet50", 64 / 253.1 * 1e9, 64},
    {"BERT-Base", "bert_base", 64 / 212.8 * 1e9, 64},
    {"BERT-Large", "bert_large", 8 / 49.0 * 1e9, 8}};
static constexpr int kGpusOfNode = 4;
/// The default of BytePS and of ByteScheduler.
static constexpr int64_t kPartitionBytes = 4096000;

static const Model &modelOf(const std::string &name) {
  return *llvm::find_if(kModels,
                        [&](const Model &model) { return model.name == name; });
}

static std::vector<SurveyCell> readTable() {
  std::vector<SurveyCell> cells;
  std::ifstream file(BAGUA_TEST_REFERENCE "/survey_throughput.csv");
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#' || line.rfind("model,", 0) == 0)
      continue;
    std::vector<std::string> words;
    std::stringstream stream(line);
    for (std::string word; std::getline(stream, word, ',');)
      words.push_back(word);
    int gpus = std::stoi(words[5]);
    auto known = llvm::find_if(cells, [&](const SurveyCell &cell) {
      return cell.model == words[0] && cell.network == words[2] &&
             cell.gpus == gpus;
    });
    if (known == cells.end())
      known = cells.insert(cells.end(), {words[0], words[2], gpus, {}});
    known->measured[words[3]] = std::stod(words[6]);
  }
  return cells;
}

/// Nodes of four on a bus that they share; the numbers come later.
static std::string clusterOf(int gpus) {
  int nodes = gpus / kGpusOfNode;
  std::string text =
      llvm::formatv("axes [#bagua.axis<\"node\", size = {0}, latency_ns = 0, "
                    "bytes_per_s = 1, sharers = {1}>, #bagua.axis<\"gpu\", "
                    "size = {1}, latency_ns = 0, bytes_per_s = 1, sharers = "
                    "{1}>] device #bagua.device<flop_per_s = 13400000000000, "
                    "bytes_per_s = 616000000000, launch_ns = 5000>",
                    nodes, kGpusOfNode);
  return nodes > 1 ? text + llvm::formatv(" servers {0}", nodes).str() : text;
}

Survey::Survey() : table(readTable()) {
  for (const Model &model : kModels) {
    ExportedStep step(model.file);
    for (int gpus : {4, 8, 16, 32})
      problems[{model.name, gpus}] =
          step.problemOn(clusterOf(gpus), model.stepNs);
  }
}

/// Every gradient by itself, in parts of at most `partitionBytes`; 0 is whole.
static CommunicationPlan planAlone(const CommunicationProblem &problem,
                                   FormKind form, SchedulePolicy policy,
                                   int64_t partitionBytes) {
  CommunicationPlan plan;
  plan.scheduling.policy = policy;
  for (int32_t member : planOrder(problem.bucketing)) {
    const StepGradient &gradient = problem.gradients[member];
    int64_t bytes = gradient.count * gradient.elementBytes, parts = 1;
    if (partitionBytes > 0)
      parts = std::max<int64_t>(1, llvm::divideCeil(bytes, partitionBytes));
    plan.buckets.push_back({1, parts, form});
  }
  return plan;
}

static CommunicationPlan planMerged(const CommunicationProblem &problem) {
  return decide(*findStrategy("mg-wfbp"), problem).plan;
}

static void adapt(ClusterModel &cluster, const Constants &constants, bool isTcp,
                  Constant overheadNs, Constant share) {
  AxisModel &node = cluster.axes[0], &bus = cluster.axes[1];
  node.latencyNs =
      std::llround(constants[isTcp ? TcpLatencyNs : InfiniBandLatencyNs]);
  node.bytesPerS = std::llround(
      constants[isTcp ? TcpBytesPerS : InfiniBandBytesPerS] * constants[share]);
  bus.latencyNs = std::llround(constants[BusLatencyNs]);
  bus.bytesPerS = std::llround(constants[BusBytesPerS]);
  bus.overlappedRate = constants[OverlappedRate];
  cluster.messageNs = std::llround(constants[overheadNs]);
  // NCCL's.
  cluster.hasRingsAndTreesOnly = true;
}

std::map<std::string, double>
Survey::predict(const SurveyCell &cell, const Constants &constants) const {
  CommunicationProblem problem = problems.at({cell.model, cell.gpus});
  std::map<std::string, double> result;
  auto add = [&](const char *method, const CommunicationPlan &plan) {
    CollectivePrices prices(problem.cluster);
    double ns = simulatePlan(problem, plan, prices).stepNs;
    result[method] = cell.gpus * modelOf(cell.model).batch / (ns * 1e-9);
  };
  using Policy = SchedulePolicy;
  bool isTcp = cell.network == "10GbE";
  adapt(problem.cluster, constants, isTcp, HorovodNs, HorovodShare);
  add("BSP-A2A", planAlone(problem, FormKind::Flat, Policy::Bsp, 0));
  add("WFBP-A2A", planAlone(problem, FormKind::Flat, Policy::Wfbp, 0));
  add("MG-WFBP", planMerged(problem));
  // BytePS cuts whatever it sends, and asks no server on a single node.
  FormKind form =
      cell.gpus > kGpusOfNode ? FormKind::RailServers : FormKind::Halves;
  adapt(problem.cluster, constants, isTcp, BytePSNs, BytePSShare);
  add("BSP-PS", planAlone(problem, form, Policy::Bsp, kPartitionBytes));
  add("WFBP-PS", planAlone(problem, form, Policy::Wfbp, kPartitionBytes));
  add("ByteScheduler-PS",
      planAlone(problem, form, Policy::Priority, kPartitionBytes));
  adapt(problem.cluster, constants, isTcp, ByteSchedulerNs, ByteSchedulerShare);
  add("ByteScheduler-A2A",
      planAlone(problem, FormKind::Flat, Policy::Priority, kPartitionBytes));
  return result;
}
