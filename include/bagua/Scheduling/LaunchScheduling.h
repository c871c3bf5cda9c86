//===- LaunchScheduling.h - Streams and launch order of a step ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells apart by data flow what is the program's main compute, what
// communication that waits for, what the runtime does beside it, and what comes
// after; and orders it by a policy.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_LAUNCHSCHEDULING_H
#define BAGUA_SCHEDULING_LAUNCHSCHEDULING_H

#include "bagua/Scheduling/OpGraph.h"
#include "bagua/Support/Words.h"

namespace bagua {

enum class SchedulePolicy {
  /// All communication after backward (Valiant, CACM 1990).
  Bsp,
  /// Each message as soon as its operands are there (Poseidon, Zhang et al.,
  /// ATC 2017).
  Wfbp,
  /// What the next forward needs first overtakes the rest (P3, Jayarajan et
  /// al., SysML 2019; ByteScheduler, Peng et al., SOSP 2019).
  Priority,
  /// As wfbp, but gathers and pulls after all of that, in the order of the next
  /// forward (DeAR, Zhang et al., ICDCS 2023).
  Decoupled,
};

template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<SchedulePolicy> = {
    "bsp", "wfbp", "priority", "decoupled"};

struct SchedulingOptions {
  SchedulePolicy policy = SchedulePolicy::Wfbp;
  /// With Priority: bytes that may be in flight at once; 0 is one message.
  int64_t creditBytes = 0;
};

/// Each op and its operands are looked at a few times and sorted once. At worst
/// O(ops * (ops + operands)): the next message is looked at after every op
/// until it can start, each write over state walks back to what it writes, and
/// what a late read holds up is looked for one by one. Priority plays the queue
/// with the simulator. Streams are `compute`, `comm`, `push`, `pull`, `update`,
/// `activation` as far as they are used, and `comm.1`, ... for what a queue has
/// in flight beside its first message.
LaunchSchedule scheduleStep(const OpGraph &step,
                            const SchedulingOptions &options,
                            CollectivePrices &prices);

/// The runtime's updates and local ops that only the program can run,
/// ascending. O(ops + operands) for each.
///
/// Those behind late compute (what waits for communication and leads to no
/// gradient) that overwrite a state which other late compute reads: no wait can
/// order them, for the program gives nothing then that says that it has read.
/// And those beside main compute that read what main compute takes back (a mean
/// from which another gradient is computed): the program would wait for them,
/// and what stands before them on their stream waits for its later gradients.
std::vector<int32_t> findProgramsOwn(const OpGraph &step);

} // namespace bagua

#endif // BAGUA_SCHEDULING_LAUNCHSCHEDULING_H
