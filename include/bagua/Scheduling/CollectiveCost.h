//===- CollectiveCost.h - What a collective costs -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Published algorithms' closed forms on a cluster's links, and the choice among
// them. This is the only place that prices a collective; what an all_reduce is
// made of is in Message.h.
//
// S bytes, n ranks, a ns a message, B bytes/s a link. On one axis:
//
//   ring             all_reduce 2(n-1) a + 2(n-1)/n S/B (Patarasuk and Yuan,
//                    JPDC 2009); reduce_scatter, all_gather half of it
//   tree             all_reduce 2 ceil(log2 n) a + 2 S/B (two binary trees,
//                    pipelined: Sanders et al., 2009); reduce, broadcast half
//   halving_doubling all_reduce 2 log2 n a + 2(n-1)/n S/B for n a power of two
//                    (Thakur et al., 2005); reduce_scatter, all_gather half
//   direct           every rank sends each peer its part: 2 a + 2(n-1)/n S/B;
//                    reduce_scatter, all_gather, all_to_all half
//
// Over several axes, rings and trees cross from one coordinate to the next once
// and use all links there alike; of direct messages, all that go elsewhere
// cross. Of the n-1 hops of a ring over K nodes, K-1 go between nodes and have
// that latency, the rest the one inside (as in NCCL's own tuning model).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_COLLECTIVECOST_H
#define BAGUA_SCHEDULING_COLLECTIVECOST_H

#include "bagua/Scheduling/ClusterModel.h"
#include "bagua/Scheduling/TaskGraph.h"
#include "bagua/Support/Collective.h"

#include <optional>
#include <string_view>
#include <vector>

namespace bagua {

enum class Algorithm { Ring, Tree, HalvingDoubling, Direct, Measured };

std::string_view algorithmName(Algorithm algorithm);

struct CollectiveCost {
  Algorithm algorithm = Algorithm::Direct;
  double latencyNs = 0;
  std::vector<LinkUse> uses;
  /// By rank 0, which is a root, and shares its host with a server where
  /// workers do: no other one sends more, but the server that has a whole
  /// value.
  double bytesSent = 0;

  /// Nothing else being on the links.
  double ns() const;
};

/// What is communicated: `bytes` is what a rank stores of the tensor where it
/// is whole over `over`: the operand of all_reduce, reduce_scatter, all_to_all,
/// exchange and push, the result of all_gather, broadcast and pull.
struct CollectiveCall {
  Collective collective;
  AxisSet over;
  int64_t bytes;
  /// Along these only coordinate 0 takes part.
  AxisSet roots = 0;
  /// Of push and pull: the server that has everything; -1 where it is spread
  /// over all.
  int64_t server = -1;
};

/// The cost by one algorithm; nothing where there is none such: a power of two
/// is needed, or a table, or servers.
std::optional<CollectiveCost> costBy(const ClusterModel &cluster,
                                     const CollectiveCall &call,
                                     Algorithm algorithm);

/// A measured time if there is a table, else the cheapest algorithm; and the
/// device's launch, which is all that a group of one rank costs. The one place
/// where a collective's launch is charged.
CollectiveCost cheapestCost(const ClusterModel &cluster,
                            const CollectiveCall &call);

} // namespace bagua

#endif // BAGUA_SCHEDULING_COLLECTIVECOST_H
