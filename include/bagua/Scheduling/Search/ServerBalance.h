//===- ServerBalance.h - Which server has which tensor --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assigns tensors, each of which is whole on one server, so that all servers'
// links carry equal loads.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_SERVERBALANCE_H
#define BAGUA_SCHEDULING_SEARCH_SERVERBALANCE_H

#include "bagua/Scheduling/Prices/Message.h"

namespace bagua {

/// The share of the bytes that each server should have, relative to the others,
/// so that all links are full for the same time. A server on a worker's host
/// has less of its link than a server on a host of its own. For n hosts and k
/// dedicated servers the ratio is n - k to 2(n - 1), and none for k >= n (Jiang
/// et al., BytePS, OSDI 2020, section 4.1, where a step's S bytes then take 2 n
/// (n-1) S / ((n^2 + k n - 2 k) B)).
std::vector<int64_t> serverCapacities(const ClusterModel &cluster);

/// The server of each tensor. The largest tensor is assigned first, each to the
/// server that would end first if servers worked at the speed of their
/// capacities; ties go to the first. With equal servers the fullest one has at
/// most 4/3 - 1/(3 n) times its load in the best assignment (Graham, SIAM J.
/// Appl. Math. 1969), with others 2 n / (n + 1) times (Gonzalez, Ibarra and
/// Sahni, SIAM J. Comput. 1977). At least one capacity is not 0. O(m log m + m
/// n).
std::vector<int64_t> balanceServers(const std::vector<int64_t> &bytes,
                                    const std::vector<int64_t> &capacities);

/// A message, its form, and its place in the step.
struct PlacedMessage {
  int32_t place;
  Message message;
  AllReduceForm form;
};

/// By message: the server that sums it whole; -1 if servers don't sum it.
/// Messages of equal size are assigned in the order of their places.
std::vector<int64_t> assignServers(const ClusterModel &cluster,
                                   const std::vector<PlacedMessage> &messages);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_SERVERBALANCE_H
