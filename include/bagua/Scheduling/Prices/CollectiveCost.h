//===- CollectiveCost.h - What a collective costs -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closed forms of published algorithms on a cluster's links, and the choice
// among them. This is the only place that prices a collective; Message.h says
// of which collectives an all_reduce is made.
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
// Over several axes, a ring or a tree crosses from one coordinate to the next
// once and uses all links there equally; of direct messages, all that go to
// another coordinate cross. Of the n-1 hops of a ring over K nodes, K-1 go
// between nodes and have the latency between nodes, the others the latency
// inside one (as in NCCL's own tuning model).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_COLLECTIVECOST_H
#define BAGUA_SCHEDULING_PRICES_COLLECTIVECOST_H

#include "bagua/Scheduling/Prices/ClusterModel.h"
#include "bagua/Scheduling/Prices/TaskGraph.h"
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
  /// The bytes that rank 0 sends. Rank 0 is a root, and where workers share
  /// hosts with servers, it shares its host with one. No other rank sends more,
  /// unless it hosts the server that has a whole value.
  double bytesSent = 0;

  /// The time of the collective while nothing else uses the links.
  double ns() const;
};

/// A collective with its axes and its size, by which it is priced. `bytes` is
/// what a rank stores of the tensor where the tensor is whole over `over`: the
/// operand of all_reduce, reduce_scatter, all_to_all, exchange and push, the
/// result of all_gather, broadcast and pull.
struct SizedCollective {
  Collective collective;
  AxisSet over;
  int64_t bytes;
  /// Along these axes only coordinate 0 takes part.
  AxisSet roots = 0;
  /// For push and pull: the server that has the whole tensor; -1: the tensor is
  /// spread over all servers.
  int64_t server = -1;
};

/// The cost by one algorithm; nothing if the algorithm does not apply: it needs
/// a power of two, a table or servers that the call does not have.
std::optional<CollectiveCost> costBy(const ClusterModel &cluster,
                                     const SizedCollective &call,
                                     Algorithm algorithm);

/// The measured time if there is a table, else the cheapest algorithm's, plus
/// the launch and the system's time a message, which are the whole cost of a
/// group of one rank. No other function charges a collective's launch.
CollectiveCost cheapestCost(const ClusterModel &cluster,
                            const SizedCollective &call);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_COLLECTIVECOST_H
