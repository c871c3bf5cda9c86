//===- MemoryContents.cpp - Which value has its bytes at which place ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps of pieces; neighbouring pieces of the same contents are merged.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/MemoryContents.h"

using namespace mlir;
using namespace bagua;

void MemoryContents::append(Pieces &pieces, Piece piece) {
  if (piece.bytes == 0)
    return;
  if (!pieces.empty()) {
    Piece &last = pieces.back();
    if (last.id == piece.id && last.offset + last.bytes == piece.offset) {
      last.bytes += piece.bytes;
      return;
    }
  }
  pieces.push_back(piece);
}

void MemoryContents::defineFresh(Value value, int64_t bytes) {
  Pieces pieces;
  append(pieces, {nextId++, 0, bytes});
  values[value] = pieces;
}

void MemoryContents::defineConcat(Value whole, ValueRange pieces) {
  Pieces joined;
  for (Value value : pieces)
    for (const Piece &piece : values[value])
      append(joined, piece);
  values[whole] = joined;
}

void MemoryContents::defineSplit(Value whole, ValueRange pieces,
                                 llvm::ArrayRef<int64_t> bytes) {
  const Pieces source = values[whole];
  size_t index = 0;
  int64_t used = 0; // bytes of source[index] that are taken
  for (auto [value, size] : llvm::zip_equal(pieces, bytes)) {
    Pieces cut;
    int64_t left = size;
    while (left > 0) {
      const Piece &piece = source[index];
      int64_t taken = std::min(left, piece.bytes - used);
      append(cut, {piece.id, piece.offset + used, taken});
      left -= taken;
      used += taken;
      if (used == piece.bytes) {
        ++index;
        used = 0;
      }
    }
    values[value] = cut;
  }
}

void MemoryContents::rename(ValueRange from, ValueRange to) {
  std::vector<Pieces> meanings;
  for (Value value : from)
    meanings.push_back(values[value]);
  for (auto [value, meaning] : llvm::zip_equal(to, meanings))
    values[value] = meaning;
}

void MemoryContents::write(Value value, int32_t memory, int64_t begin) {
  std::map<int64_t, Piece> &map = memories[memory];
  int64_t end = begin;
  for (const Piece &piece : values[value])
    end += piece.bytes;
  if (begin == end)
    return;
  // Cuts pieces that reach into the range from the left, or past it to the
  // right.
  auto cutAt = [&](int64_t at) {
    auto next = map.upper_bound(at);
    if (next == map.begin())
      return;
    auto &[start, piece] = *std::prev(next);
    int64_t used = at - start;
    if (used == 0 || used >= piece.bytes)
      return;
    Piece rest{piece.id, piece.offset + used, piece.bytes - used};
    piece.bytes = used;
    map.emplace(at, rest);
  };
  cutAt(begin);
  cutAt(end);
  map.erase(map.lower_bound(begin), map.lower_bound(end));
  int64_t at = begin;
  for (const Piece &piece : values[value]) {
    map.emplace(at, piece);
    at += piece.bytes;
  }
}

MemoryContents::Pieces MemoryContents::read(int32_t memory, int64_t begin,
                                            int64_t end) const {
  Pieces pieces;
  auto found = memories.find(memory);
  if (found == memories.end())
    return pieces;
  const std::map<int64_t, Piece> &map = found->second;
  auto it = map.upper_bound(begin);
  if (it != map.begin())
    --it;
  for (; it != map.end() && it->first < end; ++it) {
    const auto &[start, piece] = *it;
    int64_t from = std::max(begin, start);
    int64_t to = std::min(end, start + piece.bytes);
    if (from < to)
      append(pieces, {piece.id, piece.offset + from - start, to - from});
  }
  return pieces;
}

bool MemoryContents::holds(Value value, int32_t memory, int64_t begin) const {
  const Pieces &wanted = values.find(value)->second;
  int64_t end = begin;
  for (const Piece &piece : wanted)
    end += piece.bytes;
  Pieces found = read(memory, begin, end);
  return std::equal(wanted.begin(), wanted.end(), found.begin(), found.end(),
                    [](const Piece &a, const Piece &b) {
                      return a.id == b.id && a.offset == b.offset &&
                             a.bytes == b.bytes;
                    });
}
