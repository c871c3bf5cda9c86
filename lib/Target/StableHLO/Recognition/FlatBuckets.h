//===- FlatBuckets.h - Gradients that a step reduces as one ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs flatten their gradients, reduce them as one tensor and cut it again.
// The buckets are the compiler's to choose, so each piece is reduced by itself.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_FLATBUCKETS_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_FLATBUCKETS_H

#include "StableHLO/Recognition/ImportedStep.h"

namespace bagua::importer {

/// Replaces an all_reduce of concatenated tensors, of whose result, possibly
/// divided by the number of ranks, the step uses just these tensors' pieces, by
/// an all_reduce of each. A sum stays whole if a tensor is the same along some
/// of its axes only. O(ops).
void splitBuckets(Graph &graph, const ImportedStep &model);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_FLATBUCKETS_H
