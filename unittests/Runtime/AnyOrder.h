//===- AnyOrder.h - Sums whose order is not known -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a result is that of some order of additions, each of which may round
// to the type of the elements: what a backend promises that doesn't sum in
// member order. Shares nothing with the kernels.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_ANYORDER_H
#define BAGUA_UNITTESTS_RUNTIME_ANYORDER_H

#include "Reference.h"

namespace bagua::runtime {

/// Empty, or the first element that is no such result and what was expected.
/// `inputs` are of all contributors; `result` is the part from element `begin`.
std::string findNoSum(DataType type, ReduceKind kind,
                      const std::vector<Bytes> &inputs, int64_t begin,
                      const Bytes &result);

} // namespace bagua::runtime

#endif // BAGUA_UNITTESTS_RUNTIME_ANYORDER_H
