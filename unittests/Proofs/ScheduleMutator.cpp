//===- ScheduleMutator.cpp - Random faults at scheduled level -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a kind of fault; each says whether it did anything.
//
//===----------------------------------------------------------------------===//
#include "ScheduleMutator.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::proofs;

StringRef bagua::proofs::stringifyScheduleMutation(ScheduleMutation mutation) {
  static constexpr StringRef kNames[kScheduleMutationCount] = {
      "offset moved",   "place changed",
      "after removed",  "launch order changed",
      "stream changed", "size changed",
      "name used",      "update put last",
      "late or not"};
  return kNames[static_cast<int>(mutation)];
}

namespace {
/// A result, or an argument, that has a place.
struct Placed {
  Operation *op; // null for an argument
  unsigned index;
  PlaceAttr place;
};

class ScheduleMutator {
public:
  ScheduleMutator(StepOp step, Random &random);

  bool apply(ScheduleMutation mutation);

private:
  void setPlace(const Placed &placed, PlaceAttr place);
  bool moveOffset();
  bool changePlace();
  bool removeAfter();
  bool changeOrder();
  bool changeStream();
  bool changeSize();
  bool useName();
  bool putLast();
  bool changeLate();
  void replaceType(RankedTensorType from, RankedTensorType to);
  void fitBuckets();

  StepOp step;
  Random &random;
  std::vector<Operation *> ops;
  std::vector<Placed> placed;
};
} // namespace

ScheduleMutator::ScheduleMutator(StepOp step, Random &random)
    : step(step), random(random) {
  auto add = [&](Operation *op, unsigned index, PlaceAttr place) {
    if (place && place.getKind() != PlaceKind::Program)
      placed.push_back({op, index, place});
  };
  for (auto [index, attribute] : llvm::enumerate(step.getArguments()))
    add(nullptr, index, cast<ArgumentAttr>(attribute).getPlace());
  for (Operation &op : step.getBody().front().without_terminator()) {
    ops.push_back(&op);
    ArrayAttr places = cast<StepOpInterface>(op).getPlacesAttr();
    for (unsigned index = 0; index < op.getNumResults(); ++index)
      add(&op, index, cast<PlaceAttr>(places[index]));
  }
}

void ScheduleMutator::setPlace(const Placed &target, PlaceAttr place) {
  if (!target.op) {
    ArgumentAttr info = step.getArgument(target.index);
    step.setArgument(target.index, info.at(place));
    return;
  }
  auto op = cast<StepOpInterface>(target.op);
  SmallVector<Attribute> places(op.getPlacesAttr().begin(),
                                op.getPlacesAttr().end());
  places[target.index] = place;
  op.setPlacesAttr(ArrayAttr::get(step.getContext(), places));
}

/// By an element or a few, to either side.
bool ScheduleMutator::moveOffset() {
  if (placed.empty())
    return false;
  const Placed &target = random.pick(placed);
  int64_t offset = target.place.getOffset() +
                   random.between(-4, 4) * (random.chance(50) ? 4 : 16);
  bool isArena = target.place.getKind() == PlaceKind::Arena;
  if (!isArena || offset < 0 || offset == target.place.getOffset())
    return false;
  setPlace(target, PlaceAttr::get(step.getContext(), target.place.getKind(),
                                  target.place.getName(), offset));
  return true;
}

/// To where another value lies, or to memory that nobody else uses.
bool ScheduleMutator::changePlace() {
  if (placed.empty())
    return false;
  const Placed &target = random.pick(placed);
  PlaceAttr place =
      random.chance(80)
          ? random.pick(placed).place
          : PlaceAttr::get(step.getContext(), PlaceKind::Arena,
                           StringAttr::get(step.getContext(), "elsewhere"), 0);
  if (place == target.place)
    return false;
  setPlace(target, place);
  return true;
}

bool ScheduleMutator::removeAfter() {
  std::vector<AfterOp> afters;
  for (Operation *op : ops)
    if (auto after = dyn_cast<AfterOp>(op))
      afters.push_back(after);
  if (afters.empty())
    return false;
  AfterOp after = afters[random.below(afters.size())];
  size_t count = after.getDependencies().size();
  if (count > 1 && random.chance(50)) {
    after.getDependenciesMutable().erase(random.below(count), 1);
    return true;
  }
  after.getOutput().replaceAllUsesWith(after.getInput());
  after.erase();
  return true;
}

/// To another place between the last op that it uses and the first that uses
/// it; now and then anywhere.
bool ScheduleMutator::changeOrder() {
  size_t index = random.below(ops.size());
  Operation *op = ops[index];
  size_t first = index, last = index;
  while (first > 0 && !llvm::is_contained(ops[first - 1]->getUsers(), op))
    --first;
  while (last + 1 < ops.size() &&
         !llvm::is_contained(op->getUsers(), ops[last + 1]))
    ++last;
  size_t target = random.chance(95) ? random.between(first, last)
                                    : random.below(ops.size());
  if (target == index)
    return false;
  if (target < index)
    op->moveBefore(ops[target]);
  else
    op->moveAfter(ops[target]);
  return true;
}

bool ScheduleMutator::changeStream() {
  // What the program runs has one stream; moving it means little.
  auto op = cast<StepOpInterface>(random.pick(ops));
  if (op.isRunByProgram() && random.chance(80))
    return false;
  ArrayAttr streams = step.getStreamsAttr();
  auto stream = cast<StringAttr>(streams[random.below(streams.size())]);
  if (stream == op.getStreamAttr())
    return false;
  op.setStreamAttr(stream);
  return true;
}

void ScheduleMutator::replaceType(RankedTensorType from, RankedTensorType to) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](RankedTensorType type) { return type == from ? to : type; });
  replacer.recursivelyReplaceElementsIn(step, /*replaceAttrs=*/false,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// Buckets follow their tensors.
void ScheduleMutator::fitBuckets() {
  for (Operation *op : ops) {
    auto concat = dyn_cast<ConcatOp>(op);
    if (!concat || concat.getStriped())
      continue;
    int64_t count = 0;
    for (Type type : concat.getInputs().getTypes())
      count += cast<ShapedType>(type).getNumElements();
    auto bucket = cast<RankedTensorType>(concat.getOutput().getType());
    if (bucket.getNumElements() != count)
      replaceType(bucket,
                  RankedTensorType::get({count}, bucket.getElementType(),
                                        bucket.getEncoding()));
  }
}

/// All values of one type get more or fewer elements; their places stay.
bool ScheduleMutator::changeSize() {
  Operation *op = random.pick(ops);
  if (op->getNumResults() == 0)
    return false;
  auto type = dyn_cast<RankedTensorType>(
      op->getResult(random.below(op->getNumResults())).getType());
  if (!type || type.getRank() != 1)
    return false;
  int64_t count = type.getDimSize(0) + random.between(-2, 4);
  if (count < 1 || count == type.getDimSize(0))
    return false;
  replaceType(type, RankedTensorType::get({count}, type.getElementType(),
                                          type.getEncoding()));
  fitBuckets();
  return true;
}

bool ScheduleMutator::useName() {
  std::vector<StringAttr> names;
  for (Operation *op : ops)
    for (OpResult result : op->getResults())
      if (StringAttr name =
              cast<StepOpInterface>(op).getResultName(result.getResultNumber()))
        names.push_back(name);
  if (names.empty() || placed.empty())
    return false;
  setPlace(random.pick(placed),
           PlaceAttr::get(step.getContext(), PlaceKind::Named,
                          random.pick(names), 0));
  return true;
}

bool ScheduleMutator::putLast() {
  std::vector<Operation *> updates;
  for (Operation *op : ops)
    if (cast<StepOpInterface>(op).isUpdate())
      updates.push_back(op);
  if (updates.empty())
    return false;
  Operation *op = random.pick(updates), *next = op->getNextNode();
  Operation *before = next;
  while (!before->hasTrait<OpTrait::IsTerminator>() &&
         !llvm::is_contained(op->getUsers(), before))
    before = before->getNextNode();
  if (before == next)
    return false;
  op->moveBefore(before);
  return true;
}

bool ScheduleMutator::changeLate() {
  std::vector<ComputeOp> computes;
  for (Operation *op : ops)
    if (auto compute = dyn_cast<ComputeOp>(op))
      computes.push_back(compute);
  ComputeOp compute = random.pick(computes);
  compute.setLate(!compute.getLate());
  compute.setStreamAttr(StringAttr::get(
      step.getContext(), compute.getLate() ? "late" : "compute"));
  SmallVector<Attribute> streams(step.getStreamsAttr().getValue());
  if (!llvm::is_contained(streams, compute.getStreamAttr()))
    streams.push_back(compute.getStreamAttr());
  step.setStreamsAttr(ArrayAttr::get(step.getContext(), streams));
  // Late ops come last, unless somebody in the step needs them sooner.
  bool isUsedNow = llvm::any_of(compute->getUsers(), [](Operation *user) {
    return !user->hasTrait<OpTrait::IsTerminator>();
  });
  if (compute.getLate() && !isUsedNow)
    compute->moveBefore(step.getYield());
  return true;
}

bool ScheduleMutator::apply(ScheduleMutation mutation) {
  switch (mutation) {
  case ScheduleMutation::MoveOffset:
    return moveOffset();
  case ScheduleMutation::ChangePlace:
    return changePlace();
  case ScheduleMutation::RemoveAfter:
    return removeAfter();
  case ScheduleMutation::ChangeOrder:
    return changeOrder();
  case ScheduleMutation::ChangeStream:
    return changeStream();
  case ScheduleMutation::ChangeSize:
    return changeSize();
  case ScheduleMutation::UseName:
    return useName();
  case ScheduleMutation::PutLast:
    return putLast();
  case ScheduleMutation::ChangeLate:
    return changeLate();
  }
  llvm_unreachable("all mutations are handled");
}

std::optional<ScheduleMutation> bagua::proofs::mutateSchedule(StepOp step,
                                                              Random &random) {
  auto mutation =
      static_cast<ScheduleMutation>(random.below(kScheduleMutationCount));
  if (!ScheduleMutator(step, random).apply(mutation))
    return std::nullopt;
  return mutation;
}
