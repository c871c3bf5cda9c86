//===- Message.cpp - What an all_reduce is made of ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms as lists of collectives, encodings around them, and the cheapest form.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/Message.h"

#include "bagua/Support/Parts.h"

#include <cassert>

using namespace bagua;

FormKind bagua::hierarchyOf(FormKind form) {
  switch (shapeOf(form).hierarchy) {
  case Hierarchy::Flat:
    return FormKind::Flat;
  case Hierarchy::Leader:
    return FormKind::Leader;
  case Hierarchy::Rail:
    return FormKind::Rail;
  case Hierarchy::Multilevel:
    return FormKind::Multilevel;
  }
  return form;
}

/// The set of forms that `replace` makes of each form of a set.
template <typename Replace>
static FormSet replaceForms(FormSet forms, Replace replace) {
  FormSet replaced = 0;
  for (int form = 0; form < kFormKindCount; ++form)
    if (forms & formBit(static_cast<FormKind>(form)))
      replaced |= formBit(replace(static_cast<FormKind>(form)));
  return replaced;
}

FormSet bagua::hierarchiesOf(FormSet forms) {
  return replaceForms(forms, hierarchyOf);
}

/// The forms of a choice with servers for the last level.
static AllowedForms servedForms(FormChoice choice) {
  FormSet forms = replaceForms(formsOf(choice), [](FormKind form) {
    switch (form) {
    case FormKind::Flat:
    case FormKind::Servers:
      return FormKind::Servers;
    case FormKind::Rail:
    case FormKind::RailServers:
      return FormKind::RailServers;
    case FormKind::Leader:
    case FormKind::Multilevel:
    case FormKind::Halves:
      return form;
    }
    return form;
  });
  return {forms, FormKind::Servers};
}

AllowedForms bagua::formsFor(FormChoice choice, bool areServed,
                             ReductionTraits reduction) {
  if (!reduction.isWhole)
    choice = static_cast<FormChoice>(FormKind::Flat);
  if (!reduction.isGradient)
    return hierarchiesOf(formsOf(choice));
  return areServed ? servedForms(choice) : AllowedForms(formsOf(choice));
}

AllowedForms bagua::halvedForms(HalvesChoice choice) {
  constexpr FormSet kAtOnce = formBit(FormKind::Halves);
  constexpr FormSet kByAxis = formBit(FormKind::Multilevel);
  switch (choice) {
  case HalvesChoice::Flat:
    return {kAtOnce, FormKind::Halves};
  case HalvesChoice::Multilevel:
    return {kByAxis, FormKind::Halves};
  case HalvesChoice::Cheapest:
    return {kAtOnce | kByAxis, FormKind::Halves};
  }
  return {kAtOnce, FormKind::Halves};
}

AllowedForms bagua::formsForWire(const AllowedForms &allowed,
                                 const Encoding &wire) {
  if (isReducible(wire) || allowed.otherwise != FormKind::Halves)
    return allowed;
  return formBit(FormKind::Flat);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static bool has(AxisSet set, int axis) { return set >> axis & 1; }

/// The part of `bytes` that a rank has after the bytes are cut over some axes.
static int64_t partOf(const ClusterModel &cluster, int64_t bytes, AxisSet axes,
                      int64_t elementBytes) {
  return partSize(bytes / elementBytes, cluster.groupSize(axes)) * elementBytes;
}

/// The calls, in order, that leave on each rank of the outer axes the part that
/// it has to sum. Each call is undone after the sum.
static std::vector<SizedCollective> expandInner(const ClusterModel &cluster,
                                                const AllReduceForm &form,
                                                AxisSet over, int64_t bytes,
                                                int64_t elementBytes) {
  switch (shapeOf(form.kind).hierarchy) {
  case Hierarchy::Flat:
    return {};
  case Hierarchy::Leader:
    return {{Collective::Reduce, form.inner, bytes}};
  case Hierarchy::Rail:
    if (form.inner == 0)
      return {};
    return {{Collective::ReduceScatter, form.inner, bytes}};
  case Hierarchy::Multilevel: {
    std::vector<SizedCollective> scatters;
    for (int axis = cluster.axisCount() - 1; axis >= 0; --axis)
      if (has(over, axis)) {
        AxisSet set = AxisSet(1) << axis;
        scatters.push_back({Collective::ReduceScatter, set, bytes});
        bytes = partOf(cluster, bytes, set, elementBytes);
      }
    return scatters;
  }
  }
  return {};
}

/// The calls that sum the results of the inner phases: `bytes` over `outer`.
static std::vector<SizedCollective> expandSum(FormShape shape, AxisSet outer,
                                              int64_t bytes, AxisSet roots) {
  if (shape.hierarchy == Hierarchy::Multilevel)
    return {}; // the last scatter has summed all
  if (shape.summedBy == SummedBy::Servers)
    return {{Collective::Push, outer, bytes}, {Collective::Pull, outer, bytes}};
  if (shape.isHalved)
    return {{Collective::ReduceScatter, outer, bytes},
            {Collective::AllGather, outer, bytes}};
  return {{Collective::AllReduce, outer, bytes, roots}};
}

static std::vector<SizedCollective> expandForm(const ClusterModel &cluster,
                                               const AllReduceForm &form,
                                               AxisSet over, int64_t bytes,
                                               int64_t elementBytes) {
  const FormShape shape = shapeOf(form.kind);
  const std::vector<SizedCollective> inner =
      expandInner(cluster, form, over, bytes, elementBytes);
  const bool isScattered = shape.hierarchy == Hierarchy::Rail;
  const bool isRooted = shape.hierarchy == Hierarchy::Leader;
  const int64_t sumBytes =
      isScattered ? partOf(cluster, bytes, form.inner, elementBytes) : bytes;
  std::vector<SizedCollective> calls = inner;
  for (const SizedCollective &call : expandSum(
           shape, over & ~form.inner, sumBytes, isRooted ? form.inner : 0))
    calls.push_back(call);
  for (size_t i = inner.size(); i-- > 0;) {
    calls.push_back(inner[i]);
    calls.back().collective =
        isRooted ? Collective::Broadcast : Collective::AllGather;
  }
  return calls;
}

/// The bytes of a collective's result that have no place in the program's
/// tensors.
static int64_t keptBytesOf(const ClusterModel &cluster,
                           const SizedCollective &call, int64_t elementBytes) {
  auto partOf = [&](int64_t ranks) {
    return partSize(call.bytes / elementBytes, ranks) * elementBytes;
  };
  switch (call.collective) {
  case Collective::ReduceScatter:
    return partOf(cluster.groupSize(call.over));
  case Collective::Reduce:
    return call.bytes;
  case Collective::Push: {
    // A server has a slot for each group that pushes to it.
    int64_t groups = cluster.workers() / cluster.groupSize(call.over);
    return groups * (call.server < 0 ? partOf(cluster.servers()) : call.bytes);
  }
  case Collective::AllReduce:
  case Collective::AllGather:
  case Collective::Broadcast:
  case Collective::AllToAll:
  case Collective::ExchangeRing:
  case Collective::ExchangeShiftOne:
  case Collective::Permute:
  case Collective::Pull:
    return 0; // in place, or where the whole was
  }
  return 0;
}

/// A form round all_reduces, whose own stages are to be expanded further.
static std::vector<SizedCollective> expandAround(const ClusterModel &cluster,
                                                 const AllReduceForm &form,
                                                 const Message &message) {
  AllReduceForm kept = {hierarchyOf(form.kind), form.inner};
  std::vector<SizedCollective> calls = expandForm(
      cluster, kept, message.over, message.bytes(), message.elementBytes);
  if (kept.kind != FormKind::Multilevel)
    return calls;
  // The innermost pair of halves is over the outermost axis.
  auto pair = calls.begin() + static_cast<int64_t>(calls.size()) / 2 - 1;
  pair->collective = Collective::AllReduce;
  calls.erase(pair + 1);
  return calls;
}

/// An all_reduce whose terms are encoded on their way.
static void scatterGather(const ClusterModel &cluster,
                          const SizedCollective &call, const Message &message,
                          std::vector<MessageStage> &stages) {
  int64_t ranks = cluster.groupSize(call.over);
  int64_t part = partSize(call.bytes / message.elementBytes, ranks);
  int64_t partBytes = part * message.elementBytes;
  int64_t slot = encodedSlotBytes(message.wire, part, message.elementBytes);
  int64_t slots = ranks * slot;
  auto add = [&](MessageStage::Kind kind, int64_t moved, int64_t kept) {
    MessageStage &stage = stages.emplace_back();
    stage.kind = kind;
    stage.wire = message.wire;
    stage.movedBytes = moved;
    stage.keptBytes = kept;
    return &stage;
  };
  auto send = [&](Collective collective, int64_t kept) {
    add(MessageStage::Kind::Collective, 0, kept)->call = {collective, call.over,
                                                          slots, call.roots};
  };
  using Kind = MessageStage::Kind;
  add(Kind::Encode, call.bytes + slots, slots)->parts = call.over;
  send(Collective::AllToAll, slots);
  add(Kind::Decode, slots + partBytes, partBytes)->terms = call.over;
  add(Kind::Encode, partBytes + slot, slot);
  // All parts lie where this rank's were, what is decoded where the elements
  // were.
  send(Collective::AllGather, 0);
  add(Kind::Decode, slots + call.bytes, 0)->parts = call.over;
}

static std::vector<MessageStage> expandEncoded(const ClusterModel &cluster,
                                               const Message &message,
                                               const AllReduceForm &form) {
  std::vector<MessageStage> stages;
  for (const SizedCollective &call : expandAround(cluster, form, message)) {
    // A rank alone has nothing to send, and loses nothing.
    if (call.collective == Collective::AllReduce &&
        cluster.groupSize(call.over) > 1) {
      scatterGather(cluster, call, message, stages);
      continue;
    }
    MessageStage &stage = stages.emplace_back();
    stage.kind = MessageStage::Kind::Collective;
    stage.call = call;
    stage.keptBytes = keptBytesOf(cluster, call, message.elementBytes);
  }
  return stages;
}

std::vector<MessageStage> bagua::expandMessage(const ClusterModel &cluster,
                                               const Message &message,
                                               const AllReduceForm &form,
                                               int64_t server) {
  if (!isReducible(message.wire))
    return expandEncoded(cluster, message, form);
  std::vector<MessageStage> stages;
  int64_t sent = message.bytesOnWire();
  int64_t elementBytes = encodedBytes(message.wire, 1, message.elementBytes);
  bool isEncoded = !message.wire.isNone();
  auto convert = [&](MessageStage::Kind kind, int64_t keptBytes) {
    MessageStage &stage = stages.emplace_back();
    stage.kind = kind;
    stage.wire = message.wire;
    stage.movedBytes = message.bytes() + sent;
    stage.keptBytes = keptBytes;
  };
  if (isEncoded)
    convert(MessageStage::Kind::Encode, sent);
  for (const SizedCollective &call :
       expandForm(cluster, form, message.over, sent, elementBytes)) {
    MessageStage &stage = stages.emplace_back();
    stage.kind = MessageStage::Kind::Collective;
    stage.call = call;
    if (usesServers(call.collective))
      stage.call.server = server;
    stage.keptBytes = keptBytesOf(cluster, stage.call, elementBytes);
  }
  // A decoded message has its place in the elements' own memory.
  if (isEncoded)
    convert(MessageStage::Kind::Decode, 0);
  return stages;
}

int64_t bagua::servedBytes(const ClusterModel &cluster, const Message &message,
                           const AllReduceForm &form) {
  for (const MessageStage &stage : expandMessage(cluster, message, form))
    if (stage.call.collective == Collective::Push)
      return stage.call.bytes;
  return 0;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

bool bagua::canServe(const ClusterModel &cluster, AxisSet over) {
  return cluster.servers() > 0 && cluster.groupSize(over) == cluster.workers();
}

/// The forms of the allowed kinds, simpler forms first.
static std::vector<AllReduceForm>
candidateForms(const ClusterModel &cluster, AxisSet over,
               const AllowedForms &allowedForms) {
  const FormSet allowed = allowedForms.forms;
  std::vector<AllReduceForm> forms;
  if (allowed & formBit(FormKind::Flat))
    forms.push_back({FormKind::Flat, 0});
  bool hasServers = cluster.servers() > 0;
  for (FormKind kind :
       {FormKind::Leader, FormKind::Rail, FormKind::RailServers})
    if (allowed & formBit(kind) &&
        (kind != FormKind::RailServers || hasServers))
      // The inner axes are a suffix of those in the group.
      for (int cut = cluster.axisCount() - 1; cut > 0; --cut) {
        AxisSet inner = over >> cut << cut;
        // The parts of an axis that was cut are one level of the network.
        if (cluster.axes[cut].linksOf >= 0 && has(over, cut - 1))
          continue;
        if (inner != 0 && inner != over && has(over, cut))
          forms.push_back({kind, inner});
      }
  if (allowed & formBit(FormKind::Multilevel) && (over & (over - 1)) != 0)
    forms.push_back({FormKind::Multilevel, 0});
  if (allowed & formBit(FormKind::Halves))
    forms.push_back({FormKind::Halves, 0});
  // RailServers with a reduce_scatter over nothing is the same as Servers.
  if (hasServers &&
      (allowed & formBit(FormKind::Servers) ||
       (allowed & formBit(FormKind::RailServers) && (over & (over - 1)) == 0)))
    forms.push_back({FormKind::Servers, 0});
  if (forms.empty())
    forms.push_back({allowedForms.otherwise, 0});
  return forms;
}

static double nsOf(const ClusterModel &cluster, const Message &message,
                   const AllReduceForm &form) {
  double ns = 0;
  for (const MessageStage &stage : expandMessage(cluster, message, form))
    if (stage.kind == MessageStage::Kind::Collective)
      ns += cheapestCost(cluster, stage.call).ns();
  return ns;
}

/// The message by whose price a form is chosen. If collectives can reduce
/// encoded values, it consists of the bytes that are sent.
static Message pricedAs(const Message &message) {
  if (!isReducible(message.wire))
    return message;
  return {message.over, message.bytesOnWire(), /*elementBytes=*/1};
}

PricedForm bagua::cheapestForm(const ClusterModel &cluster,
                               const Message &message, AllowedForms allowed) {
  assert(allowed.forms != 0 && message.over != 0);
  const Message priced = pricedAs(message);
  std::optional<PricedForm> best;
  for (const AllReduceForm &form :
       candidateForms(cluster, message.over, allowed)) {
    double ns = nsOf(cluster, priced, form);
    if (!best || ns < best->ns)
      best = PricedForm{form, ns};
  }
  return *best;
}

PricedForm bagua::cheapestForm(const ClusterModel &cluster, int64_t bytes,
                               AxisSet over, AllowedForms allowed) {
  return cheapestForm(cluster, {over, bytes, /*elementBytes=*/1}, allowed);
}

AllReduceForm bagua::formOfKind(const ClusterModel &cluster,
                                const Message &message, FormKind kind) {
  if (kind == FormKind::Flat)
    return {FormKind::Flat, 0};
  std::vector<AllReduceForm> forms =
      candidateForms(cluster, message.over, formBit(kind));
  return forms.size() == 1 ? forms.front()
                           : cheapestForm(cluster, message, formBit(kind)).form;
}

AllReduceForm bagua::formOfKind(const ClusterModel &cluster, int64_t bytes,
                                AxisSet over, FormKind kind) {
  return formOfKind(cluster, {over, bytes, /*elementBytes=*/1}, kind);
}

static constexpr int64_t kFloat32Bytes = 4;

/// The bytes that `bytes` of float32 elements take on the wire. A price may be
/// asked for a fraction of an element.
static int64_t bytesOnWire(const Encoding &wire, int64_t bytes) {
  int64_t whole = bytes / kFloat32Bytes, rest = bytes % kFloat32Bytes;
  int64_t below = encodedBytes(wire, whole, kFloat32Bytes);
  int64_t above = encodedBytes(wire, whole + 1, kFloat32Bytes);
  return below + (rest * (above - below) + kFloat32Bytes - 1) / kFloat32Bytes;
}

double bagua::messageNs(const ClusterModel &cluster, int64_t bytes,
                        AxisSet over, Encoding wire, AllowedForms allowed) {
  if (isReducible(wire))
    return cheapestForm(cluster, bytesOnWire(wire, bytes), over, allowed).ns;
  return cheapestForm(cluster,
                      {over, (bytes + kFloat32Bytes - 1) / kFloat32Bytes,
                       kFloat32Bytes, wire},
                      allowed)
      .ns;
}
