//===- CircularWait.h - Tasks that wait for each other --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run hangs exactly where some tasks wait for each other in a circle.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PROOF_CIRCULARWAIT_H
#define BAGUA_SCHEDULING_PROOF_CIRCULARWAIT_H

#include <cstdint>
#include <vector>

namespace bagua {

/// Returns one circle, in which each task waits for the next one and the last
/// for the first; empty if there is none. `waits` lists for each task the tasks
/// that it waits for. O(tasks + waits).
std::vector<int32_t>
findCircularWait(const std::vector<std::vector<int32_t>> &waits);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PROOF_CIRCULARWAIT_H
