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

/// max(flops / peak, bytes / memory bandwidth) + launch, in ns, rounded up
/// (Williams et al., CACM 2009). A lower bound for one kernel; a cluster of
/// many kernels whose intermediate values leave the cache takes longer.
int64_t rooflineNs(int64_t flops, int64_t bytes, const DeviceRates &device);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_ROOFLINE_H
