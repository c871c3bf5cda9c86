//===- Reference.cpp - Reductions one element at a time -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slow and plain on purpose.
//
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace bagua::runtime {
namespace {

template <typename T> T elementAt(const Bytes &bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void setElement(Bytes &bytes, size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

template <typename T> T combineFloats(ReduceKind kind, T a, T b) {
  if (kind == ReduceKind::Sum || kind == ReduceKind::Mean)
    return a + b;
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<T>::quiet_NaN();
  bool aFirst = a < b || (a == b && std::signbit(a));
  return (kind == ReduceKind::Min) == aFirst ? a : b;
}

template <typename T> T combineIntegers(ReduceKind kind, T a, T b) {
  if (kind == ReduceKind::Sum)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return (kind == ReduceKind::Min) == (a < b) ? a : b;
}

/// Accumulates in A what `load` reads and `store`s the end.
template <typename A, typename Load, typename Store>
void reduceFloats(ReduceKind kind, size_t inputs, size_t count, Load load,
                  Store store) {
  for (size_t i = 0; i < count; ++i) {
    A acc = load(0, i);
    for (size_t j = 1; j < inputs; ++j)
      acc = combineFloats<A>(kind, acc, load(j, i));
    if (kind == ReduceKind::Mean)
      acc = acc / static_cast<A>(inputs);
    if (std::isnan(acc))
      acc = std::numeric_limits<A>::quiet_NaN();
    store(i, acc);
  }
}

template <typename T>
Bytes reduceFloatsAs(ReduceKind kind, const std::vector<Bytes> &inputs) {
  Bytes result(inputs[0].size());
  reduceFloats<T>(
      kind, inputs.size(), result.size() / sizeof(T),
      [&](size_t j, size_t i) { return elementAt<T>(inputs[j], i); },
      [&](size_t i, T value) { setElement(result, i, value); });
  return result;
}

Bytes reduceFloats16(ReduceKind kind, const std::vector<Bytes> &inputs,
                     Float16Layout layout) {
  Bytes result(inputs[0].size());
  reduceFloats<float>(
      kind, inputs.size(), result.size() / 2,
      [&](size_t j, size_t i) {
        return static_cast<float>(
            decodeFloat16(elementAt<uint16_t>(inputs[j], i), layout));
      },
      [&](size_t i, float value) {
        setElement(result, i, encodeFloat16(value, layout));
      });
  return result;
}

template <typename T>
Bytes reduceIntegersAs(ReduceKind kind, const std::vector<Bytes> &inputs) {
  Bytes result = inputs[0];
  for (size_t j = 1; j < inputs.size(); ++j)
    for (size_t i = 0; i < result.size() / sizeof(T); ++i)
      setElement(result, i,
                 combineIntegers(kind, elementAt<T>(result, i),
                                 elementAt<T>(inputs[j], i)));
  return result;
}

} // namespace

double decodeFloat16(uint16_t bits, Float16Layout layout) {
  int maxExponent = (1 << layout.exponentBits) - 1;
  int bias = maxExponent / 2;
  int exponent = (bits >> layout.fractionBits) & maxExponent;
  int fraction = bits & ((1 << layout.fractionBits) - 1);
  double magnitude;
  if (exponent == maxExponent)
    magnitude = fraction ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, 1 - bias - layout.fractionBits);
  else
    magnitude = std::ldexp((1 << layout.fractionBits) + fraction,
                           exponent - bias - layout.fractionBits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t encodeFloat16(double value, Float16Layout layout) {
  int infinity = ((1 << layout.exponentBits) - 1) << layout.fractionBits;
  if (std::isnan(value))
    return infinity | 1 << (layout.fractionBits - 1);
  double magnitude = std::fabs(value);
  // The largest number that is not above: positive floats are in the order of
  // their bits. What follows the largest finite one is where a finite number
  // would be if the exponent had more room, and stands for infinity.
  int low = 0, high = infinity;
  while (low + 1 < high) {
    int middle = (low + high) / 2;
    (decodeFloat16(middle, layout) <= magnitude ? low : high) = middle;
  }
  double below = decodeFloat16(low, layout);
  double gap = low == 0 ? decodeFloat16(1, layout)
                        : below - decodeFloat16(low - 1, layout);
  // Just above a power of two the gap doubles.
  if (low + 1 < infinity)
    gap = decodeFloat16(low + 1, layout) - below;
  double rest = magnitude - below;
  bool isUp = rest > gap / 2 || (rest == gap / 2 && low % 2 == 1);
  return (std::signbit(value) ? 0x8000 : 0) | (isUp ? low + 1 : low);
}

Bytes referenceReduce(DataType type, ReduceKind kind,
                      const std::vector<Bytes> &inputs) {
  if (inputs.size() == 1)
    return inputs[0];
  switch (type) {
  case DataType::Float32:
    return reduceFloatsAs<float>(kind, inputs);
  case DataType::Float64:
    return reduceFloatsAs<double>(kind, inputs);
  case DataType::Float16:
    return reduceFloats16(kind, inputs, kFloat16Layout);
  case DataType::BFloat16:
    return reduceFloats16(kind, inputs, kBFloat16Layout);
  case DataType::Int8:
    return reduceIntegersAs<int8_t>(kind, inputs);
  case DataType::Int32:
    return reduceIntegersAs<int32_t>(kind, inputs);
  case DataType::Int64:
    return reduceIntegersAs<int64_t>(kind, inputs);
  }
  return {};
}

Bytes randomElements(DataType type, int64_t count, std::mt19937_64 &random) {
  Bytes result(count * dataTypeBytes(type));
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = random();
    bool isModerate = !isInteger(type) && random() % 16 != 0;
    double number = static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-60;
    switch (type) {
    case DataType::Float32:
      if (isModerate)
        setElement(result, i, static_cast<float>(number));
      else
        setElement(result, i, static_cast<uint32_t>(bits));
      break;
    case DataType::Float64:
      if (isModerate)
        setElement(result, i, number);
      else
        setElement(result, i, bits);
      break;
    case DataType::Float16:
      setElement(result, i,
                 isModerate ? encodeFloat16(number, kFloat16Layout)
                            : static_cast<uint16_t>(bits));
      break;
    case DataType::BFloat16:
      setElement(result, i,
                 isModerate ? encodeFloat16(number, kBFloat16Layout)
                            : static_cast<uint16_t>(bits));
      break;
    case DataType::Int8:
      setElement(result, i, static_cast<int8_t>(bits));
      break;
    case DataType::Int32:
      setElement(result, i, static_cast<int32_t>(bits));
      break;
    case DataType::Int64:
      setElement(result, i, bits);
      break;
    }
  }
  return result;
}

} // namespace bagua::runtime
