//===- Coarsening.cpp - Which compute ops become one ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over the ops, with a cut wherever one is required.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Coarsening.h"

#include <cstddef>

std::vector<int32_t> bagua::coarsen(const std::vector<CoarseningOp> &ops) {
  std::vector<int32_t> clusters(ops.size());
  int32_t cluster = -1;
  for (size_t i = 0; i < ops.size(); ++i) {
    bool continues = i > 0 && ops[i].mergeClass >= 0 &&
                     ops[i].mergeClass == ops[i - 1].mergeClass &&
                     !ops[i].startsCluster && !ops[i - 1].endsCluster;
    if (!continues)
      ++cluster;
    clusters[i] = cluster;
  }
  return clusters;
}
