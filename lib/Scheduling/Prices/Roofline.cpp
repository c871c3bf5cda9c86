//===- Roofline.cpp - Durations from flops and bytes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes in 128-bit integers: results are exact, and the same on every
// machine.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/Roofline.h"

#include <algorithm>

static int64_t ceilNs(int64_t amount, int64_t perSecond) {
  __extension__ using Wide = __int128;
  Wide ns =
      (static_cast<Wide>(amount) * 1000000000 + perSecond - 1) / perSecond;
  return static_cast<int64_t>(std::min<Wide>(ns, INT64_MAX / 4));
}

int64_t bagua::kernelNs(int64_t flops, int64_t bytes,
                        const DeviceRates &device) {
  return std::max(ceilNs(flops, device.flopPerS),
                  ceilNs(bytes, device.bytesPerS));
}

int64_t bagua::withLaunchNs(int64_t kernelsNs, const DeviceRates &device) {
  return kernelsNs == 0 ? 0 : kernelsNs + device.launchNs;
}

int64_t bagua::rooflineNs(int64_t flops, int64_t bytes,
                          const DeviceRates &device) {
  return withLaunchNs(kernelNs(flops, bytes, device), device);
}
