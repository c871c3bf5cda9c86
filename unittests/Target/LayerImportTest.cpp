//===- LayerImportTest.cpp - Tables of layers -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CSV by example, and every PipeDream profile against sums over its text.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/LayerImport.h"
#include "bagua/Target/StepSummary.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

using namespace mlir;
using namespace bagua;

namespace {

struct Import {
  explicit Import(const std::string &text)
      : handler(&context, [&](Diagnostic &diagnostic) {
          messages.push_back(diagnostic.str());
          return success();
        }) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, "table"), llvm::SMLoc());
    module = importLayers(sources, &context);
  }
  StepOp step() { return *module->getOps<StepOp>().begin(); }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::vector<std::string> messages;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};

class ProfileTest : public testing::TestWithParam<const char *> {};

// Gradients, bytes and times are those of the text.
TEST_P(ProfileTest, AgreesWithItsText) {
  std::ifstream file(std::string(BAGUA_TEST_PROFILES) + "/pipedream_" +
                     GetParam() + ".graph.txt");
  std::stringstream buffer;
  buffer << file.rdbuf();
  std::string text = buffer.str();
  std::regex node(
      R"(-- (\w+)[^\n]*forward_compute_time=([\d.]+), backward_compute_time=([\d.]+), activation_size=[^=]*, parameter_size=([\d.]+))");
  int64_t gradients = 0, bytes = 0;
  double ms = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), node), end; i != end;
       ++i) {
    if ((*i)[1].str().rfind("Input", 0) == 0)
      continue;
    gradients += std::stod((*i)[4]) > 0;
    bytes += static_cast<int64_t>(std::stod((*i)[4]));
    ms += std::stod((*i)[2]) + std::stod((*i)[3]);
  }
  Import import(text);
  ASSERT_TRUE(import.module) << import.messages.back();
  StepSummary summary = summarize(import.step());
  EXPECT_GT(gradients, 0);
  EXPECT_EQ(summary.gradients, gradients);
  EXPECT_EQ(summary.gradientBytes, bytes);
  double ns = 0;
  for (auto compute : import.step().getBody().getOps<ComputeOp>())
    ns += static_cast<double>(compute.getCostNs().value_or(0));
  EXPECT_NEAR(ns, ms * 1e6, 1e3);
}

INSTANTIATE_TEST_SUITE_P(Profiles, ProfileTest,
                         testing::Values("alexnet", "gnmt", "resnet50",
                                         "resnet101", "vgg16"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

// One row a layer; the order of readiness orders the backward ops.
TEST(LayerImport, ReadsCsv) {
  Import import("name,tensors,forward_ns,backward_ns,ready\n"
                "a,8x4xf32;8xf32,10,20,0\n"
                "b,,5,6,2\n"
                "c,2xbf16,1,2,1\n");
  ASSERT_TRUE(import.module) << import.messages.back();
  StepSummary summary = summarize(import.step());
  EXPECT_EQ(summary.gradientNames,
            (std::vector<std::string>{"a.0", "a.1", "c"}));
  EXPECT_EQ(summary.gradientBytes, 32 * 4 + 8 * 4 + 2 * 2);
  std::vector<std::string> backward;
  for (auto compute : import.step().getBody().getOps<ComputeOp>())
    if (compute.getPhase() == PhaseKind::Backward)
      backward.push_back(compute.getName().str());
  EXPECT_EQ(backward, (std::vector<std::string>{"a", "c", "b"}));
}

// Each mistake has one message that says what was expected and found.
TEST(LayerImport, RefusesBadTables) {
  for (auto [text, message] :
       std::initializer_list<std::pair<const char *, const char *>>{
           {"", "expected a layer with tensors, found none"},
           {"name,size\n", "found 'size'"},
           {"name,tensors\na\n", "expected 2 cells, found 1"},
           {"name,tensors\na,8x?xf32\n", "found '8x?xf32'"},
           {"name,tensors\na,2xf32\na,2xf32\n", "found 'a' again"},
           {"name,tensors,forward_ns\na,2xf32,-1\n", "found '-1'"},
           {"node1 -- A -- forward_compute_time=x\n",
            "forward_compute_time"}}) {
    Import import(text);
    EXPECT_FALSE(import.module);
    ASSERT_EQ(import.messages.size(), 1u) << text;
    EXPECT_NE(import.messages[0].find(message), std::string::npos)
        << import.messages[0];
  }
}

} // namespace
