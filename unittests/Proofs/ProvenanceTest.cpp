//===- ProvenanceTest.cpp - The rules of provenance, one by one -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule refuses a step that agreement between ranks alone would accept.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Provenance.h"
#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Dialect/Bagua/GraphProof.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace bagua;
using testing::HasSubstr;

namespace {
/// `w` and `v` are params of four elements with gradients `%g` and `%h`,
/// reduced to
/// `%r` and `%q`; `m` is a moment of `w`.
constexpr char kHead[] = R"(
!t = tensor<4xf32>
!p = tensor<2xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 1, bytes_per_s = 1>, #bagua.axis<"tp", size = 2, latency_ns = 1, bytes_per_s = 1>]
bagua.step @train on @pod data [gpu] (batch %x "x" : !t,
    param %w "w" varies [tp] : !t, optimizer %m "m" varies [tp] : !t, param %v "v" varies [tp] : !t) {
  %g, %h = bagua.compute backward "all"(%x, %w, %v) : (!t, !t, !t) -> (!t grad "w", !t grad "v")
  %r = bagua.all_reduce mean %g over [gpu] : !t
  %q = bagua.all_reduce mean %h over [gpu] : !t
)";

class ProvenanceTest : public testing::Test {
protected:
  ProvenanceTest() { context.loadDialect<BaguaDialect>(); }

  OwningOpRef<ModuleOp> parse(StringRef body) {
    std::string text = kHead + body.str() + "}\n";
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return module;
  }

  /// The first error of the graph proof; empty if it accepts.
  std::string errorOf(ModuleOp module) {
    std::string first;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (first.empty())
        first = diagnostic.str();
      return success();
    });
    LogicalResult result = verifyGraph(module);
    EXPECT_EQ(succeeded(result), first.empty());
    return first;
  }
  std::string errorOf(StringRef body) { return errorOf(*parse(body)); }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};
} // namespace

TEST_F(ProvenanceTest, AcceptsEachGradientInItsParam) {
  EXPECT_EQ(errorOf(R"(
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  %vn = bagua.compute update "opt"(%v, %q) : (!t, !t) -> (!t)
  bagua.yield %wn, %mn, %vn : !t, !t, !t
)"),
            "");
}

// Two gradients of one shape are exchanged.
TEST_F(ProvenanceTest, RefusesTheGradientOfAnotherParam) {
  EXPECT_THAT(errorOf(R"(
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %q lr 0.1 : !t
  %vn = bagua.sgd (%v) grad %r lr 0.1 : !t
  bagua.yield %wn, %mn, %vn : !t, !t, !t
)"),
              HasSubstr("expected no gradient but its own in the next value of "
                        "param 'w', found that of 'v'"));
}

TEST_F(ProvenanceTest, RefusesAParamWithoutItsGradient) {
  EXPECT_THAT(errorOf(R"(
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  bagua.yield %wn, %mn, %v : !t, !t, !t
)"),
              HasSubstr("expected the gradient of 'v' in its next value, found "
                        "none"));
}

// The gradient's halves are put together in the wrong order.
TEST_F(ProvenanceTest, RefusesAGradientOutOfPlace) {
  EXPECT_THAT(errorOf(R"(
  %a, %b = bagua.split %r : !t -> !p, !p
  %c = bagua.concat %b, %a : !p, !p -> !t
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %c lr 0.1 : !t
  %vn = bagua.sgd (%v) grad %q lr 0.1 : !t
  bagua.yield %wn, %mn, %vn : !t, !t, !t
)"),
              HasSubstr("expected every element of the gradient of 'w' in its "
                        "place in the next value of state 'w', found elements "
                        "moved by -2"));
}

// The same, where the program runs the update.
TEST_F(ProvenanceTest, RefusesAGradientOutOfPlaceInCompute) {
  EXPECT_THAT(errorOf(R"(
  %a, %b = bagua.split %q : !t -> !p, !p
  %c = bagua.concat %a, %a : !p, !p -> !t
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  %vn = bagua.compute update "opt"(%v, %c) : (!t, !t) -> (!t)
  bagua.yield %wn, %mn, %vn : !t, !t, !t
)"),
              HasSubstr("expected every element of the gradient of 'v' in its "
                        "place in an operand"));
}

TEST_F(ProvenanceTest, RefusesAGradientMixedOverAxesOfItsParam) {
  EXPECT_THAT(errorOf(R"(
  %z = bagua.all_reduce mean %r over [tp] : !t
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %z lr 0.1 : !t
  %vn = bagua.sgd (%v) grad %q lr 0.1 : !t
  bagua.yield %wn, %mn, %vn : !t, !t, !t
)"),
              HasSubstr("uses the gradient of 'w' reduced over axis 'tp', over "
                        "which the param varies"));
}

TEST_F(ProvenanceTest, RefusesAParamThatComesFromAnother) {
  EXPECT_THAT(errorOf(R"(
  %wn, %mn = bagua.sgd (%v, %m) momentum 0.9 grad %r lr 0.1 : !t
  %vn = bagua.sgd (%v) grad %q lr 0.1 : !t
  bagua.yield %wn, %mn, %vn : !t, !t, !t
)"),
              HasSubstr("expected the next value of state 'w' to come from its "
                        "value, found that of 'v'"));
}

// The last step's moment beside this one's, say.
TEST_F(ProvenanceTest, AnOptimizerMayKeepAnotherStatesOldValue) {
  EXPECT_EQ(errorOf(R"(
  %wn = bagua.sgd (%w) grad %r lr 0.1 : !t
  %vn = bagua.sgd (%v) grad %q lr 0.1 : !t
  bagua.yield %wn, %w, %vn : !t, !t, !t
)"),
            "");
}

TEST_F(ProvenanceTest, RefusesAParamThatComesFromNone) {
  EXPECT_THAT(errorOf(R"(
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  %vn = bagua.sgd (%q) grad %q lr 0.1 : !t
  bagua.yield %wn, %mn, %vn : !t, !t, !t
)"),
              HasSubstr("expected the next value of state 'v' to come from its "
                        "value, found a value without it"));
}

TEST_F(ProvenanceTest, RefusesAParamOutOfPlace) {
  EXPECT_THAT(
      errorOf(R"(
  %a, %b = bagua.split %v : !t -> !p, !p
  %c = bagua.concat %b, %a : !p, !p -> !t
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  %vn = bagua.sgd (%c) grad %q lr 0.1 : !t
  bagua.yield %wn, %mn, %vn : !t, !t, !t
)"),
      HasSubstr("expected every element of state 'v' in its place, found "
                "elements moved by -2"));
}

TEST_F(ProvenanceTest, RefusesTwoUpdatesOfAParam) {
  EXPECT_THAT(errorOf(R"(
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  %v1 = bagua.sgd (%v) grad %q lr 0.1 : !t
  %v2 = bagua.sgd (%v1) grad %q lr 0.1 : !t
  bagua.yield %wn, %mn, %v2 : !t, !t, !t
)"),
              HasSubstr("expected one update of param 'v', found an update of "
                        "its updated value"));
}

TEST_F(ProvenanceTest, RefusesALostMoment) {
  EXPECT_THAT(
      errorOf(R"(
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  %vn = bagua.sgd (%v) grad %q lr 0.1 : !t
  bagua.yield %wn, %m, %vn : !t, !t, !t
)"),
      HasSubstr("expected a use of the next value of each of its states, "
                "found none of result 1"));
}

// Mixed precision: the param is a copy of what the optimizer keeps.
TEST_F(ProvenanceTest, AcceptsACopyOfMasterWeights) {
  EXPECT_EQ(errorOf(R"(
  %mn = bagua.sgd (%m) grad %r lr 0.1 : !t
  %h16 = bagua.cast %mn : !t -> tensor<4xbf16>
  %wn = bagua.cast %h16 : tensor<4xbf16> -> !t
  %vn = bagua.sgd (%v) grad %q lr 0.1 : !t
  bagua.yield %wn, %mn, %vn : !t, !t, !t
)"),
            "");
}

// What is recorded of this step does not fit the next ones.
constexpr char kPlain[] = R"(
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  %d = bagua.linear [1.0, -0.1] (%v, %q) : !t
  bagua.yield %wn, %mn, %d : !t, !t, !t
)";

static void copyMeaning(ModuleOp from, ModuleOp to) {
  StepOp original = *from.getOps<StepOp>().begin();
  StepOp step = *to.getOps<StepOp>().begin();
  ASSERT_TRUE(succeeded(recordMeaning(original)));
  step->setAttr(kMeaningAttr, original->getAttr(kMeaningAttr));
}

TEST_F(ProvenanceTest, RecordedMeaningAllowsAnotherHierarchyAndCut) {
  auto plain = parse(kPlain), other = parse(R"(
  %s = bagua.reduce_scatter mean %g over [gpu] : !t -> tensor<4xf32, #bagua.layout<shard [gpu]>>
  %rr = bagua.all_gather %s over [gpu] : tensor<4xf32, #bagua.layout<shard [gpu]>> -> !t
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %rr lr 0.1 : !t
  %v0, %v1 = bagua.split %v : !t -> !p, !p
  %h0, %h1 = bagua.split %h : !t -> !p, !p
  %q0 = bagua.all_reduce mean %h0 over [gpu] : !p
  %q1 = bagua.all_reduce mean %h1 over [gpu] : !p
  %d0 = bagua.linear [1.0, -0.1] (%v0, %q0) : !p
  %d1 = bagua.linear [-0.1, 1.0] (%q1, %v1) : !p
  %d = bagua.concat %d0, %d1 : !p, !p -> !t
  bagua.yield %wn, %mn, %d : !t, !t, !t
)");
  copyMeaning(*plain, *other);
  EXPECT_EQ(errorOf(*other), "");
}

// A coefficient has moved to the other operand: nothing but the record tells.
TEST_F(ProvenanceTest, RecordedMeaningRefusesOtherArithmetic) {
  auto plain = parse(kPlain), other = parse(R"(
  %wn, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  %d = bagua.linear [1.0, -0.1] (%q, %v) : !t
  bagua.yield %wn, %mn, %d : !t, !t, !t
)");
  EXPECT_EQ(errorOf(*other), "");
  copyMeaning(*plain, *other);
  EXPECT_THAT(errorOf(*other),
              HasSubstr("expected the next value of state 'v' to mean what it "
                        "did when the step's communication was decided"));
}

TEST_F(ProvenanceTest, RecordedMeaningHasOneNumberAState) {
  auto module = parse(kPlain);
  StepOp step = *module->getOps<StepOp>().begin();
  step->setAttr(kMeaningAttr, DenseI64ArrayAttr::get(&context, {1, 2}));
  EXPECT_THAT(errorOf(*module),
              HasSubstr("expected one number in 'bagua.meaning' for each of 3 "
                        "states, found 2"));
}
