//===- LaunchScheduling.h - Streams and launch order of a step ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells apart, by data flow, the program's main compute, the communication that
// main compute waits for, the runtime's work beside it, and what follows; and
// orders all of that by a policy.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_LAUNCHSCHEDULING_H
#define BAGUA_SCHEDULING_PRICES_LAUNCHSCHEDULING_H

#include "bagua/Scheduling/Prices/OpGraph.h"
#include "bagua/Support/Words.h"

namespace bagua {

enum class SchedulePolicy {
  /// All communication after backward (Valiant, CACM 1990).
  Bsp,
  /// Each message as soon as its operands are ready (Poseidon, Zhang et al.,
  /// ATC 2017).
  Wfbp,
  /// Messages that the next forward needs sooner overtake the others (P3,
  /// Jayarajan et al., SysML 2019; ByteScheduler, Peng et al., SOSP 2019).
  Priority,
  /// As Wfbp, but gathers and pulls come after all other communication, in the
  /// order of the next forward (DeAR, Zhang et al., ICDCS 2023).
  Decoupled,
};

template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<SchedulePolicy> = {
    "bsp", "wfbp", "priority", "decoupled"};

struct SchedulingOptions {
  SchedulePolicy policy = SchedulePolicy::Wfbp;
  /// For Priority: bytes that may be in flight at once; 0 is one message.
  int64_t creditBytes = 0;
};

/// Schedules a step. Each op and its operands are looked at a few times and
/// sorted once. The worst case is O(ops * (ops + operands)): after every op the
/// next message is looked at until it can start, each write over a state walks
/// back to the value that it writes, and ops that a late read holds up are
/// searched one by one. Priority plays the queue with the simulator. Streams
/// are `compute`, `comm`, `push`, `pull`, `update`, `activation` and `late` as
/// far as they are used, and `comm.1`, ... for messages that a queue has in
/// flight beside its first one.
LaunchSchedule scheduleStep(const OpGraph &step,
                            const SchedulingOptions &options,
                            CollectivePrices &prices);

/// The runtime's updates and local ops that only the program can run,
/// ascending. O(ops + operands) for each.
///
/// These are ops behind late compute (which waits for communication and leads
/// to no gradient) that overwrite a state which other late compute reads: no
/// wait can order the two, because the program gives nothing afterwards that
/// tells that it has read the state. They are also ops beside main compute that
/// read what main compute takes back (a mean from which another gradient is
/// computed): the program would wait for such an op, while the ops before it on
/// its stream wait for the program's later gradients.
std::vector<int32_t> findProgramsOwn(const OpGraph &step);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_LAUNCHSCHEDULING_H
