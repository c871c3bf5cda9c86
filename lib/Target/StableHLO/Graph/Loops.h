//===- Loops.h - What is known about a loop -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How often a `while` runs, and whether it communicates.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_LOOPS_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_LOOPS_H

#include "StableHLO/Graph/Inline.h"

#include <optional>

namespace bagua::importer {

/// A loop that counts its turns: `while (i < end) i += step`.
struct CountedLoop {
  /// The operand that counts.
  unsigned counter;
  int64_t begin;
  int64_t step;
  int64_t turns;
};

/// The initial value of a loop's operand, if it is known.
using InitialValue =
    llvm::function_ref<std::optional<int64_t>(unsigned operand)>;

/// Whether an op is a `while` whose condition and body are one block each, and
/// whose body carries each operand.
bool isWellFormedLoop(mlir::Operation *op);

/// Reads a loop whose end is a constant or carried unchanged, and which adds a
/// constant in each turn, possibly in a call; nothing for any other.
std::optional<CountedLoop> readCountedLoop(mlir::Operation *op,
                                           InitialValue initial,
                                           const Functions &functions);

/// The integer of a constant op, or of a conversion of one.
std::optional<int64_t> integerOf(mlir::Value value);

/// Whether an op in the region, or in a function that it calls, moves data
/// between devices.
bool communicates(mlir::Region &region, const Functions &functions);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_LOOPS_H
