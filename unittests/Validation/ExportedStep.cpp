//===- ExportedStep.cpp - Real steps on published machines ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The importer and the passes that every strategy begins with.
//
//===----------------------------------------------------------------------===//
#include "ExportedStep.h"

#include "bagua/Target/StableHLOImport.h"
#include "bagua/Transforms/Bridge/CommunicationReader.h"
#include "bagua/Transforms/Bridge/StrategyPipeline.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Retarget.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace bagua;
using namespace bagua::test;

ExportedStep::ExportedStep(StringRef name) {
  context.loadDialect<BaguaDialect>();
  registerBaguaPasses();
  std::string path = (BAGUA_TEST_GRAPHS "/" + name + ".mlir").str();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(static_cast<bool>(buffer)) << path;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  imported = importStableHLO(sources, &context);
  EXPECT_TRUE(imported) << path;
}

CommunicationProblem ExportedStep::problemOn(StringRef cluster,
                                             double computeNs) {
  OwningOpRef<ModuleOp> module = imported->clone();
  auto machines = parseSourceString<ModuleOp>(
      ("bagua.cluster @c " + cluster).str(), &context);
  EXPECT_TRUE(machines);
  EXPECT_TRUE(
      succeeded(retarget(*module, *machines->getOps<ClusterOp>().begin())));
  PassManager manager(&context);
  EXPECT_TRUE(succeeded(parsePassPipeline(preparationPipeline(), manager)));
  EXPECT_TRUE(succeeded(manager.run(*module)));
  FailureOr<StepOp> step = getOnlyStep(*module);
  double total = 0;
  auto computes = llvm::to_vector(step->getBody().front().getOps<ComputeOp>());
  for (ComputeOp op : computes)
    total += static_cast<double>(op.getCostNs().value_or(0));
  for (ComputeOp op : computes)
    op.setCostNs(std::llround(static_cast<double>(op.getCostNs().value_or(0)) *
                              computeNs / total));
  FailureOr<CommunicationProblem> problem =
      readCommunication(*module, /*offersLate=*/false);
  EXPECT_TRUE(succeeded(problem));
  return std::move(*problem);
}
