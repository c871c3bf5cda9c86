//===- ElementKernels.cpp - Linear combinations and casts -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works block by block (Blocks.h).
//
//===----------------------------------------------------------------------===//
#include "Kernels/ElementKernels.h"

#include "Kernels/Blocks.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace bagua::runtime {
namespace {

template <typename C>
void linearBlocks(DataType type, absl::Span<const float> coefficients,
                  absl::Span<const std::byte *const> inputs, std::byte *output,
                  int64_t count) {
  int64_t bytes = dataTypeBytes(type);
  Block<C> sum, term;
  forEachBlock(count, [&](int64_t begin, int64_t size) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      load(type, inputs[k] + begin * bytes, size, term.at);
      C factor = coefficients[k];
      for (int64_t i = 0; i < size; ++i)
        sum.at[i] =
            k == 0 ? factor * term.at[i] : sum.at[i] + factor * term.at[i];
    }
    store(type, sum.at, size, output + begin * bytes);
  });
}

template <typename To, typename From> To toInteger(From value) {
  if constexpr (std::is_integral_v<From>) {
    return static_cast<To>(value);
  } else {
    // 2^63 is a float; the largest int64 is not.
    if (!(value == value))
      return 0;
    From rounded = std::nearbyint(value);
    if (rounded >= -static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::max();
    if (rounded <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    return static_cast<To>(rounded);
  }
}

template <typename From>
void castElement(From value, DataType to, std::byte *output, int64_t index) {
  switch (to) {
  case DataType::Float32:
    return writeAs(output, index, static_cast<float>(value));
  case DataType::Float16:
    return writeAs(output, index, float16FromFloat(static_cast<float>(value)));
  case DataType::BFloat16:
    return writeAs(output, index, bfloat16FromFloat(static_cast<float>(value)));
  case DataType::Float64:
    return writeAs(output, index, static_cast<double>(value));
  case DataType::Int8:
    return writeAs(output, index, toInteger<int8_t>(value));
  case DataType::Int32:
    return writeAs(output, index, toInteger<int32_t>(value));
  case DataType::Int64:
    return writeAs(output, index, toInteger<int64_t>(value));
  }
}

bool isFloat(DataType type) {
  return type == DataType::Float32 || type == DataType::Float16 ||
         type == DataType::BFloat16 || type == DataType::Float64;
}

} // namespace

void linearKernel(DataType type, absl::Span<const float> coefficients,
                  absl::Span<const std::byte *const> inputs, std::byte *output,
                  int64_t count) {
  inComputeType(type, [&](auto zero) {
    linearBlocks<decltype(zero)>(type, coefficients, inputs, output, count);
  });
}

void castKernel(DataType from, const std::byte *input, DataType to,
                std::byte *output, int64_t count) {
  if (from == to) {
    std::memmove(output, input, count * dataTypeBytes(from));
    return;
  }
  if (isFloat(from) && isFloat(to)) {
    bool isDouble = from == DataType::Float64 || to == DataType::Float64;
    inComputeType(isDouble ? DataType::Float64 : from, [&](auto zero) {
      Block<decltype(zero)> block;
      forEachBlock(count, [&](int64_t begin, int64_t size) {
        load(from, input + begin * dataTypeBytes(from), size, block.at);
        store(to, block.at, size, output + begin * dataTypeBytes(to));
      });
    });
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const std::byte *element = input + i * dataTypeBytes(from);
    switch (from) {
    case DataType::Int8:
      castElement(readAs<int8_t>(element, 0), to, output, i);
      break;
    case DataType::Int32:
      castElement(readAs<int32_t>(element, 0), to, output, i);
      break;
    case DataType::Int64:
      castElement(readAs<int64_t>(element, 0), to, output, i);
      break;
    default:
      castElement(readScalar(from, element), to, output, i);
    }
  }
}

double readScalar(DataType type, const std::byte *data) {
  assert(isFloat(type));
  double value;
  load(type, data, 1, &value);
  return value;
}

} // namespace bagua::runtime
