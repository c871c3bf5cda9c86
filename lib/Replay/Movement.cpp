//===- Movement.cpp - Where elements that a relation moves come from ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index arithmetic on a tensor with the shape [outer][blocks][inner].
//
//===----------------------------------------------------------------------===//
#include "Movement.h"

#include "Plan/Opcodes.h"

#include <algorithm>

namespace bagua::replay {

namespace fb = runtime::fb;

/// The member that sends to this position; kNobody if none does.
static int64_t senderTo(const fb::Relation &relation, int64_t position) {
  for (uint32_t i = 0; relation.pairs() && i < relation.pairs()->size(); i += 2)
    if (relation.pairs()->Get(i + 1) == position)
      return relation.pairs()->Get(i);
  return MovedRun::kNobody;
}

Movement::Movement(const runtime::Plan &plan, const fb::Relation &relation,
                   int64_t position, int64_t size)
    : position(position), size(size), isCut(runtime::cuts(relation.relation())),
      isJoined(runtime::joins(relation.relation())),
      sender(relation.relation() == fb::RelationKind::Permuted
                 ? senderTo(relation, position)
                 : MovedRun::kAll) {
  // A block has the shape of the given tensor, or of a cut of it.
  auto *shape = plan.root().tensors()->Get(relation.of())->shape();
  for (uint32_t i = 0; shape && i < shape->size(); ++i) {
    int64_t dimension = shape->Get(i);
    if (isCut && i == relation.split_dim())
      dimension /= size;
    splitInner *= i >= relation.split_dim() ? dimension : 1;
    concatInner *= i >= relation.concat_dim() ? dimension : 1;
    elements *= dimension;
  }
  if (isJoined)
    elements *= size;
}

MovedRun Movement::at(int64_t element) const {
  MovedRun run = {element, elements - element, sender};
  if (isJoined) {
    int64_t block = element / concatInner, inBlock = element % concatInner;
    run = {block / size * concatInner + inBlock, concatInner - inBlock,
           block % size};
  }
  if (isCut) {
    int64_t block = run.source / splitInner, inBlock = run.source % splitInner;
    run.source = (block * size + position) * splitInner + inBlock;
    run.length = std::min(run.length, splitInner - inBlock);
  }
  return run;
}

} // namespace bagua::replay
