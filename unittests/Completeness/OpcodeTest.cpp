//===- OpcodeTest.cpp - What an opcode lacks ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the schema's opcodes: an op that becomes it, a rule of the loader that
// refuses nonsense, a kernel, a comment in the schema.
//
//===----------------------------------------------------------------------===//
#include "Manual.h"
#include "Plan/Opcodes.h"

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Runtime/Device.h"
#include "bagua/Runtime/Plan.h"

#include "llvm/ADT/StringExtras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

using namespace bagua;
using runtime::InstructionKind;
namespace fb = runtime::fb;

namespace {

/// A plan of one rank with one instruction on values of eight floats.
std::string planOf(fb::Opcode opcode, size_t inputs, size_t outputs,
                   size_t constants, UpdateRule rule = UpdateRule::Sgd) {
  fb::PlanT plan;
  plan.name = "one instruction";
  plan.streams = {"s"};
  plan.cluster = std::make_unique<fb::ClusterT>();
  plan.cluster->axes.push_back(std::make_unique<fb::AxisT>());
  plan.cluster->axes[0]->name = "rank";
  plan.cluster->axes[0]->size = 1;
  plan.arenas.push_back(std::make_unique<fb::ArenaT>());
  plan.arenas[0]->name = "values";
  plan.phases.push_back(std::make_unique<fb::PhaseT>());
  plan.steps.push_back(std::make_unique<fb::StepT>());
  fb::StepT &step = *plan.steps[0];
  step.name = plan.name;
  step.instructions.push_back(std::make_unique<fb::InstructionT>());
  fb::InstructionT &op = *step.instructions[0];
  op.name = "it";
  op.opcode = opcode;
  op.rule = static_cast<uint8_t>(rule);
  op.has_learning_rate = true;
  op.learning_rate = 0.5f;
  op.constants.assign(constants, 0.5f);
  if (runtime::kindOf(opcode) == InstructionKind::Collective)
    op.axes = {0};
  for (size_t i = 0; i < inputs + outputs; ++i) {
    plan.values.push_back(std::make_unique<fb::ValueT>());
    // The squared norms of an update.
    bool isNorm = opcode == fb::Opcode::Update && i + 2 >= inputs && i < inputs;
    plan.values.back()->count = isNorm ? 1 : 8;
    plan.values.back()->arena = 0;
    plan.values.back()->offset = plan.arenas[0]->bytes;
    plan.arenas[0]->bytes += 64;
    (i < inputs ? op.inputs : op.outputs).push_back(static_cast<uint32_t>(i));
  }
  return runtime::writePlan(plan);
}

/// The smallest instruction of the opcode that the loader accepts; null if
/// there is none of few values and constants.
std::shared_ptr<const runtime::Plan> smallestOf(fb::Opcode opcode) {
  for (size_t outputs = 1; outputs <= 3; ++outputs)
    for (size_t inputs = 1; inputs <= 5; ++inputs)
      for (size_t constants = 0; constants <= 8; ++constants)
        for (UpdateRule rule : {UpdateRule::Sgd, UpdateRule::Lars})
          if (auto plan = runtime::Plan::fromBytes(
                  planOf(opcode, inputs, outputs, constants, rule));
              plan.ok())
            return *plan;
  return nullptr;
}

bool isArithmetic(fb::Opcode opcode) {
  InstructionKind kind = runtime::kindOf(opcode);
  return kind == InstructionKind::Arithmetic ||
         kind == InstructionKind::Direction || kind == InstructionKind::Update;
}

bool hasKernel(const runtime::Plan &plan) {
  const fb::Instruction &op = plan.instruction(0);
  std::vector<std::vector<float>> memory;
  std::vector<std::byte *> addresses;
  auto bind = [&](const flatbuffers::Vector<uint32_t> &numbers) {
    std::vector<runtime::LocalValue> values;
    for (uint32_t i = 0; i < numbers.size(); ++i) {
      memory.emplace_back(8, 1.0f);
      runtime::LocalValue value;
      value.place = runtime::Place(&addresses.emplace_back(
          reinterpret_cast<std::byte *>(memory.back().data())));
      value.count = value.wholeCount = 8;
      values.push_back(value);
    }
    return values;
  };
  memory.reserve(16);
  addresses.reserve(16);
  auto inputs = bind(*op.inputs()), outputs = bind(*op.outputs());
  const runtime::KernelTable::Bind *kernel =
      runtime::cpuDevice().kernels().find(op.opcode());
  if (!kernel || !(*kernel)(op, inputs, outputs)
                      ->launch(runtime::cpuQueue(), /*step=*/0)
                      .ok())
    return false;
  // Of ones, with these constants, no arithmetic leaves all ones.
  for (size_t i = inputs.size(); i < memory.size(); ++i)
    if (memory[i] != std::vector<float>(8, 1.0f))
      return true;
  return false;
}

TEST(OpcodeTest, LacksNothing) {
  std::vector<std::string> lacking;
  mlir::MLIRContext context;
  context.loadDialect<BaguaDialect>();
  std::string schema = test::readSource("include/bagua/Runtime/Plan.fbs");
  for (fb::Opcode opcode : fb::EnumValuesOpcode()) {
    std::string name = fb::EnumNameOpcode(opcode);
    auto lack = [&](const std::string &what) {
      lacking.push_back("opcode " + name + " lacks " + what);
    };
    std::string op = "bagua." + llvm::convertToSnakeFromCamelCase(name);
    if (!mlir::RegisteredOperationName::lookup(op, &context))
      lack("an op: expected " + op);
    if (!std::regex_search(
            schema, std::regex("  //[^\n]*\n  " + name + "( = 0)?(,|\n)")))
      lack("docs: expected what it takes and makes above it in Plan.fbs");
    // Waits alone may have any operands, but no more than one result.
    if (runtime::Plan::fromBytes(planOf(opcode, 0, 2, 0)).ok())
      lack("a verifier: two outputs of nothing are accepted");
    if (!isArithmetic(opcode))
      continue;
    if (!runtime::arithmeticRuleOf(opcode)) {
      lack("a verifier: expected a rule of Opcodes.cpp");
      continue;
    }
    std::shared_ptr<const runtime::Plan> plan = smallestOf(opcode);
    if (!plan)
      lack("a verifier: no small instruction is accepted");
    else if (!hasKernel(*plan))
      lack("a kernel: expected one that computes, in Arithmetic.cpp");
  }
  EXPECT_THAT(lacking, testing::IsEmpty());
}

} // namespace
