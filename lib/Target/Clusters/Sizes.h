//===- Sizes.h - Clusters by sizes, rates and latencies -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses a cluster argument that is neither a preset nor a file.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_CLUSTERS_SIZES_H
#define BAGUA_TARGET_CLUSTERS_SIZES_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>
#include <vector>

namespace bagua {

struct AxisSize {
  std::string name;
  int64_t size;
  /// In bytes a second, and in ns.
  std::optional<int64_t> rate, latency;
};

/// Axes with commas between them, each `name=size`, `name=size@rate` or
/// `name=size@rate,latency`: an item without `=` is the latency of the axis
/// before it. Rates are `500mbit`, `2.5gbit/s` or `60MB/s`, latencies `100us`;
/// units are powers of 1000. Emits an error that names the first item that is
/// wrong.
llvm::FailureOr<std::vector<AxisSize>> parseSizes(llvm::StringRef text,
                                                  mlir::Location location);

} // namespace bagua

#endif // BAGUA_TARGET_CLUSTERS_SIZES_H
