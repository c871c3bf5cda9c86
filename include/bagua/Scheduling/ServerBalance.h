//===- ServerBalance.h - Which server has which tensor --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that are whole on one server each: every server's link should carry
// alike.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SERVERBALANCE_H
#define BAGUA_SCHEDULING_SERVERBALANCE_H

#include "bagua/Scheduling/ClusterModel.h"

namespace bagua {

/// How much of the bytes each server should have, relative to the others, so
/// that all links are full for the same time. A server on a worker's host has
/// less of its link than one by itself: n hosts, k dedicated servers, n - k to
/// 2(n - 1), none for k >= n (Jiang et al., BytePS, OSDI 2020, section 4.1,
/// where a step's S bytes then take 2 n (n-1) S / ((n^2 + k n - 2 k) B)).
std::vector<int64_t> serverCapacities(const ClusterModel &cluster);

/// The server of each tensor: largest first, each where its end is first if
/// servers work at the speed of their capacities, ties to the first. Of equal
/// servers the fullest has at most 4/3 - 1/(3 n) times what it would in the
/// best assignment (Graham, SIAM J. Appl. Math. 1969), of others 2 n / (n + 1)
/// times (Gonzalez, Ibarra and Sahni, SIAM J. Comput. 1977). One capacity at
/// least is not 0. O(m log m + m n).
std::vector<int64_t> balanceServers(const std::vector<int64_t> &bytes,
                                    const std::vector<int64_t> &capacities);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SERVERBALANCE_H
