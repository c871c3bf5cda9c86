//===- Sizes.cpp - Clusters by sizes, rates and latencies -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses numbers with units.
//
//===----------------------------------------------------------------------===//
#include "Sizes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace bagua;

namespace {
struct Unit {
  StringRef name;
  double factor;
};
} // namespace

// Factors in bytes a second. `mb` and `mbps` are left out: to some users they
// mean bits, to others bytes.
static constexpr Unit kBitRates[] = {
    {"kbit", 125}, {"mbit", 125e3}, {"gbit", 125e6}, {"tbit", 125e9}};
static constexpr Unit kByteRates[] = {
    {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
// Factors in ns.
static constexpr Unit kTimes[] = {
    {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

/// No cluster has larger numbers.
static constexpr double kMost = 1e15;

/// Parses a number and one of the units; the result is in the unit of the
/// factors, and at least `least`.
static std::optional<int64_t> parseNumber(StringRef text, ArrayRef<Unit> units,
                                          double least) {
  size_t digits = text.find_first_not_of("0123456789.");
  double number;
  if (digits == 0 || digits == StringRef::npos ||
      text.take_front(digits).getAsDouble(number))
    return std::nullopt;
  StringRef name = text.drop_front(digits).ltrim();
  const Unit *unit =
      llvm::find_if(units, [&](const Unit &unit) { return unit.name == name; });
  if (unit == units.end())
    return std::nullopt;
  double value = std::round(number * unit->factor);
  if (!(value >= least && value <= kMost))
    return std::nullopt;
  return static_cast<int64_t>(value);
}

static std::optional<int64_t> parseRate(StringRef text) {
  if (auto bytes = parseNumber(text, kByteRates, /*least=*/1))
    return bytes;
  std::string lower = text.lower();
  StringRef bits = lower;
  bits.consume_back("/s");
  return parseNumber(bits, kBitRates, /*least=*/1);
}

static LogicalResult parseAxis(StringRef item, AxisSize &axis) {
  auto [name, rest] = item.split('=');
  auto [size, rate] = rest.split('@');
  axis.name = name.trim().str();
  if (axis.name.empty() || size.trim().getAsInteger(10, axis.size) ||
      axis.size < 1)
    return failure();
  if (!rest.contains('@'))
    return success();
  axis.rate = parseRate(rate.trim());
  return success(axis.rate.has_value());
}

FailureOr<std::vector<AxisSize>> bagua::parseSizes(StringRef text,
                                                   Location location) {
  std::vector<AxisSize> axes;
  for (StringRef item : llvm::split(text, ',')) {
    item = item.trim();
    if (item.contains('=')) {
      if (succeeded(parseAxis(item, axes.emplace_back())))
        continue;
    } else if (!axes.empty() && axes.back().rate && !axes.back().latency) {
      axes.back().latency = parseNumber(item.lower(), kTimes, /*least=*/0);
      if (axes.back().latency)
        continue;
    }
    return emitError(location)
           << "expected a cluster as axis=size, axis=size@rate or "
              "axis=size@rate,latency, such as node=2,gpu=4 or "
              "host=4@500mbit,100us (rates in kbit, mbit, gbit, kB/s, MB/s, "
              "GB/s; latencies in ns, us, ms), found '"
           << item << "' in '" << text << "'";
  }
  return axes;
}
