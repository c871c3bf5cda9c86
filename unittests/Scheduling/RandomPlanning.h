//===- RandomPlanning.h - Small random planning problems ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chain of layers, as imported and relaxed steps are: forward, backward, one
// all_reduce and one update a gradient, and the loss's all_reduce.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_SCHEDULING_RANDOMPLANNING_H
#define BAGUA_UNITTESTS_SCHEDULING_RANDOMPLANNING_H

#include "bagua/Scheduling/Search/CommunicationPlan.h"

#include <random>

namespace bagua::test {

class RandomPlanning {
public:
  explicit RandomPlanning(unsigned seed) : random(seed) {}

  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }

  /// Node and gpu, with servers now and then.
  ClusterModel cluster() {
    ClusterModel model;
    int64_t gpus = 1 + below(4);
    model.axes.push_back({"node", 2 + below(3), 1000 * below(50),
                          1000000000 * (1 + below(10)),
                          1 + (gpus - 1) * below(2)});
    model.axes.push_back(
        {"gpu", gpus, 100 * below(50), 10000000000 * (1 + below(10)), 1});
    if (below(2))
      model.serversOn = 1;
    else
      model.dedicatedServers = below(3);
    model.launchNs = 1000 * below(10);
    model.memoryBytesPerS = 500000000000;
    return model;
  }

  /// One class of gradients for every `mixed` layers; 0 for one in all.
  CommunicationProblem problem(int32_t layers, bool isMixed) {
    CommunicationProblem problem;
    problem.cluster = cluster();
    std::vector<double> forwardNs(layers), backwardNs(layers);
    std::vector<int64_t> counts(layers);
    for (int32_t layer = 0; layer < layers; ++layer) {
      forwardNs[layer] = static_cast<double>(below(1000000));
      backwardNs[layer] = static_cast<double>(below(2000000));
      counts[layer] = 1 + below(below(2) ? 100 : 2000000);
    }
    for (bool byRuntime : {false, true}) {
      OpGraph &graph = byRuntime ? problem.byRuntime : problem.byProgram;
      build(graph, forwardNs, backwardNs, counts, byRuntime);
    }
    double now = 0;
    for (double ns : forwardNs)
      now += ns;
    for (int32_t layer = layers; layer-- > 0;) {
      now += backwardNs[layer];
      // Forward ops, the loss and its all_reduce come first; then two a layer.
      int32_t reduce = layers + 2 * (layers - layer) + 1;
      problem.gradients.push_back({reduce, counts[layer], 4, 3, true});
      problem.bucketing.tensors.push_back({4 * counts[layer],
                                           static_cast<int64_t>(now),
                                           isMixed ? layer % 2 : 0});
    }
    return problem;
  }

private:
  static void build(OpGraph &graph, const std::vector<double> &forwardNs,
                    const std::vector<double> &backwardNs,
                    const std::vector<int64_t> &counts, bool byRuntime) {
    auto layers = static_cast<int32_t>(forwardNs.size());
    GraphOp compute;
    int32_t last = -1;
    for (int32_t layer = 0; layer < layers; ++layer) {
      compute.ns = forwardNs[layer];
      std::vector<int32_t> operands{OpGraph::state(layer)};
      if (last >= 0)
        operands.push_back(last);
      last = graph.add(compute, operands);
    }
    compute.ns = 0;
    int32_t loss = graph.add(compute, {last});
    GraphOp reduce;
    reduce.kind = GraphOpKind::Collective;
    reduce.call = {Collective::AllReduce, 3, 4};
    graph.add(reduce, {loss});
    std::vector<int32_t> reduces(layers);
    for (int32_t layer = layers; layer-- > 0;) {
      compute.ns = backwardNs[layer];
      compute.makesGradient = true;
      last = graph.add(compute, {last, OpGraph::state(layer)});
      reduce.call.bytes = 4 * counts[layer];
      reduces[layer] = graph.add(reduce, {last});
    }
    for (int32_t layer = 0; layer < layers; ++layer) {
      GraphOp update;
      update.kind = byRuntime ? GraphOpKind::Update : GraphOpKind::Compute;
      update.ns = 5000;
      update.writtenOperand = 1;
      graph.yields.push_back(
          graph.add(update, {OpGraph::state(layer), reduces[layer]}));
    }
  }

  std::mt19937 random;
};

/// Gives all gradients so many elements of 4 bytes.
inline void makeAlike(CommunicationProblem &problem, int64_t count) {
  for (size_t i = 0; i < problem.gradients.size(); ++i) {
    problem.gradients[i].count = count;
    problem.bucketing.tensors[i].bytes = 4 * count;
  }
}

} // namespace bagua::test

#endif // BAGUA_UNITTESTS_SCHEDULING_RANDOMPLANNING_H
