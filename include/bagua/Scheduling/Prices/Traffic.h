//===- Traffic.h - Bytes that fused kernels move --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates what each op of a step reads and writes in the device's memory once
// a compiler such as XLA has fused it with its neighbours. The result depends
// on the data flow alone, not on the order in which a text lists its ops.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_TRAFFIC_H
#define BAGUA_SCHEDULING_PRICES_TRAFFIC_H

#include <cstdint>
#include <vector>

namespace bagua {

/// The way in which an op uses memory.
enum class Traffic : uint8_t {
  /// Reads its operands and writes its results: dot, convolution, sort.
  Kernel,
  /// Its results take no memory's time: constants, iota.
  None,
  /// The same elements, read in another way: reshape, broadcast, transpose.
  View,
  /// Computed where its result is used, as long as that moves less:
  /// elementwise ops, pad, concatenate.
  Fused,
  /// Computes its operands where it reads them, and writes its results.
  Reduction,
  /// Reads as much of its first operand as it returns, where that is used:
  /// slice, gather.
  Part,
  /// Writes its second operand into its first: dynamic_update_slice.
  InPlace,
  /// Needs operands and results in memory, but its time is not counted here:
  /// communication, loops, calls.
  Outside,
};

/// One op of a list in topological order. Values are numbers from 0; a value
/// that no op returns is in memory when the step begins.
struct TrafficOp {
  Traffic kind;
  std::vector<int32_t> operands;
  std::vector<int32_t> results;
};

/// The bytes that each op moves. `bytes` holds the size of each value, 0 for
/// one that is known when the step is compiled; `escaping` lists values that
/// must be in memory at the end. A fused value is written where an op that is
/// not fused needs it, and where writing it once and reading it back moves less
/// than reading again what it is computed from for each of its users. A kernel
/// reads each value once. Kernels that share operands are not merged, so an
/// optimizer's update of several states counts the gradient once for each.
/// O(ops), with at most 64 values that a kernel reads.
std::vector<int64_t> countTraffic(const std::vector<TrafficOp> &ops,
                                  const std::vector<int64_t> &bytes,
                                  const std::vector<int32_t> &escaping);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_TRAFFIC_H
