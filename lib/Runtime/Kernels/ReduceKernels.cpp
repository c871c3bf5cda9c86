//===- ReduceKernels.cpp - Elementwise combination of several buffers -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One loop for all types: a few vectors of accumulators stay in registers while
// the inputs are read in order, then go to every output. When an output is an
// input, its lines were read just before, so writing costs no further read.
// This file is compiled once for each instruction set (foreach_target.h).
//
//===----------------------------------------------------------------------===//
#include "Kernels/ReduceKernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Runtime/Kernels/ReduceKernels.cpp"
#include "hwy/foreach_target.h"
// foreach_target.h comes first.
#include "hwy/highway.h"

#include "hwy/cache_control.h"

#include <cassert>
#include <cstring>
#include <limits>
#include <type_traits>

#ifndef BAGUA_LIB_RUNTIME_REDUCEOPERANDS
#define BAGUA_LIB_RUNTIME_REDUCEOPERANDS
namespace bagua::runtime {
namespace {

struct ReduceOperands {
  const std::byte *const *inputs;
  size_t inputCount;
  std::byte *const *outputs;
  size_t outputCount;
  size_t count;
  bool isMean;
};

} // namespace
} // namespace bagua::runtime
#endif // BAGUA_LIB_RUNTIME_REDUCEOPERANDS

HWY_BEFORE_NAMESPACE();
namespace bagua::runtime {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

//===----------------------------------------------------------------------===//
// Memory formats: how elements become accumulator lanes and back
//===----------------------------------------------------------------------===//

/// Elements that are accumulated in their own type.
template <typename T> struct PlainFormat {
  using Element = T;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  static V load(D d, const Element *from) { return hn::LoadU(d, from); }
  static void store(D d, V v, Element *to) { hn::StoreU(v, d, to); }
};

/// 16-bit floats, accumulated in float32. The conversions are integer
/// arithmetic on all targets, since hardware ones exist on some only.
template <typename Derived> struct Float16BitsFormat {
  using Element = uint16_t;
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  static V load(D d, const Element *from) {
    const hn::RebindToSigned<D> di;
    const hn::Rebind<uint16_t, D> d16;
    return Derived::widen(d, hn::PromoteTo(di, hn::LoadU(d16, from)));
  }

  static void store(D d, V v, Element *to) {
    const hn::Rebind<uint16_t, D> d16;
    hn::StoreU(hn::DemoteTo(d16, Derived::narrow(d, v)), d16, to);
  }
};

struct BFloat16Format : Float16BitsFormat<BFloat16Format> {
  template <typename D, typename VI> static hn::Vec<D> widen(D d, VI bits) {
    return hn::BitCast(d, hn::ShiftLeft<16>(bits));
  }

  /// Round to nearest even; NaN to 0x7fc0.
  template <typename D>
  static hn::Vec<hn::RebindToSigned<D>> narrow(D d, hn::Vec<D> v) {
    const hn::RebindToSigned<D> di;
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded =
        hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff))));
    const auto isNaN = hn::RebindMask(di, hn::IsNaN(v));
    (void)d;
    return hn::IfThenElse(isNaN, hn::Set(di, 0x7fc0), hn::BitCast(di, rounded));
  }
};

struct Float16Format : Float16BitsFormat<Float16Format> {
  // Bits of a float16 exponent placed where float32 has its own, and the
  // difference of the biases there.
  static constexpr int32_t kRebias = (127 - 15) << 23;

  template <typename D, typename VI> static hn::Vec<D> widen(D d, VI bits) {
    const hn::RebindToSigned<D> di;
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(di, 0x8000)));
    const auto magnitude =
        hn::ShiftLeft<13>(hn::And(bits, hn::Set(di, 0x7fff)));
    const auto normal = hn::Add(magnitude, hn::Set(di, kRebias));
    // Exponent 31 (infinity, NaN) becomes 255.
    const auto special = hn::Add(magnitude, hn::Set(di, 2 * kRebias));
    // 2^-14 * (1 + fraction) - 2^-14: exact, and no float32 subnormal is met.
    const auto subnormal = hn::BitCast(
        di, hn::Sub(hn::BitCast(d, hn::Add(magnitude,
                                           hn::Set(di, kRebias + (1 << 23)))),
                    hn::Set(d, 0x1p-14f)));
    const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 1 << 23)),
                                       subnormal, normal);
    const auto isSpecial = hn::Gt(magnitude, hn::Set(di, (31 << 23) - 1));
    return hn::BitCast(
        d, hn::Or(sign, hn::IfThenElse(isSpecial, special, finite)));
  }

  /// Round to nearest even, from 65520 on to infinity; NaN to 0x7e00.
  template <typename D>
  static hn::Vec<hn::RebindToSigned<D>> narrow(D d, hn::Vec<D> v) {
    const hn::RebindToSigned<D> di;
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(di, v);
    const auto magnitude = hn::And(bits, hn::Set(di, 0x7fffffff));
    const auto sign = hn::BitCast(
        di, hn::ShiftLeft<15>(hn::ShiftRight<31>(hn::BitCast(du, bits))));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 1));
    const auto normal = hn::ShiftRight<13>(
        hn::Add(magnitude, hn::Add(odd, hn::Set(di, 0xfff - kRebias))));
    // Below 2^-14: adding 0.5 rounds at 2^-24, a float16 subnormal's unit.
    const auto subnormal = hn::Sub(
        hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f))),
        hn::Set(di, 126 << 23));
    const auto finite = hn::IfThenElse(
        hn::Lt(magnitude, hn::Set(di, (127 - 14) << 23)), subnormal, normal);
    // 2^16 and above; [65520, 2^16) becomes infinity by the carry above.
    const auto isLarge = hn::Gt(magnitude, hn::Set(di, ((127 + 16) << 23) - 1));
    const auto number =
        hn::Or(sign, hn::IfThenElse(isLarge, hn::Set(di, 0x7c00), finite));
    const auto isNaN = hn::Gt(magnitude, hn::Set(di, 255 << 23));
    return hn::IfThenElse(isNaN, hn::Set(di, 0x7e00), number);
  }
};

//===----------------------------------------------------------------------===//
// Combinations
//===----------------------------------------------------------------------===//

template <typename D> using IsFloat = std::is_floating_point<hn::TFromD<D>>;

template <typename D> hn::Vec<D> canonicalNaN(D d) {
  using T = hn::TFromD<D>;
  return hn::Set(d, std::numeric_limits<T>::quiet_NaN());
}

struct SumOp {
  template <typename D>
  static hn::Vec<D> combine(D d, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (IsFloat<D>::value) {
      return hn::Add(a, b);
    } else {
      // Unsigned, so that wrapping is defined on the scalar target too.
      const hn::RebindToUnsigned<D> du;
      return hn::BitCast(d, hn::Add(hn::BitCast(du, a), hn::BitCast(du, b)));
    }
  }
};

/// Min or Max. The hardware's ones differ in NaN and in the sign of zero.
template <bool IsMax> struct ExtremumOp {
  template <typename D>
  static hn::Vec<D> combine(D d, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (IsFloat<D>::value) {
      // Equal numbers differ at most in the sign of zero: max wants it clear
      // unless both have it, min wants it set if either has.
      const auto same = IsMax ? hn::And(a, b) : hn::Or(a, b);
      const auto lesser = IsMax ? b : a;
      const auto greater = IsMax ? a : b;
      const auto ordered = hn::IfThenElse(
          hn::Lt(a, b), lesser, hn::IfThenElse(hn::Lt(b, a), greater, same));
      const auto isNaN = hn::Or(hn::IsNaN(a), hn::IsNaN(b));
      return hn::IfThenElse(isNaN, canonicalNaN(d), ordered);
    } else {
      return IsMax ? hn::Max(a, b) : hn::Min(a, b);
    }
  }
};

/// The result of a finished accumulator: for a mean, it is divided.
template <typename D>
hn::Vec<D> finish(D d, hn::Vec<D> v, bool isMean, hn::Vec<D> divisor) {
  if constexpr (IsFloat<D>::value) {
    if (isMean)
      v = hn::Div(v, divisor);
    return hn::IfThenElse(hn::IsNaN(v), canonicalNaN(d), v);
  } else {
    return v;
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

template <typename Element>
const Element *inputAt(const ReduceOperands &operands, size_t j, size_t i) {
  return reinterpret_cast<const Element *>(operands.inputs[j]) + i;
}

template <typename Element>
Element *outputAt(const ReduceOperands &operands, size_t k, size_t i) {
  return reinterpret_cast<Element *>(operands.outputs[k]) + i;
}

/// One vector's worth of elements at `i`.
template <typename Format, typename Op>
void reduceVector(const ReduceOperands &operands, size_t i) {
  using Element = typename Format::Element;
  const typename Format::D d;
  auto acc = Format::load(d, inputAt<Element>(operands, 0, i));
  for (size_t j = 1; j < operands.inputCount; ++j)
    acc =
        Op::combine(d, acc, Format::load(d, inputAt<Element>(operands, j, i)));
  const auto divisor =
      hn::Set(d, static_cast<hn::TFromD<decltype(d)>>(operands.inputCount));
  acc = finish(d, acc, operands.isMean, divisor);
  for (size_t k = 0; k < operands.outputCount; ++k)
    Format::store(d, acc, outputAt<Element>(operands, k, i));
}

// Where the inputs come from memory, lines are asked for this far ahead: the
// hardware's own prefetching stops at the end of each page. Worth up to a fifth
// of the time of large buffers here; of small ones it would only take lines
// away from the members that work on the next slice.
constexpr size_t kPrefetchBytes = 2048;
constexpr size_t kPrefetchFrom = size_t{1} << 20;

/// Asks for the lines `kPrefetchBytes` after the four vectors at `from`.
template <typename D, typename Element>
HWY_INLINE void prefetchAfter(D d, const Element *from) {
  const auto *ahead = reinterpret_cast<const std::byte *>(from);
  const size_t bytes = 4 * hn::Lanes(d) * sizeof(Element);
  for (size_t at = 0; at < bytes; at += 64)
    hwy::Prefetch(ahead + kPrefetchBytes + at);
}

/// Four vectors' worth of elements at `i`: enough independent sums to hide the
/// latency of an addition, and few enough registers for every target.
template <bool WithPrefetch, typename Format, typename Op>
HWY_INLINE void reduceFourVectors(const ReduceOperands &operands, size_t i) {
  using Element = typename Format::Element;
  const typename Format::D d;
  const size_t lanes = hn::Lanes(d);
  const Element *from = inputAt<Element>(operands, 0, i);
  if constexpr (WithPrefetch)
    prefetchAfter(d, from);
  auto acc0 = Format::load(d, from);
  auto acc1 = Format::load(d, from + lanes);
  auto acc2 = Format::load(d, from + 2 * lanes);
  auto acc3 = Format::load(d, from + 3 * lanes);
  for (size_t j = 1; j < operands.inputCount; ++j) {
    from = inputAt<Element>(operands, j, i);
    if constexpr (WithPrefetch)
      prefetchAfter(d, from);
    acc0 = Op::combine(d, acc0, Format::load(d, from));
    acc1 = Op::combine(d, acc1, Format::load(d, from + lanes));
    acc2 = Op::combine(d, acc2, Format::load(d, from + 2 * lanes));
    acc3 = Op::combine(d, acc3, Format::load(d, from + 3 * lanes));
  }
  const auto divisor =
      hn::Set(d, static_cast<hn::TFromD<decltype(d)>>(operands.inputCount));
  acc0 = finish(d, acc0, operands.isMean, divisor);
  acc1 = finish(d, acc1, operands.isMean, divisor);
  acc2 = finish(d, acc2, operands.isMean, divisor);
  acc3 = finish(d, acc3, operands.isMean, divisor);
  for (size_t k = 0; k < operands.outputCount; ++k) {
    Element *to = outputAt<Element>(operands, k, i);
    Format::store(d, acc0, to);
    Format::store(d, acc1, to + lanes);
    Format::store(d, acc2, to + 2 * lanes);
    Format::store(d, acc3, to + 3 * lanes);
  }
}

/// The last elements, fewer than a vector, through a padded copy of each.
template <typename Format, typename Op>
void reduceTail(const ReduceOperands &operands, size_t i) {
  using Element = typename Format::Element;
  const typename Format::D d;
  HWY_ALIGN Element padded[hn::MaxLanes(d)] = {};
  const size_t bytes = (operands.count - i) * sizeof(Element);
  auto load = [&](size_t j) {
    std::memcpy(padded, inputAt<Element>(operands, j, i), bytes);
    return Format::load(d, padded);
  };
  auto acc = load(0);
  for (size_t j = 1; j < operands.inputCount; ++j)
    acc = Op::combine(d, acc, load(j));
  const auto divisor =
      hn::Set(d, static_cast<hn::TFromD<decltype(d)>>(operands.inputCount));
  Format::store(d, finish(d, acc, operands.isMean, divisor), padded);
  for (size_t k = 0; k < operands.outputCount; ++k)
    std::memcpy(outputAt<Element>(operands, k, i), padded, bytes);
}

template <typename Format, typename Op>
void reduceAs(const ReduceOperands &operands) {
  constexpr size_t elementBytes = sizeof(typename Format::Element);
  constexpr size_t ahead = kPrefetchBytes / elementBytes;
  const size_t lanes = hn::Lanes(typename Format::D());
  size_t i = 0;
  if (operands.count * elementBytes * operands.inputCount >= kPrefetchFrom)
    for (; i + ahead + 4 * lanes <= operands.count; i += 4 * lanes)
      reduceFourVectors<true, Format, Op>(operands, i);
  for (; i + 4 * lanes <= operands.count; i += 4 * lanes)
    reduceFourVectors<false, Format, Op>(operands, i);
  for (; i + lanes <= operands.count; i += lanes)
    reduceVector<Format, Op>(operands, i);
  if (i < operands.count)
    reduceTail<Format, Op>(operands, i);
}

template <typename Format>
void reduceOn(ReduceKind kind, const ReduceOperands &operands) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return reduceAs<Format, SumOp>(operands);
  case ReduceKind::Min:
    return reduceAs<Format, ExtremumOp</*IsMax=*/false>>(operands);
  case ReduceKind::Max:
    return reduceAs<Format, ExtremumOp</*IsMax=*/true>>(operands);
  }
}

void reduceOnTarget(DataType type, ReduceKind kind,
                    const ReduceOperands &operands) {
  switch (type) {
  case DataType::Float32:
    return reduceOn<PlainFormat<float>>(kind, operands);
  case DataType::Float16:
    return reduceOn<Float16Format>(kind, operands);
  case DataType::BFloat16:
    return reduceOn<BFloat16Format>(kind, operands);
  case DataType::Float64:
    return reduceOn<PlainFormat<double>>(kind, operands);
  case DataType::Int8:
    return reduceOn<PlainFormat<int8_t>>(kind, operands);
  case DataType::Int32:
    return reduceOn<PlainFormat<int32_t>>(kind, operands);
  case DataType::Int64:
    return reduceOn<PlainFormat<int64_t>>(kind, operands);
  }
}

} // namespace HWY_NAMESPACE
} // namespace bagua::runtime
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bagua::runtime {

HWY_EXPORT(reduceOnTarget);

bool isReducible(DataType type, ReduceKind kind) {
  bool isInteger = type == DataType::Int8 || type == DataType::Int32 ||
                   type == DataType::Int64;
  return kind != ReduceKind::Mean || !isInteger;
}

void reduceElements(DataType type, ReduceKind kind,
                    absl::Span<const std::byte *const> inputs,
                    absl::Span<std::byte *const> outputs, int64_t count) {
  assert(!inputs.empty() && count >= 0 && isReducible(type, kind));
  if (count == 0)
    return;
  if (inputs.size() == 1) {
    for (std::byte *output : outputs)
      if (output != inputs[0])
        std::memcpy(output, inputs[0], count * dataTypeBytes(type));
    return;
  }
  ReduceOperands operands = {inputs.data(),
                             inputs.size(),
                             outputs.data(),
                             outputs.size(),
                             static_cast<size_t>(count),
                             kind == ReduceKind::Mean};
  HWY_DYNAMIC_DISPATCH(reduceOnTarget)(type, kind, operands);
}

} // namespace bagua::runtime
#endif // HWY_ONCE
