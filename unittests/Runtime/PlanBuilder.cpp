//===- PlanBuilder.cpp - Plans by hand, for tests -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Object form in, a finished file out.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"

#include "bagua/Support/DataType.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bagua::runtime::test {

using fb::Opcode;

fb::LayoutEntryT shard(std::vector<uint32_t> axes) {
  fb::LayoutEntryT entry;
  entry.kind = fb::LayoutKind::Shard;
  entry.axes = std::move(axes);
  return entry;
}

fb::LayoutEntryT root(std::vector<uint32_t> axes) {
  fb::LayoutEntryT entry = shard(std::move(axes));
  entry.kind = fb::LayoutKind::Root;
  return entry;
}

fb::LayoutEntryT server(int32_t number) {
  fb::LayoutEntryT entry;
  entry.kind = fb::LayoutKind::Server;
  entry.server = number;
  return entry;
}

void setLayout(std::vector<std::unique_ptr<fb::LayoutEntryT>> &to,
               const std::vector<fb::LayoutEntryT> &layout) {
  to.clear();
  for (const fb::LayoutEntryT &entry : layout)
    to.push_back(std::make_unique<fb::LayoutEntryT>(entry));
}

PlanBuilder::PlanBuilder(std::vector<std::pair<std::string, int64_t>> axes) {
  plan.name = "test";
  plan.cluster = std::make_unique<fb::ClusterT>();
  for (auto &[name, size] : axes) {
    auto axis = std::make_unique<fb::AxisT>();
    axis->name = name;
    axis->size = size;
    plan.cluster->axes.push_back(std::move(axis));
  }
  plan.steps.push_back(std::make_unique<fb::StepT>());
  step().name = plan.name;
  plan.phases.push_back(std::make_unique<fb::PhaseT>());
  addStream("comm");
}

void PlanBuilder::addStep(const std::string &name, const fb::PhaseT &when) {
  plan.steps.push_back(std::make_unique<fb::StepT>());
  step().name = name;
  auto phase = std::make_unique<fb::PhaseT>(when);
  phase->step = static_cast<uint32_t>(plan.steps.size()) - 1;
  plan.phases.insert(plan.phases.end() - 1, std::move(phase));
}

std::vector<uint32_t> &PlanBuilder::users(uint32_t tensor) {
  auto place =
      std::find_if(step().uses.begin(), step().uses.end(),
                   [&](const auto &use) { return use->tensor >= tensor; });
  if (place == step().uses.end() || (*place)->tensor != tensor) {
    place = step().uses.insert(place, std::make_unique<fb::TensorUseT>());
    (*place)->tensor = tensor;
  }
  return (*place)->instructions;
}

uint32_t PlanBuilder::addStream(const std::string &name) {
  plan.streams.push_back(name);
  return static_cast<uint32_t>(plan.streams.size()) - 1;
}

uint32_t PlanBuilder::addArena(const std::string &name, int64_t bytes) {
  auto arena = std::make_unique<fb::ArenaT>();
  arena->name = name;
  arena->bytes = bytes;
  plan.arenas.push_back(std::move(arena));
  return static_cast<uint32_t>(plan.arenas.size()) - 1;
}

uint32_t PlanBuilder::addTensor(const std::string &name,
                                std::vector<int64_t> shape, fb::Role role,
                                fb::DataType type, int32_t arena,
                                int64_t offset) {
  auto tensor = std::make_unique<fb::TensorT>();
  tensor->name = name;
  tensor->shape = std::move(shape);
  tensor->role = role;
  tensor->type = type;
  tensor->arena = arena;
  tensor->offset = offset;
  tensor->given_by_program = true;
  plan.tensors.push_back(std::move(tensor));
  return static_cast<uint32_t>(plan.tensors.size()) - 1;
}

uint32_t PlanBuilder::addResult(const std::string &name,
                                std::vector<int64_t> shape, fb::DataType type) {
  uint32_t number = addTensor(name, std::move(shape), fb::Role::Value, type);
  tensor(number).given_by_program = false;
  return number;
}

uint32_t PlanBuilder::whole(uint32_t number) {
  const fb::TensorT &of = tensor(number);
  auto value = std::make_unique<fb::ValueT>();
  value->type = of.type;
  value->count = 1;
  for (int64_t size : of.shape)
    value->count *= size;
  for (auto &entry : of.layout)
    value->layout.push_back(std::make_unique<fb::LayoutEntryT>(*entry));
  if (of.arena >= 0) {
    value->arena = of.arena;
    value->offset = of.offset;
  } else {
    value->tensor = static_cast<int32_t>(number);
  }
  plan.values.push_back(std::move(value));
  return static_cast<uint32_t>(plan.values.size()) - 1;
}

uint32_t PlanBuilder::inArena(uint32_t arena, int64_t offset, int64_t count,
                              fb::DataType type,
                              std::vector<fb::LayoutEntryT> layout) {
  auto value = std::make_unique<fb::ValueT>();
  value->type = type;
  value->count = count;
  value->arena = static_cast<int32_t>(arena);
  value->offset = offset;
  setLayout(value->layout, layout);
  plan.values.push_back(std::move(value));
  return static_cast<uint32_t>(plan.values.size()) - 1;
}

void PlanBuilder::use(uint32_t number, uint32_t user, bool waits) {
  auto &list = users(number);
  if (std::find(list.begin(), list.end(), user) == list.end())
    list.push_back(user);
  auto &ready = op(user).ready;
  if (waits && tensor(number).given_by_program &&
      std::find(ready.begin(), ready.end(), number) == ready.end())
    ready.push_back(number);
}

uint32_t PlanBuilder::addOp(fb::Opcode opcode, Numbers inputs, Numbers outputs,
                            Numbers axes, uint32_t stream) {
  auto instruction = std::make_unique<fb::InstructionT>();
  auto number = static_cast<uint32_t>(step().instructions.size());
  instruction->name =
      std::string(fb::EnumNameOpcode(opcode)) + std::to_string(number);
  instruction->opcode = opcode;
  instruction->stream = stream;
  instruction->inputs = std::move(inputs);
  instruction->outputs = std::move(outputs);
  instruction->axes = std::move(axes);
  step().instructions.push_back(std::move(instruction));
  for (const Numbers *list : {&op(number).inputs, &op(number).outputs})
    for (uint32_t operand : *list)
      if (value(operand).tensor >= 0)
        use(static_cast<uint32_t>(value(operand).tensor), number);
  return number;
}

void PlanBuilder::promise(uint32_t tensor, Numbers axes, fb::ReduceKind kind,
                          int64_t of) {
  auto relation = std::make_unique<fb::RelationT>();
  relation->tensor = tensor;
  relation->of = of < 0 ? tensor : static_cast<uint32_t>(of);
  relation->reduce = kind;
  relation->axes = std::move(axes);
  step().contract.push_back(std::move(relation));
}

void PlanBuilder::promiseUpdate(Numbers states, uint32_t gradient, Numbers axes,
                                uint32_t number) {
  promise(states[0], std::move(axes), fb::ReduceKind::Mean, gradient);
  step().contract.back()->relation = fb::RelationKind::Updated;
  auto update = std::make_unique<fb::UpdateT>();
  update->opcode = op(number).opcode;
  update->states = std::move(states);
  update->constants = op(number).constants;
  update->bias_correction = op(number).bias_correction;
  update->learning_rate = op(number).learning_rate;
  if (!op(number).has_learning_rate)
    update->learning_rate_tensor = value(op(number).inputs.back()).tensor;
  step().contract.back()->update = std::move(update);
}

void PlanBuilder::addProgramOp(const std::string &name, fb::ComputePhase phase,
                               int64_t costNs, Numbers waits, Numbers gives) {
  auto op = std::make_unique<fb::ProgramOpT>();
  op->name = name;
  op->phase = phase;
  op->cost_ns = costNs;
  op->waits = std::move(waits);
  op->gives = std::move(gives);
  step().program.push_back(std::move(op));
}

std::string PlanBuilder::bytes() { return writePlan(plan); }

std::shared_ptr<const Plan> PlanBuilder::load() {
  auto loaded = Plan::fromBytes(bytes());
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? *loaded : nullptr;
}

PlanBuilder makeDdpPlan(int64_t ranks, int64_t scale, fb::DataType type) {
  PlanBuilder plan({{"gpu", ranks}});
  plan.plan.name = "ddp";
  plan.step().strategy = "ddp";
  int64_t bytes = dataTypeBytes(static_cast<DataType>(type));
  // Counts that divide by nothing; places are multiples of 64 bytes.
  int64_t counts[] = {1021 * scale, 517 * scale, 259 * scale};
  int64_t bucketAt = (counts[0] * bytes + 63) / 64 * 64;
  int64_t offsets[] = {0, bucketAt, bucketAt + counts[1] * bytes};
  plan.addArena("grads", offsets[2] + counts[2] * bytes);
  auto kind = type == fb::DataType::Int8 || type == fb::DataType::Int32 ||
                      type == fb::DataType::Int64
                  ? fb::ReduceKind::Sum
                  : fb::ReduceKind::Mean;
  const char *names[] = {"l3.weight.grad", "l2.weight.grad", "l1.weight.grad"};
  for (int i = 0; i < 3; ++i) {
    plan.addTensor(names[i], {counts[i]}, fb::Role::Gradient, type, 0,
                   offsets[i]);
    plan.promise(i, {0}, kind);
  }
  uint32_t g3 = plan.whole(0), g2 = plan.whole(1), g1 = plan.whole(2);
  uint32_t bucket = plan.inArena(0, bucketAt, counts[1] + counts[2], type);
  uint32_t first = plan.addOp(fb::Opcode::AllReduce, {g3}, {g3}, {0});
  uint32_t concat = plan.addOp(fb::Opcode::Concat, {g2, g1}, {bucket});
  uint32_t second = plan.addOp(fb::Opcode::AllReduce, {bucket}, {bucket}, {0});
  uint32_t split = plan.addOp(fb::Opcode::Split, {bucket}, {g2, g1});
  for (uint32_t op : {first, second})
    plan.op(op).kind = kind;
  plan.use(0, first);
  for (uint32_t tensor : {1, 2}) {
    plan.use(tensor, concat);
    plan.use(tensor, second, /*waits=*/false);
    plan.use(tensor, split, /*waits=*/false);
  }
  plan.addProgramOp("l3", fb::ComputePhase::Backward, 200000, {}, {0});
  plan.addProgramOp("l2", fb::ComputePhase::Backward, 200000, {}, {1});
  plan.addProgramOp("l1", fb::ComputePhase::Backward, 200000, {}, {2});
  plan.addProgramOp("update", fb::ComputePhase::Update, 100000, {0, 1, 2}, {});
  return plan;
}

namespace {

/// Ways of communication that come back to where they began.
uint32_t addThereAndBack(PlanBuilder &plan, uint32_t from) {
  int64_t place = 0;
  auto next = [&](fb::DataType type = fb::DataType::Float32) {
    return plan.inArena(0, 512 * place++, 48, type);
  };
  for (int i = 0; i < 2; ++i) {
    uint32_t to = next();
    plan.op(plan.addOp(Opcode::Exchange, {from}, {to}, {1})).pattern =
        fb::ExchangePattern::ShiftOne;
    from = to;
  }
  for (int i = 0; i < 2; ++i) {
    uint32_t to = next();
    plan.op(plan.addOp(Opcode::Permute, {from}, {to}, {0})).pairs = {0, 1, 1,
                                                                     0};
    from = to;
  }
  for (int i = 0; i < 2; ++i) {
    uint32_t to = next();
    plan.op(plan.addOp(Opcode::AllToAll, {from}, {to}, {0, 1})).shape = {48};
    from = to;
  }
  uint32_t wide = next(fb::DataType::Float64), narrow = next(), same = next();
  plan.addOp(Opcode::Cast, {from}, {wide});
  plan.addOp(Opcode::Cast, {wide}, {narrow});
  plan.op(plan.addOp(Opcode::Linear, {narrow}, {same})).constants = {1};
  return same;
}

void addUpdates(PlanBuilder &plan, uint32_t gradient) {
  using fb::Role;
  auto addState = [&](const char *name, Role role) {
    uint32_t tensor = plan.addTensor(name, {48}, role);
    plan.tensor(tensor).given_by_program = false;
    return tensor;
  };
  uint32_t rate = plan.addTensor("rate", {}, Role::Input);
  uint32_t w = addState("w", Role::Param);
  uint32_t u = addState("u", Role::Param);
  uint32_t m = addState("u.m", Role::Optimizer);
  uint32_t v = addState("u.v", Role::Optimizer);
  uint32_t a = addState("a", Role::Param);
  uint32_t g = plan.whole(gradient), lr = plan.whole(rate);
  uint32_t sgd = plan.addOp(Opcode::Sgd, {plan.whole(w), g}, {plan.whole(w)},
                            {}, /*stream=*/1);
  plan.op(sgd).has_learning_rate = true;
  plan.op(sgd).learning_rate = 0.25f;
  PlanBuilder::Numbers states = {plan.whole(u), plan.whole(m), plan.whole(v)};
  uint32_t adam =
      plan.addOp(Opcode::Adam, {states[0], states[1], states[2], g, lr}, states,
                 {}, /*stream=*/1);
  plan.op(adam).constants = {0.9f, 0.99f, 1e-8f, 0.01f};
  plan.op(adam).bias_correction = fb::BiasCorrection::Moments;
  uint32_t apply =
      plan.addOp(Opcode::AdamApply, {plan.whole(a), states[1], states[2], lr},
                 {plan.whole(a)}, {}, /*stream=*/1);
  plan.op(apply).constants = {1e-8f};
  plan.op(sgd).after = {sgd - 1};
  plan.promiseUpdate({w}, gradient, {0, 1}, sgd);
  plan.promiseUpdate({u, m, v}, gradient, {0, 1}, adam);
  plan.addProgramOp("backward", fb::ComputePhase::Backward, 1000,
                    {w, u, m, v, a}, {gradient, 1, 2});
  plan.addProgramOp("after backward", fb::ComputePhase::Update, 1000,
                    {gradient, 1, 2}, {});
}

} // namespace

PlanBuilder makeEveryOpcodePlan() {
  PlanBuilder plan({{"node", 2}, {"gpu", 2}});
  plan.plan.name = "every opcode";
  plan.plan.cluster->has_colocated_servers = true;
  plan.plan.cluster->server_axes = {0, 1};
  plan.addStream("update");
  plan.addArena("pool", 1 << 14);
  uint32_t g = plan.addTensor("g", {48});
  uint32_t pushed = plan.addTensor("pushed", {48});
  uint32_t other = plan.addTensor("other", {20});
  uint32_t from = addThereAndBack(plan, plan.whole(g));
  uint32_t part =
      plan.inArena(0, 8192, 48, fb::DataType::Float32, {shard({1})});
  uint32_t onRoot =
      plan.inArena(0, 8704, 48, fb::DataType::Float32, {shard({1}), root({0})});
  for (uint32_t op : {plan.addOp(Opcode::ReduceScatter, {from}, {part}, {1}),
                      plan.addOp(Opcode::Reduce, {part}, {onRoot}, {0})})
    plan.op(op).kind = fb::ReduceKind::Mean;
  plan.addOp(Opcode::Broadcast, {onRoot}, {part}, {0});
  uint32_t whole = plan.inArena(0, 10240, 48);
  plan.addOp(Opcode::AllGather, {part}, {whole}, {1});
  plan.addOp(Opcode::Slice, {whole}, {part});
  plan.addOp(Opcode::AllGather, {part}, {plan.whole(g)}, {1});
  uint32_t served =
      plan.inArena(0, 9216, 48, fb::DataType::Float32, {server()});
  plan.addOp(Opcode::Push, {plan.whole(pushed)}, {served}, {0, 1});
  plan.addOp(Opcode::Pull, {served}, {plan.whole(pushed)}, {0, 1});
  uint32_t bucket = plan.inArena(0, 9728, 68);
  plan.addOp(Opcode::Concat, {plan.whole(pushed), plan.whole(other)}, {bucket});
  plan.addOp(Opcode::After, {bucket}, {bucket});
  plan.addOp(Opcode::Split, {bucket}, {plan.whole(pushed), plan.whole(other)});
  plan.addOp(Opcode::AllReduce, {plan.whole(other)}, {plan.whole(other)},
             {0, 1});
  plan.promise(g, {0, 1}, fb::ReduceKind::Mean);
  for (uint32_t tensor : {pushed, other})
    plan.promise(tensor, {0, 1}, fb::ReduceKind::Sum);
  addUpdates(plan, g);
  return plan;
}

PlanBuilder makeManyOps() {
  PlanBuilder plan({{"node", 2}, {"gpu", 2}});
  plan.addStream("update");
  plan.addArena("pool", 1 << 16);
  plan.addTensor("g", {12, 4});
  plan.addTensor("w", {12, 4}, fb::Role::Param);
  plan.addTensor("m", {12, 4}, fb::Role::Optimizer);
  plan.addTensor("a", {100}, fb::Role::Gradient, fb::DataType::Float32, 0, 0);
  plan.addResult("r", {3, 16});
  uint32_t g = plan.whole(0), w = plan.whole(1), m = plan.whole(2);
  uint32_t a = plan.whole(3), r = plan.whole(4);
  plan.addOp(Opcode::AllReduce, {g}, {g}, {0, 1});
  uint32_t sgd = plan.addOp(Opcode::Sgd, {w, m, g}, {w, m}, {}, 1);
  plan.op(sgd).constants = {0.9f};
  plan.op(sgd).has_learning_rate = true;
  plan.op(sgd).learning_rate = 0.1f;
  plan.op(sgd).after = {0};
  uint32_t bucket = plan.inArena(0, 1024, 148);
  plan.addOp(Opcode::Concat, {g, a}, {bucket});
  plan.addOp(Opcode::Split, {bucket}, {g, a});
  uint32_t part =
      plan.inArena(0, 4096, 100, fb::DataType::Float32, {shard({1})});
  plan.addOp(Opcode::ReduceScatter, {a}, {part}, {1});
  plan.addOp(Opcode::AllGather, {part}, {a}, {1});
  uint32_t allToAll = plan.addOp(Opcode::AllToAll, {g}, {r}, {0, 1});
  plan.op(allToAll).shape = {12, 4};
  plan.op(allToAll).concat_dim = 1;
  uint32_t linear = plan.addOp(Opcode::Linear, {w, g}, {g});
  plan.op(linear).constants = {0.5f, 0.5f};
  uint32_t half = plan.inArena(0, 8192, 48, fb::DataType::BFloat16);
  plan.addOp(Opcode::Cast, {g}, {half});
  for (uint32_t op : {2, 3, 4, 5})
    plan.use(3, op);
  plan.promise(0, {0, 1}, fb::ReduceKind::Sum);
  plan.promiseUpdate({1, 2}, 0, {0, 1}, sgd);
  plan.addProgramOp("all", fb::ComputePhase::Backward, 10, {}, {0, 1, 2, 3});
  plan.addProgramOp("end", fb::ComputePhase::Update, 10, {4}, {});
  return plan;
}

PlanBuilder makeServerPlan() {
  PlanBuilder plan({{"node", 2}, {"gpu", 2}});
  plan.plan.cluster->dedicated_servers = 2;
  plan.addArena("pool", 4096);
  plan.addTensor("g", {10});
  uint32_t g = plan.whole(0);
  uint32_t s = plan.inArena(0, 0, 10, fb::DataType::Float32, {server()});
  plan.addOp(Opcode::Push, {g}, {s}, {0, 1});
  plan.addOp(Opcode::Pull, {s}, {g}, {0, 1});
  return plan;
}

} // namespace bagua::runtime::test
