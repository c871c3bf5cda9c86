//===- CheckValues.h - The values that --check fills tensors with ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each value is a function of rank, tensor, step and element, which every rank
// can compute. So a check needs no second copy of a tensor and no message
// between ranks. The expected results here are written independently of the
// runtime's kernels.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_CHECKVALUES_H
#define BAGUA_LIB_REPLAY_CHECKVALUES_H

#include "bagua/Support/DataType.h"
#include "bagua/Support/ReduceKind.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bagua::replay {

/// The key of a tensor's values on a rank in a step.
uint64_t valueKey(const std::string &tensor, int64_t rank, int64_t step);

/// The key of values that are all zeros.
inline constexpr uint64_t kZeros = 0;

/// Writes elements [begin, begin + count) of the values with this key.
/// Floating-point values have full mantissas and magnitudes in [0.25, 4), so
/// that sums round and their order shows. Takes about 0.5 ns an element.
void generateValues(DataType type, uint64_t key, int64_t begin, int64_t count,
                    std::byte *output);

/// Writes the reduction of the values of `keys`, in their order, as
/// docs/Semantics.md defines it.
void expectReduced(DataType type, ReduceKind kind,
                   const std::vector<uint64_t> &keys, int64_t begin,
                   int64_t count, std::byte *output);

/// The largest magnitude of a generated value.
inline constexpr double kLargestValue = 4;
inline constexpr double kSmallestValue = 0.25;

/// The first place where two arrays differ by more than the tolerance (in any
/// bit if that is 0), and the largest difference.
struct Comparison {
  double tolerance = 0;
  int64_t firstDifference = -1;
  double maxError = 0;
};
void compareValues(DataType type, const std::byte *expected,
                   const std::byte *found, int64_t begin, int64_t count,
                   Comparison &result);

/// One element as a number.
double valueAt(DataType type, const std::byte *data, int64_t index);

/// Converts elements to numbers, and numbers to elements; these are rounded to
/// nearest even via float32 (except float64). `Number` is float or double.
template <typename Number>
void readValues(DataType type, const std::byte *data, int64_t count,
                Number *values);
template <typename Number>
void writeValues(DataType type, const Number *values, int64_t count,
                 std::byte *output);

/// A digest that changes if any bit of the `size` bytes does. Faster than
/// memory.
uint64_t digest(const std::byte *data, size_t size);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_CHECKVALUES_H
