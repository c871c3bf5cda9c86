//===- NamedPlaces.h - Where the tensors that have names lie --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A named value that is placed in an arena lives there: the program asks the
// session for its address. Its name as a place, and those bytes of the arena,
// are then one memory.
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
  /// Emits an error and fails where a named value lies in another's tensor, or
  /// a place speaks of a name that the step doesn't have.
  llvm::LogicalResult read(StepOp step);

  /// The place itself, or for the name of a value in an arena, that.
  PlaceAttr resolve(PlaceAttr place) const {
    if (!place || place.getKind() != PlaceKind::Named)
      return place;
    PlaceAttr home = homes.lookup(place.getName());
    return home ? home : place;
  }

private:
  llvm::LogicalResult add(mlir::Operation *op, mlir::StringAttr name,
                          PlaceAttr place);

  /// Of every name; null for one that the program binds.
  llvm::DenseMap<mlir::StringAttr, PlaceAttr> homes;
};

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_NAMEDPLACES_H
