//===- Rewrites.h - Rewrites of the flat graph ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces values, and finds the division after a sum: exporters write a mean
// as a sum and a division by a constant.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_REWRITES_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_REWRITES_H

#include "StableHLO/Graph/Graph.h"

namespace bagua::importer {

struct Division {
  /// The op that divides.
  OpId op = kNone;
  double divisor = 1;
};

/// Whether an op only gives its operand another shape, or another
/// floating-point type.
bool isView(const FlatOp &op);

/// The one division by a constant through which all uses of `value` pass, with
/// only conversions and reshapes before it; nothing if there is none. A product
/// with a constant does not count, because the constant may be a learning rate.
std::optional<Division> findDivision(const Graph &graph, const Uses &uses,
                                     ValueId value);

/// Values that take the place of others, applied all at once.
class Replacements {
public:
  explicit Replacements(const Graph &graph)
      : targets(graph.values.size(), kNone) {}
  void add(ValueId from, ValueId to) { targets[from] = to; }
  /// The value that stands for this one after all replacements.
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

/// Replaces a reshape back to the type from which another reshape came by the
/// original value, so that gradients are the same values in every exported
/// form. O(ops).
void foldReshapeRoundTrips(Graph &graph);

/// Replaces the quotient by the dividend.
void removeDivision(Graph &graph, const Division &division,
                    Replacements &replacements);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_REWRITES_H
