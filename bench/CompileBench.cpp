//===- CompileBench.cpp - Time of the default pipeline --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The strategy `ddp` on generated steps of 1,000 to 100,000 ops: a chain of
// layers, forward and backward, with up to 1,000 gradients. What is timed is
// the pipeline alone: without parsing, printing and process start.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/StrategyPipeline.h"
#include "bagua/Transforms/Passes.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "benchmark/benchmark.h"

#include <cstdlib>
#include <string>

using namespace mlir;

/// A step with `ops` compute ops and at most 1,000 layers with a gradient each.
static std::string makeStep(int64_t ops) {
  int64_t layers = std::min<int64_t>(1000, ops / 4);
  int64_t depth = ops / (2 * layers);
  std::string text =
      "bagua.cluster @pod axes [#bagua.axis<\"data\", size = 8, latency_ns = "
      "25000, bytes_per_s = 12500000000>] device #bagua.device<flop_per_s = "
      "15700000000000, bytes_per_s = 900000000000, launch_ns = 5000>\n"
      "bagua.step @train on @pod data [data] (batch %x \"x\" : "
      "tensor<64x512xf32>";
  auto number = [](int64_t i) { return std::to_string(i); };
  for (int64_t layer = 0; layer < layers; ++layer)
    text += ", param %w" + number(layer) + " \"w" + number(layer) +
            "\" : tensor<512x512xf32>";
  text += ") {\n";
  std::string last = "%x";
  auto chain = [&](int64_t layer, const char *phase, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      std::string next =
          std::string("%") + phase + number(layer) + "_" + number(i);
      text += next + " = bagua.compute " + phase + " \"op\"(" + last +
              (i == 0 ? ", %w" + number(layer) : "") +
              ") flops 33554432 bytes 262144 : (tensor<64x512xf32>" +
              (i == 0 ? ", tensor<512x512xf32>" : "") +
              ") -> (tensor<64x512xf32>)\n";
      last = next;
    }
  };
  for (int64_t layer = 0; layer < layers; ++layer)
    chain(layer, "forward", depth);
  for (int64_t layer = layers; layer-- > 0;) {
    chain(layer, "backward", depth - 1);
    text += "%g" + number(layer) + " = bagua.compute backward \"wgrad\"(" +
            last +
            ") flops 33554432 bytes 262144 : (tensor<64x512xf32>) -> "
            "(tensor<512x512xf32> grad \"w" +
            number(layer) + "\")\n";
  }
  std::string yields, types;
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::string n = number(layer);
    text += "%n" + n + " = bagua.sgd (%w" + n + ") grad %g" + n +
            " lr 0.1 : tensor<512x512xf32>\n";
    yields += (layer ? ", %n" : "%n") + n;
    types += layer ? ", tensor<512x512xf32>" : "tensor<512x512xf32>";
  }
  return text + "bagua.yield " + yields + " : " + types + "\n}\n";
}

static void runPipeline(benchmark::State &state) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<bagua::BaguaDialect>();
  std::string text = makeStep(state.range(0));
  auto parsed = parseSourceString<ModuleOp>(text, &context);
  auto pipeline = bagua::expandStrategy("ddp");
  if (!parsed || !pipeline)
    abort();
  int64_t ops = 0;
  for (auto _ : state) {
    state.PauseTiming();
    OwningOpRef<ModuleOp> module = parsed->clone();
    PassManager manager(&context);
    if (failed(parsePassPipeline(*pipeline, manager)))
      abort();
    ops = 0;
    module->walk([&](Operation *) { ++ops; });
    state.ResumeTiming();
    if (failed(manager.run(*module)))
      abort();
    state.PauseTiming();
    module = nullptr;
    state.ResumeTiming();
  }
  state.counters["ops"] = static_cast<double>(ops);
}
BENCHMARK(runPipeline)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond)
    ->Repetitions(5)
    ->ReportAggregatesOnly();

int main(int argc, char **argv) {
  bagua::registerBaguaPasses();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
