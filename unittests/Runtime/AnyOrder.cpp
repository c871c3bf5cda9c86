//===- AnyOrder.cpp - Sums whose order is not known -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// n - 1 additions and a division, each rounded, differ from the exact result by
// at most n units in the last place of the sum of all magnitudes (Higham,
// Accuracy and Stability of Numerical Algorithms, 4.2).
//
//===----------------------------------------------------------------------===//
#include "AnyOrder.h"

#include "absl/strings/str_cat.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace bagua::runtime {
namespace {

struct Format {
  /// The distance from 1 to the next number, the least and the largest number.
  long double epsilon, least, largest;
};

Format formatOf(DataType type) {
  switch (type) {
  case DataType::Float16:
    return {std::ldexp(1.0L, -10), std::ldexp(1.0L, -24), 65504.0L};
  case DataType::BFloat16:
    return {std::ldexp(1.0L, -7), std::ldexp(1.0L, -133),
            std::ldexp(255.0L, 120)};
  case DataType::Float32:
    return {std::ldexp(1.0L, -23), std::ldexp(1.0L, -149),
            std::numeric_limits<float>::max()};
  default:
    return {std::ldexp(1.0L, -52), std::numeric_limits<double>::denorm_min(),
            std::numeric_limits<double>::max()};
  }
}

template <typename T> T load(const Bytes &bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

long double elementAt(DataType type, const Bytes &bytes, size_t index) {
  switch (type) {
  case DataType::Float16:
    return decodeFloat16(load<uint16_t>(bytes, index), kFloat16Layout);
  case DataType::BFloat16:
    return decodeFloat16(load<uint16_t>(bytes, index), kBFloat16Layout);
  case DataType::Float32:
    return load<float>(bytes, index);
  default:
    return load<double>(bytes, index);
  }
}

bool isResult(const Format &format, bool isMean,
              const std::vector<long double> &terms, long double found) {
  const auto count = static_cast<long double>(terms.size());
  long double sum = 0, magnitudes = 0;
  for (long double term : terms) {
    sum += term;
    magnitudes += std::fabs(term);
  }
  if (std::isnan(sum)) // of a NaN, or of infinities of both signs
    return std::isnan(found);
  if (std::isinf(sum))
    return found == sum;
  // A sum on the way may be too large, in one order or in another.
  if (magnitudes * (1 + count * format.epsilon) > format.largest)
    return true;
  const long double divisor = isMean ? count : 1;
  const long double bound =
      count * (format.epsilon * magnitudes / divisor + format.least);
  return std::fabs(found - sum / divisor) <= bound;
}

} // namespace

std::string findNoSum(DataType type, ReduceKind kind,
                      const std::vector<Bytes> &inputs, int64_t begin,
                      const Bytes &result) {
  const Format format = formatOf(type);
  std::vector<long double> terms(inputs.size());
  for (size_t i = 0; i < result.size() / dataTypeBytes(type); ++i) {
    for (size_t j = 0; j < inputs.size(); ++j)
      terms[j] = elementAt(type, inputs[j], begin + i);
    const long double found = elementAt(type, result, i);
    if (!isResult(format, kind == ReduceKind::Mean, terms, found))
      return absl::StrCat(
          "element ", begin + i, " is ", static_cast<double>(found), ", no ",
          std::string(reduceKindName(kind)), " of ", terms.size(),
          " that begin with ", static_cast<double>(terms[0]));
  }
  return {};
}

} // namespace bagua::runtime
