//===- Roofline.h - Durations from flops and bytes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates the duration of compute that nobody has measured.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_ROOFLINE_H
#define BAGUA_SCHEDULING_PRICES_ROOFLINE_H

#include <cstdint>

namespace bagua {

/// The best figures that a device can reach.
struct DeviceRates {
  int64_t flopPerS;
  int64_t bytesPerS;
  int64_t launchNs;
};

/// max(flops / peak, bytes / memory bandwidth), in ns, rounded up (Williams et
/// al., CACM 2009): the least time of one kernel that runs. Times of several
/// kernels add up: one's arithmetic does not hide another's traffic.
int64_t kernelNs(int64_t flops, int64_t bytes, const DeviceRates &device);

/// The time of kernels that are launched together, with that of the launch; 0
/// if none of them has work.
int64_t withLaunchNs(int64_t kernelsNs, const DeviceRates &device);

/// The time of one kernel with its launch.
int64_t rooflineNs(int64_t flops, int64_t bytes, const DeviceRates &device);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_ROOFLINE_H
