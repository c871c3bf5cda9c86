//===- ExecutorBench.cpp - What a session costs ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time of an instruction whose operands are ready, and what a session adds
// to a small all_reduce: the time from markReady to the end of wait, beside the
// same collective on the caller's thread.
//
//===----------------------------------------------------------------------===//
#include "Benches.h"

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Runtime/Session.h"

#include <benchmark/benchmark.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace bagua;
using namespace bagua::runtime;

namespace {

/// A plan of `count` equal instructions on a bound tensor of `elements`.
std::shared_ptr<const Plan> makePlan(int64_t ranks, int64_t elements,
                                     fb::Opcode opcode, int count) {
  fb::PlanT plan;
  plan.name = "bench";
  plan.streams = {"comm"};
  plan.cluster = std::make_unique<fb::ClusterT>();
  plan.cluster->axes.push_back(std::make_unique<fb::AxisT>());
  plan.cluster->axes[0]->name = "gpu";
  plan.cluster->axes[0]->size = ranks;
  plan.tensors.push_back(std::make_unique<fb::TensorT>());
  plan.tensors[0]->name = "g";
  plan.tensors[0]->shape = {elements};
  plan.tensors[0]->given_by_program = true;
  plan.values.push_back(std::make_unique<fb::ValueT>());
  plan.values[0]->count = elements;
  plan.values[0]->tensor = 0;
  plan.phases.push_back(std::make_unique<fb::PhaseT>());
  plan.steps.push_back(std::make_unique<fb::StepT>());
  fb::StepT &step = *plan.steps[0];
  step.name = plan.name;
  for (int i = 0; i < count; ++i) {
    auto op = std::make_unique<fb::InstructionT>();
    op->name = "op" + std::to_string(i);
    op->opcode = opcode;
    op->inputs = op->outputs = {0};
    op->ready = {0};
    if (opcode == fb::Opcode::Linear)
      op->constants = {1.0f};
    else
      op->axes = {0};
    addUse(step, 0, i);
    step.instructions.push_back(std::move(op));
  }
  auto loaded = Plan::fromBytes(writePlan(plan));
  check(loaded.status());
  return *loaded;
}

absl::Status runStep(Session &session) {
  if (absl::Status status = session.beginStep(); !status.ok())
    return status;
  if (absl::Status status = session.markReady(TensorId(0)); !status.ok())
    return status;
  if (absl::Status status = session.wait(TensorId(0)); !status.ok())
    return status;
  return session.endStep();
}

std::unique_ptr<Session> makeSession(const std::shared_ptr<const Plan> &plan,
                                     std::unique_ptr<World> world,
                                     std::vector<float> &memory) {
  auto session = Session::create(plan, std::move(world), {});
  check(session.status());
  check((*session)->bind(TensorId(0), memory.data(), memory.size() * 4));
  check((*session)->start());
  return *std::move(session);
}

/// A step of 1000 instructions on one element each.
void instructionWhoseOperandsAreReady(benchmark::State &state) {
  constexpr int kInstructions = 1000;
  std::vector<float> memory(1);
  auto worlds = createInProcessWorlds(1);
  auto session = makeSession(makePlan(1, 1, fb::Opcode::Linear, kInstructions),
                             std::move(worlds[0]), memory);
  for (auto _ : state)
    check(runStep(*session));
  check(session->finish());
  state.counters["instruction"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * kInstructions,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(instructionWhoseOperandsAreReady)->UseRealTime();

/// Runs `body` on the benchmark's thread and `peer` on the other ranks' threads
/// as often, until the benchmark has enough.
template <typename Body>
void runWithPeers(benchmark::State &state, int ranks, Body body) {
  std::atomic<int64_t> goal{0};
  std::atomic<bool> isOver{false};
  std::vector<std::thread> peers;
  for (int rank = 1; rank < ranks; ++rank)
    peers.emplace_back([&, rank] {
      for (int64_t done = 0;; ++done) {
        while (done == goal.load(std::memory_order_acquire))
          if (isOver.load(std::memory_order_acquire))
            return;
          else
            std::this_thread::yield();
        body(rank);
      }
    });
  for (auto _ : state) {
    goal.fetch_add(1, std::memory_order_release);
    body(0);
  }
  isOver = true;
  for (std::thread &peer : peers)
    peer.join();
}

constexpr int64_t kElements = 1024; // 4 KiB

void allReduceInASession(benchmark::State &state) {
  auto ranks = static_cast<int>(state.range(0));
  auto plan = makePlan(ranks, kElements, fb::Opcode::AllReduce, 1);
  auto worlds = createInProcessWorlds(ranks);
  std::vector<std::vector<float>> memory(ranks, std::vector<float>(kElements));
  std::vector<std::unique_ptr<Session>> sessions(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      sessions[rank] = makeSession(plan, std::move(worlds[rank]), memory[rank]);
    });
  for (std::thread &thread : threads)
    thread.join();
  runWithPeers(state, ranks,
               [&](int rank) { check(runStep(*sessions[rank])); });
  for (auto &session : sessions)
    check(session->finish());
}
BENCHMARK(allReduceInASession)->Arg(2)->UseRealTime();

void allReduceOnTheCallersThread(benchmark::State &state) {
  auto ranks = static_cast<int>(state.range(0));
  auto worlds = createInProcessWorlds(ranks);
  std::vector<std::vector<float>> memory(ranks, std::vector<float>(kElements));
  std::vector<std::unique_ptr<Communicator>> communicators(ranks);
  std::vector<int> members;
  for (int rank = 0; rank < ranks; ++rank)
    members.push_back(rank);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto made = worlds[rank]->createCommunicator(members, "bench");
      check(made.status());
      communicators[rank] = *std::move(made);
    });
  for (std::thread &thread : threads)
    thread.join();
  runWithPeers(state, ranks, [&](int rank) {
    check(communicators[rank]->allReduce(memory[rank].data(),
                                         memory[rank].data(), kElements,
                                         DataType::Float32, ReduceKind::Sum));
  });
}
BENCHMARK(allReduceOnTheCallersThread)->Arg(2)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
