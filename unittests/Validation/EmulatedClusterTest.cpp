//===- EmulatedClusterTest.cpp - Layer tables against a measured cluster --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four hosts with real Gloo over a rate-limited network, compute slept by
// PipeDream's profiles: what PyTorch's DDP takes, and a static plan whose parts
// cross the step's end in a fixed order (docs/Validation.md, "An emulated
// cluster"). Each cell knows the network by its all_reduce of all gradients in
// one buffer, and nothing is fitted.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/LayerImport.h"
#include "bagua/Transforms/Bridge/Predict.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

using namespace mlir;
using namespace bagua;

namespace {
/// Milliseconds of the emulated cluster; 0 where nothing was measured. Times
/// were stretched by `dilation`, and so was the smallest message's.
struct Cell {
  const char *profile;
  int gbitPerS;
  double dilation;
  double flat, noOverlap, perTensor, ddp, staticPlan;
};
} // namespace

static constexpr Cell kCells[] = {
    {"alexnet", 10, 2, 310.8, 407.5, 354.3, 358.4, 310.7},
    {"alexnet", 100, 2, 31.0, 117.7, 86.8, 87.3, 0},
    {"gnmt", 10, 1, 989.0, 1109.2, 1010.2, 1015.4, 994.7},
    {"gnmt", 25, 2.5, 395.9, 497.5, 425.4, 427.4, 403.4},
    {"gnmt", 100, 8, 98.6, 192.3, 132.3, 133.3, 118.1},
    {"resnet50", 10, 1.5, 138.8, 583.8, 448.7, 458.7, 444.7},
    {"resnet50", 25, 1.5, 60.2, 507.0, 447.6, 450.4, 0},
    {"resnet50", 100, 2, 13.5, 458.9, 446.4, 446.1, 0},
    {"vgg16", 10, 1, 707.1, 1408.2, 937.0, 954.6, 719.0},
    {"vgg16", 25, 1, 282.1, 966.0, 678.7, 681.0, 0},
    {"vgg16", 100, 1.5, 85.1, 758.7, 675.0, 676.0, 0},
};

/// Of 4 KB, before it is divided by the dilation.
static constexpr double kSmallestMs = 1.46;
static constexpr int kRanks = 4;

namespace {
class EmulatedClusterTest : public testing::Test {
protected:
  EmulatedClusterTest() {
    context.loadDialect<BaguaDialect>();
    registerBaguaPasses();
  }

  OwningOpRef<ModuleOp> import(const Cell &cell, StringRef cluster);
  OwningOpRef<ModuleOp> importOnCluster(const Cell &cell);
  double predictMs(ModuleOp module, StringRef strategy);
  void compare(const Cell &cell, const char *what, double measured,
               double predicted, double most);

  MLIRContext context;
};
} // namespace

OwningOpRef<ModuleOp> EmulatedClusterTest::import(const Cell &cell,
                                                  StringRef cluster) {
  auto buffer = llvm::MemoryBuffer::getFile(
      llvm::formatv("{0}/pipedream_{1}.graph.txt", BAGUA_TEST_PROFILES,
                    cell.profile)
          .str());
  EXPECT_TRUE(static_cast<bool>(buffer)) << cell.profile;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  auto machines = parseSourceString<ModuleOp>(cluster, &context);
  LayerImportOptions options;
  options.cluster = *machines->getOps<ClusterOp>().begin();
  return importLayers(sources, &context, options);
}

/// As many hops as a ring has share the smallest message's time; the rate is
/// what is left for all gradients at once.
OwningOpRef<ModuleOp> EmulatedClusterTest::importOnCluster(const Cell &cell) {
  auto makeCluster = [](int64_t latencyNs, int64_t bytesPerS) {
    return llvm::formatv("bagua.cluster @hosts axes [#bagua.axis<\"host\", "
                         "size = {0}, latency_ns = {1}, bytes_per_s = {2}>]",
                         kRanks, latencyNs, bytesPerS)
        .str();
  };
  int64_t bytes = 0;
  OwningOpRef<ModuleOp> any = import(cell, makeCluster(1, 1));
  any->walk([&](ComputeOp op) {
    for (OpResult result : op.getResults())
      if (getGradientParam(result))
        bytes += cast<ShapedType>(result.getType()).getNumElements() * 4;
  });
  double smallestMs = kSmallestMs / cell.dilation;
  double hops = 2 * (kRanks - 1);
  double sent = hops / kRanks * static_cast<double>(bytes);
  return import(
      cell, makeCluster(std::llround(smallestMs * 1e6 / hops),
                        std::llround(sent / (cell.flat - smallestMs) * 1e3)));
}

double EmulatedClusterTest::predictMs(ModuleOp module, StringRef strategy) {
  Prediction prediction = predict(module, strategy);
  EXPECT_EQ(prediction.refusal, "") << strategy.str();
  return prediction.stepNs * 1e-6;
}

void EmulatedClusterTest::compare(const Cell &cell, const char *what,
                                  double measured, double predicted,
                                  double most) {
  double error = predicted / measured - 1;
  std::printf("%-9s %4d %-12s %8.1f %8.1f %+6.1f %%\n", cell.profile,
              cell.gbitPerS, what, measured, predicted, 100 * error);
  EXPECT_LE(std::abs(error), most)
      << cell.profile << " at " << cell.gbitPerS << " Gbit/s, " << what;
}

/// What PyTorch does: nothing crosses the step's end.
TEST_F(EmulatedClusterTest, PredictsWhatEndsWithTheStep) {
  std::printf("profile   Gbit/s method       measured predicted  error\n");
  for (const Cell &cell : kCells) {
    OwningOpRef<ModuleOp> module = importOnCluster(cell);
    ASSERT_TRUE(module);
    auto ms = [&](StringRef strategy) { return predictMs(*module, strategy); };
    compare(cell, "no overlap", cell.noOverlap,
            ms("bagua-allreduce{cap-bytes=1000000000000 form=flat "
               "overlap=bsp}"),
            0.05);
    compare(cell, "per tensor", cell.perTensor, ms("wfbp-a2a"), 0.05);
    compare(cell, "DDP", cell.ddp, ms("ddp"), 0.05);
  }
}

/// What a program reaches that updates late.
TEST_F(EmulatedClusterTest, PredictsWhatCrossesTheStepsEnd) {
  for (const Cell &cell : kCells) {
    if (cell.staticPlan == 0)
      continue;
    OwningOpRef<ModuleOp> module = importOnCluster(cell);
    ASSERT_TRUE(module);
    compare(cell, "static plan", cell.staticPlan,
            predictMs(*module, "auto{updates=late}"), 0.03);
  }
}
