//===- ServerBalance.h - Which server has which tensor --------------------===//
//
// Tensors that are whole on one server each: every server's link should carry
// alike.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SERVERBALANCE_H
#define BAGUA_SCHEDULING_SERVERBALANCE_H

#include <cstdint>
#include <vector>

namespace bagua {

/// The server of each tensor: largest first, each to the server that has fewest
/// bytes so far, ties to the first. The fullest server has at most 4/3 - 1/(3
/// n) times what it would in the best assignment (Graham, SIAM J. Appl. Math.
/// 1969). O(m log m + m n).
std::vector<int64_t> balanceServers(const std::vector<int64_t> &bytes,
                                    int64_t servers);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SERVERBALANCE_H
