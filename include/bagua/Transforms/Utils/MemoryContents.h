//===- MemoryContents.h - Which value has its bytes at which place --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A symbolic memory: every value has contents of its own, or is put together
// from those of others; every byte range of a memory holds a piece of some
// contents.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_MEMORYCONTENTS_H
#define BAGUA_TRANSFORMS_UTILS_MEMORYCONTENTS_H

#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <map>
#include <vector>

namespace bagua {

class MemoryContents {
public:
  /// Gives the value new contents of so many bytes.
  void defineFresh(mlir::Value value, int64_t bytes);
  /// Makes the contents of `whole` those of the pieces, one after the other.
  void defineConcat(mlir::Value whole, mlir::ValueRange pieces);
  /// Makes the contents of the pieces those of `whole`, cut into so many bytes
  /// each; the sizes add up to the whole.
  void defineSplit(mlir::Value whole, mlir::ValueRange pieces,
                   llvm::ArrayRef<int64_t> bytes);
  /// From now on each value of `to` has the contents of the value of `from` at
  /// the same index.
  void rename(mlir::ValueRange from, mlir::ValueRange to);

  /// Puts the value's bytes at a place.
  void write(mlir::Value value, int32_t memory, int64_t begin);
  /// Whether the bytes at a place are the value's.
  bool holds(mlir::Value value, int32_t memory, int64_t begin) const;

private:
  /// `bytes` bytes of contents `id`, from `offset` on.
  struct Piece {
    int64_t id;
    int64_t offset;
    int64_t bytes;
  };
  using Pieces = std::vector<Piece>;

  static void append(Pieces &pieces, Piece piece);
  Pieces read(int32_t memory, int64_t begin, int64_t end) const;

  int64_t nextId = 0;
  llvm::DenseMap<mlir::Value, Pieces> values;
  /// By memory: from the begin of each piece to the piece.
  llvm::DenseMap<int32_t, std::map<int64_t, Piece>> memories;
};

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_MEMORYCONTENTS_H
