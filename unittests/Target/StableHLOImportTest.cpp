//===- StableHLOImportTest.cpp - Real exported steps ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every graph in test/graphs against its README's table, names against those
// that the text itself has, and the graph proof after one mean per gradient.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/StableHLOImport.h"
#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Dialect/Bagua/GraphProof.h"
#include "bagua/Target/Clusters.h"
#include "bagua/Target/StepSummary.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

using namespace mlir;
using namespace bagua;

namespace {

std::string readGraph(const std::string &name) {
  std::ifstream file(std::string(BAGUA_TEST_GRAPHS) + "/" + name + ".mlir");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A context that collects messages, and the import of one text.
struct Import {
  explicit Import(const std::string &text, StableHLOImportOptions options = {},
                  StringRef clusterArgument = "")
      : handler(&context, [&](Diagnostic &diagnostic) {
          messages.push_back(diagnostic.str());
          return success();
        }) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, "step.mlir"), llvm::SMLoc());
    cluster = std::move(*readCluster(clusterArgument, &context));
    options.cluster = cluster.op;
    module = importStableHLO(sources, &context, options, &info);
  }

  StepOp step() { return *module->getOps<StepOp>().begin(); }
  StepSummary summary() { return summarize(step(), info.allReducesFound); }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::vector<std::string> messages;
  ScopedDiagnosticHandler handler;
  StableHLOImportInfo info;
  OwnedCluster cluster;
  OwningOpRef<ModuleOp> module;
};

struct GradientResult {
  OpResult value;
  std::string param;
};

std::vector<GradientResult> gradientsOf(StepOp step) {
  std::vector<GradientResult> gradients;
  for (auto compute : step.getBody().getOps<ComputeOp>())
    for (OpResult result : compute->getResults())
      if (ResultAttr info = compute.getResultInfo(result.getResultNumber()))
        if (info.getGrad())
          gradients.push_back({result, info.getGrad().str()});
  return gradients;
}

/// Name and type of every gradient.
std::map<std::string, std::string> gradientTypes(StepOp step) {
  std::map<std::string, std::string> types;
  for (const GradientResult &gradient : gradientsOf(step)) {
    llvm::raw_string_ostream stream(types[gradient.param]);
    stream << gradient.value.getType();
  }
  return types;
}

/// Names of params by the text alone: paths of the results of tree 0.
std::set<std::string> namesInText(const std::string &text) {
  std::set<std::string> names;
  std::regex result(
      R"(jax\.result_info = \"(?:result)?\[0\]((?:\['[^']*'\])+)\")");
  for (std::sregex_iterator i(text.begin(), text.end(), result), end; i != end;
       ++i) {
    std::string path = (*i)[1];
    path = std::regex_replace(path, std::regex(R"('\]\[')"), ".");
    names.insert(path.substr(2, path.size() - 4));
  }
  return names;
}

/// One mean all_reduce on each gradient, over the data axes over which its
/// param agrees: what a relaxation pass does.
void reduceGradients(StepOp step) {
  OpBuilder builder(step.getContext());
  llvm::DenseMap<StringAttr, unsigned> arguments = step.numberArguments();
  for (const GradientResult &gradient : gradientsOf(step)) {
    ArgumentAttr param =
        step.getArgument(arguments.at(builder.getStringAttr(gradient.param)));
    SmallVector<StringAttr> axes;
    for (StringAttr axis : step.getDataAxes().getNames())
      if (!param.getVaries() || !param.getVaries().contains(axis.getValue()))
        axes.push_back(axis);
    OpResult value = gradient.value;
    builder.setInsertionPointAfter(value.getOwner());
    auto reduced = builder.create<AllReduceOp>(
        value.getLoc(),
        ReduceKindAttr::get(step.getContext(), ReduceKind::Mean), value,
        AxesAttr::get(step.getContext(), axes));
    value.replaceAllUsesExcept(reduced.getResult(), reduced);
  }
}

template <typename OpTy> int64_t count(StepOp step) {
  auto ops = step.getBody().getOps<OpTy>();
  return std::distance(ops.begin(), ops.end());
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

struct Row {
  const char *name;
  int64_t gradients;
  int64_t bytes;
  int64_t allReduces;
  double gflop;
  bool isAdam;
};

void PrintTo(const Row &row, std::ostream *stream) { *stream << row.name; }

class TableTest : public testing::TestWithParam<Row> {};

// Every graph agrees with the table of its README.
TEST_P(TableTest, AgreesWithReadme) {
  const Row &row = GetParam();
  std::string text = readGraph(row.name);
  const std::clock_t begin = std::clock();
  Import import(text);
  const std::clock_t took = std::clock() - begin;
  ASSERT_TRUE(import.module) << import.messages.back();
  StepSummary summary = import.summary();
  EXPECT_EQ(summary.gradients, row.gradients);
  EXPECT_EQ(summary.parameters, row.gradients);
  EXPECT_EQ(summary.gradientBytes, row.bytes);
  EXPECT_EQ(summary.allReducesFound, row.allReduces);
  EXPECT_NEAR(summary.flops * 1e-9, row.gflop, row.gflop * 0.01);
  EXPECT_EQ(count<AdamOp>(import.step()), row.isAdam ? row.gradients : 0);
  EXPECT_EQ(count<SgdOp>(import.step()), row.isAdam ? 0 : row.gradients);
  // Of a core, however busy it is; the tool takes 0.3 s.
  EXPECT_LT(took / CLOCKS_PER_SEC, 20);
}

// The names are those of the text, as a set.
TEST_P(TableTest, NamesAreThoseOfTheText) {
  std::string text = readGraph(GetParam().name);
  Import import(text);
  ASSERT_TRUE(import.module);
  std::vector<std::string> found = import.summary().gradientNames;
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()),
            namesInText(text));
  EXPECT_EQ(found.size(), namesInText(text).size());
}

// With one mean all_reduce on each gradient the graph proof passes; without, it
// doesn't.
TEST_P(TableTest, PassesTheGraphProof) {
  Import import(readGraph(GetParam().name));
  ASSERT_TRUE(import.module);
  EXPECT_TRUE(failed(verifyGraph(*import.module)));
  reduceGradients(import.step());
  EXPECT_TRUE(succeeded(verifyGraph(*import.module))) << import.messages.back();
}

// At a thousandth of its size a step keeps its gradients.
TEST_P(TableTest, Scales) {
  StableHLOImportOptions options;
  options.sizeScale = 0.001;
  Import import(readGraph(GetParam().name), options);
  ASSERT_TRUE(import.module) << import.messages.back();
  EXPECT_EQ(import.summary().gradients, GetParam().gradients);
  EXPECT_NEAR(import.summary().gradientBytes, GetParam().bytes * 0.001,
              GetParam().bytes * 0.0001 + 4 * GetParam().gradients);
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, TableTest,
    testing::Values(Row{"mlp", 6, 210600, 7, 0.006877184, false},
                    Row{"mlp_shard_map", 6, 210600, 7, 0.006877184, false},
                    Row{"mlp_single", 6, 210600, 0, 0.006877184, false},
                    Row{"mlp_shardy", 6, 210600, 7, 0.006877184, false},
                    Row{"resnet50", 161, 102228128, 162, 1555.14, false},
                    Row{"resnet50_single", 161, 102228128, 0, 1555.14, false},
                    Row{"vgg16", 32, 553430176, 33, 2964.74, false},
                    Row{"bert_base", 206, 440425712, 207, 4475.46, true},
                    Row{"bert_large", 398, 1344904432, 399, 1925.14, true},
                    Row{"bert_large_bf16", 398, 672452216, 399, 1925.14, true},
                    Row{"lstm", 113, 766784512, 114, 2422.92, true},
                    Row{"transformer_moe", 66, 231890944, 67, 435.60, true}),
    [](const auto &info) { return std::string(info.param.name); });

//===----------------------------------------------------------------------===//
// Single facts
//===----------------------------------------------------------------------===//

// A step without collectives has the gradients of the same step with them.
TEST(StableHLOImport, SingleDeviceHasTheSameGradients) {
  for (auto [with, without] :
       {std::pair("resnet50", "resnet50_single"),
        std::pair("mlp", "mlp_single"), std::pair("mlp", "mlp_shard_map"),
        std::pair("mlp", "mlp_shardy")}) {
    Import a(readGraph(with)), b(readGraph(without));
    ASSERT_TRUE(a.module && b.module);
    EXPECT_EQ(gradientTypes(a.step()), gradientTypes(b.step())) << without;
  }
}

// The two parts of a tied embedding's gradient are one gradient.
TEST(StableHLOImport, TiedEmbeddingIsOneGradient) {
  Import import(readGraph("bert_base"));
  ASSERT_TRUE(import.module);
  std::map<std::string, std::string> types = gradientTypes(import.step());
  EXPECT_EQ(types["word_embedding.embedding"], "tensor<30522x768xf32>");
}

// bfloat16 gradients stay bfloat16, and a cast feeds the float32 update.
TEST(StableHLOImport, NarrowGradientsAreCast) {
  Import import(readGraph("bert_large_bf16"));
  ASSERT_TRUE(import.module);
  for (auto &[name, type] : gradientTypes(import.step()))
    EXPECT_NE(type.find("bf16"), std::string::npos) << name;
  EXPECT_EQ(count<CastOp>(import.step()), 398);
}

// An expert's gradient is reduced over the other axis, and the terms that the
// all_to_all has added leave a factor of 1/4 in the model.
TEST(StableHLOImport, ExpertsVaryAlongTheirAxis) {
  Import import(readGraph("transformer_moe"));
  ASSERT_TRUE(import.module);
  StepOp step = import.step();
  EXPECT_EQ(step.lookupCluster().getAxisCount(), 2u);
  EXPECT_EQ(step.getDataAxes().getNames().size(), 2u);
  EXPECT_EQ(count<AllToAllOp>(step), 8);
  int64_t experts = 0;
  for (auto argument : step.getArguments().getAsRange<ArgumentAttr>())
    if (argument.getRole() == Role::Param && argument.getVaries()) {
      ++experts;
      EXPECT_EQ(argument.getVaries().getNames().size(), 1u);
    }
  EXPECT_EQ(experts, 4);
  int64_t scaled = 0;
  for (const GradientResult &gradient : gradientsOf(step))
    scaled += cast<ComputeOp>(gradient.value.getOwner())
                  .getName()
                  .ends_with("/scale");
  EXPECT_EQ(scaled, 4);
}

// Batch statistics that nobody reduces differ between ranks; params don't.
TEST(StableHLOImport, UnreducedBuffersVary) {
  Import import(readGraph("resnet50"));
  ASSERT_TRUE(import.module);
  for (auto argument :
       import.step().getArguments().getAsRange<ArgumentAttr>()) {
    bool isBuffer = argument.getRole() == Role::Buffer;
    EXPECT_EQ(argument.getVaries() != nullptr, isBuffer)
        << argument.getName().str();
  }
}

// The loss is averaged once, in the forward pass, and has a consumer.
TEST(StableHLOImport, LossKeepsItsReduction) {
  Import import(readGraph("vgg16"));
  ASSERT_TRUE(import.module);
  auto losses = import.step().getBody().getOps<AllReduceOp>();
  ASSERT_EQ(std::distance(losses.begin(), losses.end()), 1);
  AllReduceOp loss = *losses.begin();
  EXPECT_EQ(loss.getKind().getValue(), ReduceKind::Mean);
  EXPECT_TRUE(loss.getOutput().hasOneUse());
  EXPECT_EQ(loss.getOutput().user_begin()->getNumResults(), 0u);
}

// A data-parallel step runs on any cluster, another on its own sizes alone.
TEST(StableHLOImport, ClustersMustFit) {
  Import free(readGraph("mlp"), {}, "node=3,gpu=2");
  ASSERT_TRUE(free.module);
  EXPECT_EQ(free.step().getDataAxes().getNames().size(), 2u);

  Import refused(readGraph("transformer_moe"), {}, "node=3,gpu=2");
  EXPECT_FALSE(refused.module);
  ASSERT_FALSE(refused.messages.empty());
  EXPECT_NE(refused.messages.back().find("[data = 2, model = 4]"),
            std::string::npos);
  EXPECT_NE(refused.messages.back().find("[node = 3, gpu = 2]"),
            std::string::npos);

  EXPECT_TRUE(Import(readGraph("transformer_moe"), {}, "node=2,gpu=4").module);
}

// Every preset parses and verifies under its own name.
TEST(Clusters, PresetsAreSound) {
  MLIRContext context;
  ASSERT_FALSE(clusterPresets().empty());
  for (StringRef name : clusterPresets()) {
    auto cluster = readCluster(name, &context);
    ASSERT_TRUE(succeeded(cluster)) << name.str();
    std::string symbol = cluster->op.getSymName().str();
    std::replace(symbol.begin(), symbol.end(), '_', '-');
    EXPECT_EQ(symbol, name.str());
    EXPECT_TRUE(cluster->op.getDeviceAttr());
  }
}

} // namespace
