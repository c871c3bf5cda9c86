//===- NamedPlaces.h - Where the tensors that have names lie --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A named value that is placed in an arena stays there: the program asks the
// session for its address. A place by the value's name and those bytes of the
// arena are then one memory.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_NAMEDPLACES_H
#define BAGUA_TRANSFORMS_UTILS_NAMEDPLACES_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "llvm/ADT/DenseMap.h"

namespace bagua {

/// The names of a scheduled step, and which of them lie in arenas.
class NamedPlaces {
public:
  /// Emits an error and fails if a named value lies in another one's tensor, or
  /// a place has a name that the step doesn't have.
  llvm::LogicalResult read(StepOp step);

  /// The place in an arena if the place is the name of a value there; else the
  /// place itself.
  PlaceAttr resolve(PlaceAttr place) const {
    if (!place || place.getKind() != PlaceKind::Named)
      return place;
    PlaceAttr home = homes.lookup(place.getName());
    return home ? home : place;
  }

private:
  llvm::LogicalResult add(mlir::Operation *op, mlir::StringAttr name,
                          PlaceAttr place);

  /// By name: its place; null for a tensor that the program binds.
  llvm::DenseMap<mlir::StringAttr, PlaceAttr> homes;
};

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_NAMEDPLACES_H
