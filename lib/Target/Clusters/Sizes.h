//===- Sizes.h - Clusters by sizes, rates and latencies -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a cluster argument that is neither a preset nor a file.
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
  /// Bytes a second; ns.
  std::optional<int64_t> rate, latency;
};

/// Axes with commas between them, each `name=size`, `name=size@rate` or
/// `name=size@rate,latency`: what has no `=` is the latency of the axis before
/// it. Rates are `500mbit`, `2.5gbit/s` or `60MB/s`, latencies `100us`. Powers
/// of 1000. Emits an error that says which item is another text.
llvm::FailureOr<std::vector<AxisSize>> parseSizes(llvm::StringRef text,
                                                  mlir::Location location);

} // namespace bagua

#endif // BAGUA_TARGET_CLUSTERS_SIZES_H
