//===- Formula.h - A value as a function of numbers -----------------------===//
//
// What a step computes element by element, evaluated at chosen numbers. Two
// formulas of arithmetic and roots that agree at enough random points are one,
// however they are written: an update is recognised by what it computes.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_FORMULA_H
#define BAGUA_LIB_TARGET_STABLEHLO_FORMULA_H

#include "Graph.h"
#include "NumberRules.h"

#include "llvm/ADT/SmallVector.h"

namespace bagua::importer {

class Formula {
public:
  /// Numbers of values at which evaluation stops.
  using Numbers = llvm::DenseMap<ValueId, double>;

  /// The value `root` as a function of arguments, of the values of `stops`, and
  /// of scalars that are not understood.
  Formula(const Graph &graph, ValueId root, llvm::ArrayRef<ValueId> stops);

  /// Whether it is one: every op between is understood.
  bool isValid() const { return valid; }
  /// What it is a function of.
  llvm::ArrayRef<ValueId> leaves() const { return open; }
  /// Scalars of floating-point numbers that it is computed by way of.
  llvm::ArrayRef<ValueId> scalars() const { return passed; }
  /// Its value; `numbers` has all leaves.
  double at(const Numbers &numbers) const;

private:
  struct Node {
    Rule rule;
    const FlatOp *op;
    ValueId value;
  };
  void visit(ValueId value, llvm::ArrayRef<ValueId> stops);

  const Graph &graph;
  ValueId root;
  bool valid = true;
  llvm::SmallVector<ValueId, 8> open;
  llvm::SmallVector<ValueId, 4> passed;
  /// Operands before their users.
  llvm::SmallVector<Node, 32> nodes;
  llvm::DenseSet<ValueId> seen;
};

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_FORMULA_H
