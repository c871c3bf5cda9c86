//===- Formula.h - A value as a function of numbers -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An elementwise computation of a step, evaluated at chosen numbers. Two
// formulas of arithmetic and roots that agree at enough random points are the
// same, however they are written: an update is recognised by its results.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_FORMULA_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_FORMULA_H

#include "StableHLO/Graph/Graph.h"
#include "StableHLO/Graph/NumberRules.h"

#include "llvm/ADT/SmallVector.h"

#include <array>

namespace bagua::importer {

class Formula {
public:
  /// The value `root` as a function of arguments, of the values of `stops`, and
  /// of scalars that are not understood.
  Formula(const Graph &graph, ValueId root, llvm::ArrayRef<ValueId> stops);

  /// Whether the formula is understood: every op between is, and they are not
  /// many.
  bool isValid() const { return valid; }
  /// The values that the formula is a function of.
  llvm::ArrayRef<ValueId> leaves() const { return open; }
  /// The floating-point scalars through which it is computed.
  llvm::ArrayRef<ValueId> scalars() const { return passed; }
  /// The formula's value if leaf `i` is `numbers[i]`.
  double at(llvm::ArrayRef<double> numbers) const;

private:
  struct Node {
    Rule rule;
    /// Places of operands; place 0 for missing ones.
    std::array<unsigned, 3> operands;
    unsigned result;
  };
  /// The place of a value among the numbers of an evaluation.
  unsigned visit(ValueId value, llvm::ArrayRef<ValueId> stops);
  unsigned addPlace(ValueId value, double number);

  const Graph &graph;
  bool valid = true;
  llvm::SmallVector<ValueId, 8> open;
  llvm::SmallVector<unsigned, 8> openPlaces;
  llvm::SmallVector<ValueId, 4> passed;
  /// Operands before their users.
  llvm::SmallVector<Node, 32> nodes;
  llvm::DenseMap<ValueId, unsigned> places;
  /// The numbers of constants at their places; place 0 is unused.
  llvm::SmallVector<double, 64> initial{0};
  unsigned root;
};

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_FORMULA_H
