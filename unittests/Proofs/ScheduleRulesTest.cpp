//===- ScheduleRulesTest.cpp - What the mutants taught, one by one --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases in which the schedule proof was wrong before its mutants showed it.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace bagua;
using testing::HasSubstr;

namespace {
class ScheduleRulesTest : public testing::Test {
protected:
  ScheduleRulesTest() { context.loadDialect<BaguaDialect>(); }

  /// The first error of the schedule proof; empty if it accepts. `body` has the
  /// weight `%w` of four floats, named "w".
  std::string errorOf(StringRef body) {
    std::string text = R"(
!t = tensor<4xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 1, bytes_per_s = 1>]
bagua.step @train on @pod data [gpu] streams [compute, comm, update] (batch %x "x" : !t, param %w "w" : !t) {
)" + body.str() + "}\n";
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return "doesn't parse";
    std::string first;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (first.empty())
        first = diagnostic.str();
      return success();
    });
    PassManager manager(&context, ModuleOp::getOperationName());
    manager.addNestedPass<StepOp>(createVerifySchedulePass());
    LogicalResult result = manager.run(*module);
    EXPECT_EQ(succeeded(result), first.empty());
    return first;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};
} // namespace

// An argument without a place lies in the program's tensor of its name, and an
// `after` may wait for a value that the runtime never sees.
TEST_F(ScheduleRulesTest, AcceptsAnUpdateOfTheProgramsTensor) {
  EXPECT_EQ(errorOf(R"(
  %g = bagua.compute backward "wgrad"(%x, %w) on compute at [g:0] : (!t, !t) -> (!t grad "w")
  %d = bagua.compute backward "dgrad"(%x, %w) on compute at [program] : (!t, !t) -> (!t)
  %r = bagua.all_reduce mean %g over [gpu] on comm at [g:0] : !t
  %f = bagua.after %r [%d] on comm at [g:0] : !t [!t]
  %n = bagua.sgd (%w) grad %f lr 0.1 on update at ["w"] : !t
  bagua.yield %n : !t
)"),
            "");
}

// Without the `after`, the update overwrites what `dgrad` may still read.
TEST_F(ScheduleRulesTest, RefusesARaceForTheProgramsTensor) {
  EXPECT_THAT(
      errorOf(R"(
  %g = bagua.compute backward "wgrad"(%x, %w) on compute at [g:0] : (!t, !t) -> (!t grad "w")
  %d = bagua.compute backward "dgrad"(%x, %w) on compute at [program] : (!t, !t) -> (!t)
  %r = bagua.all_reduce mean %g over [gpu] on comm at [g:0] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 on update at ["w"] : !t
  bagua.yield %n : !t
)"),
      HasSubstr("writes bytes 0 to 16 of 'w', unordered with another op"));
}

// State that says no place is where the step left it, also for the program.
TEST_F(ScheduleRulesTest, RefusesStateOverwrittenWhereItWasLeft) {
  EXPECT_THAT(errorOf(R"(
  %a = bagua.compute forward "f"(%x, %w) on compute at [g:0] : (!t, !t) -> (!t)
  %g = bagua.compute backward "b"(%a, %w) on compute at [h:0] : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [gpu] on comm at [h:0] : !t
  %c = bagua.concat %r on comm at [g:0] : !t -> !t
  bagua.yield %c : !t
)"),
              HasSubstr("reads a value whose bytes have been overwritten"));
}

// The runtime does nothing for an `after` but wait.
TEST_F(ScheduleRulesTest, RefusesAnAfterThatWouldHaveToCopy) {
  EXPECT_THAT(errorOf(R"(
  %g = bagua.compute backward "wgrad"(%x, %w) on compute at [g:0] : (!t, !t) -> (!t grad "w")
  %f = bagua.after %g [%g] on comm at [h:0] : !t [!t]
  %r = bagua.all_reduce mean %f over [gpu] on comm at [h:0] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 on update at ["w"] : !t
  bagua.yield %n : !t
)"),
              HasSubstr("moves nothing, so it expects its result in its "
                        "operand's place, found it in another"));
}

// What an `after` passes on must still be there.
TEST_F(ScheduleRulesTest, RefusesAnAfterOfOverwrittenBytes) {
  EXPECT_THAT(errorOf(R"(
  %g = bagua.compute backward "wgrad"(%x, %w) on compute at [g:0] : (!t, !t) -> (!t grad "w")
  %y = bagua.compute backward "other"(%x) on compute at [g:0] : (!t) -> (!t)
  %f = bagua.after %g [%y] on comm at [g:0] : !t [!t]
  %r = bagua.all_reduce mean %f over [gpu] on comm at [g:0] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 on update at ["w"] : !t
  bagua.yield %n : !t
)"),
              HasSubstr("reads a value whose bytes have been overwritten"));
}

// On a stream of one name, the program's ops and the runtime's are not in
// order.
TEST_F(ScheduleRulesTest, RefusesAnOrderBetweenProgramAndRuntimeByStream) {
  EXPECT_THAT(errorOf(R"(
  %g = bagua.compute backward "wgrad"(%x, %w) on compute at [g:0] : (!t, !t) -> (!t grad "w")
  %d = bagua.compute backward "dgrad"(%x, %w) on compute at [program] : (!t, !t) -> (!t)
  %r = bagua.all_reduce mean %g over [gpu] on comm at [g:0] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 on compute at ["w"] : !t
  bagua.yield %n : !t
)"),
              HasSubstr("unordered with another op"));
}
