//===- Peers.h - The peers of the exchange op -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The peers of the exchange op as functions of a member's number and the step,
// for the compiler's checks and for the runtime. Both patterns are symmetric:
// if a sends to b, b sends to a.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_PEERS_H
#define BAGUA_SUPPORT_PEERS_H

#include <cassert>
#include <cstdint>

namespace bagua {

/// The neighbours of a member on a ring of `size` members. A single member is
/// its own neighbour; of two members each is both neighbours of the other.
inline int64_t ringLeft(int64_t member, int64_t size) {
  return (member + size - 1) % size;
}
inline int64_t ringRight(int64_t member, int64_t size) {
  return (member + 1) % size;
}

/// A member's peer in a step, among an even number of members: each half shifts
/// against the other by one every step (docs/Semantics.md, "Relaxed
/// algorithms").
inline int64_t shiftOnePeer(int64_t member, int64_t size, int64_t step) {
  assert(size % 2 == 0 && "shift_one pairs members up");
  int64_t half = size / 2;
  if (member < half)
    return (step + member) % half + half;
  return ((member - half - step) % half + half) % half;
}

} // namespace bagua

#endif // BAGUA_SUPPORT_PEERS_H
