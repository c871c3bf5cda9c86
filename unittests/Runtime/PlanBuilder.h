//===- PlanBuilder.h - Plans by hand, for tests ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schema's object form with the few helpers that keep a test readable. What
// is built is not checked: a test may build nonsense, and change any field.
//
//   PlanBuilder plan({{"gpu", 4}});
//   uint32_t g = plan.addTensor("g", {1000}, fb::Role::Gradient);
//   plan.addOp(fb::Opcode::AllReduce, {plan.whole(g)}, {plan.whole(g)}, {0});
//   std::shared_ptr<const Plan> loaded = plan.load();
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_PLANBUILDER_H
#define BAGUA_UNITTESTS_RUNTIME_PLANBUILDER_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bagua::runtime::test {

class PlanBuilder {
public:
  using Numbers = std::vector<uint32_t>;

  explicit PlanBuilder(std::vector<std::pair<std::string, int64_t>> axes);

  uint32_t addStream(const std::string &name);
  uint32_t addArena(const std::string &name, int64_t bytes);

  /// Given by the program; bound unless `arena` says otherwise.
  uint32_t addTensor(const std::string &name, std::vector<int64_t> shape,
                     fb::Role role = fb::Role::Gradient,
                     fb::DataType type = fb::DataType::Float32,
                     int32_t arena = -1, int64_t offset = 0);
  /// A tensor that instructions make.
  uint32_t addResult(const std::string &name, std::vector<int64_t> shape,
                     fb::DataType type = fb::DataType::Float32);

  /// A value that is all of a tensor.
  uint32_t whole(uint32_t tensor);
  uint32_t inArena(uint32_t arena, int64_t offset, int64_t count,
                   fb::DataType type = fb::DataType::Float32,
                   std::vector<fb::LayoutEntryT> layout = {});

  /// Waits for each given tensor that it touches, and is among its users.
  uint32_t addOp(fb::Opcode opcode, Numbers inputs, Numbers outputs,
                 Numbers axes = {}, uint32_t stream = 0);
  /// The step that ops and promises are added to: the last one.
  fb::StepT &step() { return *plan.steps.back(); }
  /// Begins another step, which a row of the table of phases before the last
  /// one runs.
  void addStep(const std::string &name, const fb::PhaseT &when);
  fb::InstructionT &op(uint32_t number) { return *step().instructions[number]; }
  /// The instructions that touch a tensor in the step.
  std::vector<uint32_t> &users(uint32_t tensor);
  fb::TensorT &tensor(uint32_t number) { return *plan.tensors[number]; }
  fb::ValueT &value(uint32_t number) { return *plan.values[number]; }

  /// `tensor` is the mean of itself over `axes`, or of `of`.
  void promise(uint32_t tensor, Numbers axes, fb::ReduceKind kind,
               int64_t of = -1);
  /// `states` are updated by the mean of `gradient` over `axes`; the rest as of
  /// instruction `op`.
  void promiseUpdate(Numbers states, uint32_t gradient, Numbers axes,
                     uint32_t op);
  void addProgramOp(const std::string &name, fb::ComputePhase phase,
                    int64_t costNs, Numbers waits, Numbers gives);
  /// Instruction `op` touches `tensor`, which lives in an arena.
  void use(uint32_t tensor, uint32_t op, bool waits = true);

  std::string bytes();
  /// Null with a test failure if it doesn't load.
  std::shared_ptr<const Plan> load();

  fb::PlanT plan;
};

fb::LayoutEntryT shard(std::vector<uint32_t> axes);
fb::LayoutEntryT root(std::vector<uint32_t> axes);
fb::LayoutEntryT server(int32_t number = -1);
void setLayout(std::vector<std::unique_ptr<fb::LayoutEntryT>> &to,
               const std::vector<fb::LayoutEntryT> &layout);

/// Three gradients in one arena, two buckets on stream 'comm', as DDP has them;
/// with contract and program. The gradients are tensors 0 to 2, the last
/// layer's first; instruction 0 reduces 0, the others the bucket of 1 and 2.
/// Counts are multiplied by `scale`.
PlanBuilder makeDdpPlan(int64_t ranks, int64_t scale = 1,
                        fb::DataType type = fb::DataType::Float32);

/// A plan for four ranks with each opcode at least once, whose contract says
/// what comes of all but AdamApply.
PlanBuilder makeEveryOpcodePlan();

/// A plan with one of almost everything, to break in one place at a time.
///   tensors 0 g (bound, 12x4), 1 w, 2 m (bound), 3 a (arena), 4 r (result)
///   instructions 0 all_reduce g, 1 sgd w m g on stream 1, 2 concat, 3 split,
///   4 reduce_scatter, 5 all_gather, 6 all_to_all g -> r, 7 linear, 8 cast
PlanBuilder makeManyOps();

/// Push and pull, with two servers of their own.
PlanBuilder makeServerPlan();

} // namespace bagua::runtime::test

#endif // BAGUA_UNITTESTS_RUNTIME_PLANBUILDER_H
