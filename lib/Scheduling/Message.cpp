//===- Message.cpp - What an all_reduce is made of ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms as lists of collectives, encodings around them, and the cheapest form.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Message.h"

#include "bagua/Support/Parts.h"

#include <cassert>

using namespace bagua;

FormKind bagua::hierarchyOf(FormKind form) {
  switch (form) {
  case FormKind::RailServers:
    return FormKind::Rail;
  case FormKind::Halves:
  case FormKind::Servers:
    return FormKind::Flat;
  case FormKind::Flat:
  case FormKind::Leader:
  case FormKind::Rail:
  case FormKind::Multilevel:
    return form;
  }
  return form;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static bool has(AxisSet set, int axis) { return set >> axis & 1; }

/// What a rank has of `bytes` after they are cut over some axes.
static int64_t partOf(const ClusterModel &cluster, int64_t bytes, AxisSet axes,
                      int64_t elementBytes) {
  return partSize(bytes / elementBytes, cluster.groupSize(axes)) * elementBytes;
}

static std::vector<CollectiveCall> expandForm(const ClusterModel &cluster,
                                              const AllReduceForm &form,
                                              AxisSet over, int64_t bytes,
                                              int64_t elementBytes) {
  AxisSet inner = form.inner, outer = over & ~form.inner;
  switch (form.kind) {
  case FormKind::Flat:
    return {{Collective::AllReduce, over, bytes}};
  case FormKind::Leader:
    return {{Collective::Reduce, inner, bytes},
            {Collective::AllReduce, outer, bytes, /*roots=*/inner},
            {Collective::Broadcast, inner, bytes}};
  case FormKind::Rail:
    return {{Collective::ReduceScatter, inner, bytes},
            {Collective::AllReduce, outer,
             partOf(cluster, bytes, inner, elementBytes)},
            {Collective::AllGather, inner, bytes}};
  case FormKind::Multilevel: {
    std::vector<CollectiveCall> scatters;
    for (int axis = cluster.axisCount() - 1; axis >= 0; --axis)
      if (has(over, axis)) {
        AxisSet set = AxisSet(1) << axis;
        scatters.push_back({Collective::ReduceScatter, set, bytes});
        bytes = partOf(cluster, bytes, set, elementBytes);
      }
    std::vector<CollectiveCall> calls = scatters;
    for (size_t i = scatters.size(); i-- > 0;) {
      calls.push_back(scatters[i]);
      calls.back().collective = Collective::AllGather;
    }
    return calls;
  }
  case FormKind::Halves:
    return {{Collective::ReduceScatter, over, bytes},
            {Collective::AllGather, over, bytes}};
  case FormKind::Servers:
    return {{Collective::Push, over, bytes}, {Collective::Pull, over, bytes}};
  case FormKind::RailServers: {
    int64_t part = partOf(cluster, bytes, inner, elementBytes);
    return {{Collective::ReduceScatter, inner, bytes},
            {Collective::Push, outer, part},
            {Collective::Pull, outer, part},
            {Collective::AllGather, inner, bytes}};
  }
  }
  return {};
}

/// What a collective leaves where no tensor of the program's is.
static int64_t keptBytesOf(const ClusterModel &cluster,
                           const CollectiveCall &call, int64_t elementBytes) {
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
    return partOf(cluster.servers()) * groups;
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

std::vector<MessageStep> bagua::expandMessage(const ClusterModel &cluster,
                                              const Message &message,
                                              const AllReduceForm &form) {
  std::vector<MessageStep> steps;
  int64_t sent = message.bytesOnWire();
  int64_t elementBytes = encodedBytes(message.wire, 1, message.elementBytes);
  bool isEncoded = !message.wire.isNone();
  auto convert = [&](MessageStep::Kind kind, int64_t keptBytes) {
    MessageStep &step = steps.emplace_back();
    step.kind = kind;
    step.wire = message.wire;
    step.movedBytes = message.bytes() + sent;
    step.keptBytes = keptBytes;
  };
  if (isEncoded)
    convert(MessageStep::Kind::Encode, sent);
  for (const CollectiveCall &call :
       expandForm(cluster, form, message.over, sent, elementBytes)) {
    MessageStep &step = steps.emplace_back();
    step.kind = MessageStep::Kind::Collective;
    step.call = call;
    step.keptBytes = keptBytesOf(cluster, call, elementBytes);
  }
  // What is decoded lies where the elements were.
  if (isEncoded)
    convert(MessageStep::Kind::Decode, 0);
  return steps;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

bool bagua::canServe(const ClusterModel &cluster, AxisSet over) {
  return cluster.servers() > 0 && cluster.groupSize(over) == cluster.workers();
}

/// The forms of the kinds allowed, simpler ones first.
static std::vector<AllReduceForm>
candidateForms(const ClusterModel &cluster, AxisSet over, FormSet allowed) {
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
        // Parts of one axis are one level of the network.
        if (cluster.axes[cut].linksOf >= 0 && has(over, cut - 1))
          continue;
        if (inner != 0 && inner != over && has(over, cut))
          forms.push_back({kind, inner});
      }
  if (allowed & formBit(FormKind::Multilevel) && (over & (over - 1)) != 0)
    forms.push_back({FormKind::Multilevel, 0});
  if (allowed & formBit(FormKind::Halves))
    forms.push_back({FormKind::Halves, 0});
  // Behind a reduce_scatter over nothing there are just servers.
  if (hasServers &&
      (allowed & formBit(FormKind::Servers) ||
       (allowed & formBit(FormKind::RailServers) && (over & (over - 1)) == 0)))
    forms.push_back({FormKind::Servers, 0});
  if (forms.empty())
    forms.push_back({FormKind::Flat, 0});
  return forms;
}

static double nsOf(const ClusterModel &cluster, int64_t bytes, AxisSet over,
                   const AllReduceForm &form) {
  double ns = 0;
  for (const MessageStep &step :
       expandMessage(cluster, {over, bytes, /*elementBytes=*/1}, form))
    ns += cheapestCost(cluster, step.call).ns();
  return ns;
}

PricedForm bagua::cheapestForm(const ClusterModel &cluster, int64_t bytes,
                               AxisSet over, FormSet allowed) {
  assert(allowed != 0 && over != 0);
  std::optional<PricedForm> best;
  for (const AllReduceForm &form : candidateForms(cluster, over, allowed)) {
    double ns = nsOf(cluster, bytes, over, form);
    if (!best || ns < best->ns)
      best = PricedForm{form, ns};
  }
  return *best;
}

AllReduceForm bagua::formOfKind(const ClusterModel &cluster, int64_t bytes,
                                AxisSet over, FormKind kind) {
  std::vector<AllReduceForm> forms =
      candidateForms(cluster, over, formBit(kind));
  return forms.size() == 1
             ? forms.front()
             : cheapestForm(cluster, bytes, over, formBit(kind)).form;
}

/// Of float32 elements, of which a price may be asked for less than whole ones.
static int64_t bytesOnWire(const Encoding &wire, int64_t bytes) {
  constexpr int64_t kFloat32Bytes = 4;
  int64_t whole = bytes / kFloat32Bytes, rest = bytes % kFloat32Bytes;
  int64_t below = encodedBytes(wire, whole, kFloat32Bytes);
  int64_t above = encodedBytes(wire, whole + 1, kFloat32Bytes);
  return below + (rest * (above - below) + kFloat32Bytes - 1) / kFloat32Bytes;
}

double bagua::messageNs(const ClusterModel &cluster, int64_t bytes,
                        AxisSet over, Encoding wire, FormSet allowed) {
  return cheapestForm(cluster, bytesOnWire(wire, bytes), over, allowed).ns;
}
