//===- PairCover.h - Few cases that contain every pair of choices ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most faults depend on two circumstances at once; covering all pairs takes a
// small fraction of the full product.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_PAIRCOVER_H
#define BAGUA_UNITTESTS_RUNTIME_PAIRCOVER_H

#include <vector>

namespace bagua::runtime {

/// Cases, each with one value in [0, choices[d]) for every dimension d, such
/// that any two values of different dimensions meet in some case. Greedy, the
/// same result every time.
std::vector<std::vector<int>> coverPairs(const std::vector<int> &choices);

/// Every case.
std::vector<std::vector<int>> fullProduct(const std::vector<int> &choices);

} // namespace bagua::runtime

#endif // BAGUA_UNITTESTS_RUNTIME_PAIRCOVER_H
