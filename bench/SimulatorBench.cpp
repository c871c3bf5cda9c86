//===- SimulatorBench.cpp - Tasks that the simulator plays a second -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chain of layers, forward and backward, with a message for each; with one
// communication stream and with four that share the link.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/Simulator.h"

#include <benchmark/benchmark.h>

#include <string>

using namespace bagua;

/// `layers` forward and backward computations and messages, the next step's
/// forward waiting for each layer's message.
static TaskGraph makeGraph(int32_t layers, int streams) {
  TaskGraph graph;
  graph.streams.push_back({"compute", true});
  for (int i = 0; i < streams; ++i)
    graph.streams.push_back({"comm" + std::to_string(i)});
  graph.links.resize(2);
  for (int32_t layer = 0; layer < layers; ++layer)
    graph.add({0, 100}, {}, {{3 * layers - 1 - layer, 1}});
  for (int32_t layer = 0; layer < layers; ++layer)
    graph.add({0, 200}, {}, {});
  for (int32_t layer = 0; layer < layers; ++layer)
    graph.add({1 + layer % streams, 10}, {{0, 150}, {1, 150}},
              {{layers + layer, 0}});
  return graph;
}

static void playStep(benchmark::State &state) {
  TaskGraph graph = makeGraph(static_cast<int32_t>(state.range(0)),
                              static_cast<int>(state.range(1)));
  int64_t tasks = 0;
  for (auto _ : state) {
    Simulation result = simulate(graph);
    benchmark::DoNotOptimize(result.stepNs);
    tasks += static_cast<int64_t>(result.steps) * graph.size();
  }
  state.counters["tasks"] = benchmark::Counter(static_cast<double>(tasks),
                                               benchmark::Counter::kIsRate);
}
BENCHMARK(playStep)
    ->Args({100, 1})
    ->Args({1000, 1})
    ->Args({1000, 4})
    ->Args({10000, 1})
    ->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
