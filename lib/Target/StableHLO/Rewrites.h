//===- Rewrites.h - Rewrites of the flat graph ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replacing values, and the division after a sum: exporters write a mean as a
// sum and a division by a constant, or a product with one.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_REWRITES_H
#define BAGUA_TARGET_STABLEHLO_REWRITES_H

#include "Graph.h"

namespace bagua::importer {

struct Division {
  /// The op that divides.
  OpId op = kNone;
  double divisor = 1;
};

/// Whether an op only gives its operand another shape, or another type of
/// floating-point numbers.
bool isView(const FlatOp &op);

/// The one division by a constant that all uses of `value` pass, after nothing
/// but conversions and reshapes; nothing if there is none. A product with a
/// constant is none: it may be a learning rate.
std::optional<Division> findDivision(const Graph &graph, const Uses &uses,
                                     ValueId value);

/// Values that take the place of others, applied all at once.
class Replacements {
public:
  explicit Replacements(const Graph &graph)
      : targets(graph.values.size(), kNone) {}
  void add(ValueId from, ValueId to) { targets[from] = to; }
  /// What stands for the value in the end.
  ValueId resolve(ValueId value) const {
    while (targets[value] != kNone)
      value = targets[value];
    return value;
  }
  /// Rewrites operands and outputs. O(ops).
  void apply(Graph &graph) const;

private:
  std::vector<ValueId> targets;
};

/// A reshape back to the type from which another came is the value itself. So
/// that gradients are the same values in every exported form. O(ops).
void foldReshapeRoundTrips(Graph &graph);

/// The divided value takes the place of the quotient.
void removeDivision(Graph &graph, const Division &division,
                    Replacements &replacements);

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_REWRITES_H
