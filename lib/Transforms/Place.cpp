//===- Place.cpp - bagua-place --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds values that can share bytes (a bucket and its tensors, operand and
// result of a collective in place), and lays each such class into an arena or
// into the program's own tensor.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Scheduling/Proof/Aliasing.h"
#include "bagua/Scheduling/Proof/ByteRanges.h"
#include "bagua/Support/Parts.h"
#include "bagua/Transforms/Algorithms/Contract.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/Names.h"
#include "bagua/Transforms/Utils/Report.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace bagua {
#define GEN_PASS_DEF_PLACEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
/// Values that share one piece of memory.
struct PlaceClass {
  SmallVector<Value> members;
  int64_t begin = 0, end = 0;
};

/// The yield's number: it comes after all ops.
constexpr size_t kYield = ~size_t(0);

class Placer {
public:
  explicit Placer(StepOp step)
      : step(step), cluster(step.lookupCluster()), block(step), names(step),
        contract(step), states(step.getStateArguments()) {}

  LogicalResult run(int64_t maxBytes);
  llvm::json::Object describe() const;

private:
  LogicalResult nameCrossing();
  LogicalResult nameTakenBack();
  void collect();
  size_t lastUseOf(Value value);
  void tieAll();
  void tieState();
  bool tie(Value value, Value base, int64_t delta);
  void tieInPlace(size_t index, Value result, Value operand);
  bool isOnLoan(Value value);
  bool isKeptElsewhere(OpResult value, Value operand);
  bool canGather(const BucketView &bucket);
  void gather();
  LogicalResult assign(int64_t maxBytes);
  std::optional<PlaceAttr> namedPlaceOf(const PlaceClass &shared);
  void writePlaces();

  int64_t bytesOf(Value value);
  bool isTouched(Value value) { return numbers.count(value); }

  StepOp step;
  ClusterOp cluster;
  BlockOrder block;
  StepNames names;
  ContractTensors contract;
  SmallVector<unsigned> states;
  AliasClasses aliases;
  /// By number of the class: its members, in the class's own coordinates.
  std::vector<ByteRanges> extents;
  /// By value: the last op that uses it, and its bytes.
  std::vector<size_t> lastUses;
  std::vector<int64_t> sizes;
  llvm::MapVector<Value, int32_t> numbers;
  llvm::MapVector<int32_t, PlaceClass> classes;
  llvm::DenseMap<Value, PlaceAttr> places;
  int64_t arenaBytes = 0, classesInArena = 0;
};
} // namespace

int64_t Placer::bytesOf(Value value) {
  return maxLocalBytes(value.getType(), cluster);
}

/// Gives names to all values that the program makes for the runtime.
LogicalResult Placer::nameCrossing() {
  for (Operation *op : block) {
    auto stepOp = cast<StepOpInterface>(op);
    if (stepOp.isRunByProgram())
      continue;
    for (Value operand : op->getOperands()) {
      auto maker = dyn_cast_or_null<ComputeOp>(operand.getDefiningOp());
      if (maker)
        names.nameValue(operand);
    }
  }
  return success();
}

/// Numbers the values that the runtime touches, and the states whose next
/// values its arithmetic makes.
void Placer::collect() {
  auto touch = [&](Value value) {
    if (!numbers.insert({value, 0}).second)
      return;
    numbers[value] = aliases.add();
    extents.emplace_back(numbers[value], bytesOf(value));
    lastUses.push_back(lastUseOf(value));
    sizes.push_back(bytesOf(value));
  };
  for (Operation *op : block) {
    if (cast<StepOpInterface>(op).isRunByProgram())
      continue;
    for (Value operand : op->getOperands())
      touch(operand);
    for (Value result : op->getResults())
      touch(result);
  }
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    auto maker = dyn_cast_or_null<StepOpInterface>(value.getDefiningOp());
    if (maker && maker.isArithmetic())
      touch(step.getBody().getArgument(index));
  }
}

size_t Placer::lastUseOf(Value value) {
  size_t last = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    // An op does not read operands that it only waits for.
    if (auto op = dyn_cast<StepOpInterface>(user);
        op && use.getOperandNumber() >= op.getReadCount())
      continue;
    last = std::max(last, isa<YieldOp>(user) ? kYield : block.indexOf(user));
  }
  return last;
}

bool Placer::tie(Value value, Value base, int64_t delta) {
  int32_t number = numbers[value], baseNumber = numbers[base];
  int32_t from = aliases.classOf(number), to = aliases.classOf(baseNumber);
  if (!aliases.tie(number, baseNumber, delta))
    return false;
  if (from == to)
    return true;
  ByteRanges joined = std::move(extents[from]);
  joined.shift(aliases.offsetOf(from));
  extents[to].shift(aliases.offsetOf(to));
  joined.take(std::move(extents[to]));
  extents[aliases.classOf(number)] = std::move(joined);
  return true;
}

/// Whether a bucket's tensors can lie side by side: each has its memory to
/// itself, or all lie side by side already. Otherwise (one tensor is in another
/// bucket, say) all tensors are copied: half a bucket in another bucket's bytes
/// would keep both from being reduced in place.
bool Placer::canGather(const BucketView &bucket) {
  llvm::DenseMap<int32_t, int64_t> begins;
  bool areAlone = true;
  int64_t delta = 0;
  for (Value input : bucket.tensors) {
    int32_t number = numbers[input], shared = aliases.classOf(number);
    int64_t offset = aliases.offsetOf(number);
    if (begins.try_emplace(shared, offset - delta).first->second !=
        offset - delta)
      return false;
    areAlone &= extents[shared].begin() == offset &&
                extents[shared].end() == offset + bytesOf(input);
    delta += bytesOf(input);
  }
  return areAlone || begins.size() == 1;
}

/// Lets the result take the operand's bytes if nobody needs their contents
/// later, that is, no later op uses a member of the class that overlaps them. A
/// result with a name of its own has memory of its own.
void Placer::tieInPlace(size_t index, Value result, Value operand) {
  if (nameOf(step, result) || bytesOf(result) > bytesOf(operand))
    return;
  int32_t number = numbers[operand];
  int64_t begin = aliases.offsetOf(number), end = begin + sizes[number];
  bool isNeeded = extents[aliases.classOf(number)].any(
      begin, end, [&](int32_t member) { return lastUses[member] > index; });
  if (!isNeeded)
    tie(result, operand, 0);
}

/// Whether the program gets back a tensor unchanged: no contract promises
/// anything else.
bool Placer::isOnLoan(Value value) {
  StringAttr name =
      value.getDefiningOp<ComputeOp>() ? nameOf(step, value) : StringAttr();
  return name && !contract.giveBack(name);
}

/// Whether a value becomes a state whose place is not the operand's.
bool Placer::isKeptElsewhere(OpResult value, Value operand) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    if (!isa<YieldOp>(use.getOwner()))
      return false;
    unsigned index = states[use.getOperandNumber()];
    Value state = step.getBody().getArgument(index);
    return isTouched(state) &&
           aliases.classOf(numbers[state]) != aliases.classOf(numbers[operand]);
  });
}

/// The value that ops before `restoring` cut or narrowed before it was sent,
/// and that `restoring` restores: the operand of the first of these ops, found
/// by way of ops that only send and convert. Null if there is none.
static Value restoredFrom(Operation *restoring) {
  Type restored = restoring->getResult(0).getType();
  auto next = [](Operation *op) {
    return dyn_cast_or_null<StepOpInterface>(op->getOperand(0).getDefiningOp());
  };
  for (StepOpInterface op = next(restoring); op && op.isTransit();
       op = next(op))
    if (op->getOperand(0).getType() == restored)
      return op->getOperand(0);
  return nullptr;
}

void Placer::tieAll() {
  for (auto [index, op] : llvm::enumerate(block)) {
    auto stepOp = cast<StepOpInterface>(op);
    if (stepOp.isRunByProgram())
      continue;
    if (std::optional<BucketView> bucket = stepOp.getBucket()) {
      if (bucket->striped || !canGather(*bucket))
        continue;
      int64_t offset = 0;
      for (Value tensor : bucket->tensors) {
        tie(tensor, bucket->whole, offset);
        offset += bytesOf(tensor);
      }
      continue;
    }
    for (OpResult result : op->getResults()) {
      std::optional<unsigned> operand =
          stepOp.getInPlaceOperand(result.getResultNumber());
      if (operand && !isOnLoan(op->getOperand(*operand)) &&
          !isKeptElsewhere(result, op->getOperand(*operand)))
        tieInPlace(index, result, op->getOperand(*operand));
      else if (!operand && stepOp.isTransit())
        // Only whole values lie in place: the place of a part in the whole
        // depends on the rank.
        if (Value whole = restoredFrom(op); whole && isTouched(whole))
          tieInPlace(index, result, whole);
    }
  }
}

/// Gives each state's next value the place of the state.
void Placer::tieState() {
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    std::optional<size_t> maker = block.definitionOf(value);
    Value argument = step.getBody().getArgument(index);
    if (maker && isTouched(value) && isTouched(argument) &&
        aliases.classOf(numbers[value]) != aliases.classOf(numbers[argument]))
      tieInPlace(*maker, value, argument);
  }
}

void Placer::gather() {
  for (auto &[value, number] : numbers) {
    PlaceClass &shared = classes[aliases.classOf(number)];
    int64_t begin = aliases.offsetOf(number);
    int64_t end = begin + bytesOf(value);
    bool isFirst = shared.members.empty();
    shared.begin = isFirst ? begin : std::min(shared.begin, begin);
    shared.end = isFirst ? end : std::max(shared.end, end);
    shared.members.push_back(value);
  }
}

/// The memory of a named tensor that has the size of the class, if all members
/// are stored alike; such a class stays in that memory.
std::optional<PlaceAttr> Placer::namedPlaceOf(const PlaceClass &shared) {
  StringAttr name;
  LayoutAttr layout =
      getLayout(cast<RankedTensorType>(shared.members.front().getType()));
  for (Value member : shared.members) {
    auto type = cast<RankedTensorType>(member.getType());
    if (bytesOf(member) != shared.end - shared.begin ||
        getLayout(type) != layout)
      return std::nullopt;
    StringAttr found = nameOf(step, member);
    if (!found)
      continue;
    if (name && name != found)
      return std::nullopt;
    name = found;
  }
  if (!name)
    return std::nullopt;
  return PlaceAttr::get(step.getContext(), PlaceKind::Named, name, 0);
}

LogicalResult Placer::assign(int64_t maxBytes) {
  MLIRContext *context = step.getContext();
  auto arena = StringAttr::get(context, "buckets");
  for (auto &[number, shared] : classes) {
    if (std::optional<PlaceAttr> named = namedPlaceOf(shared)) {
      for (Value member : shared.members)
        places[member] = *named;
      continue;
    }
    for (Value member : shared.members) {
      int64_t offset =
          arenaBytes + aliases.offsetOf(numbers[member]) - shared.begin;
      places[member] = PlaceAttr::get(context, PlaceKind::Arena, arena, offset);
    }
    int64_t bytes = shared.end - shared.begin;
    arenaBytes += arenaAligned(bytes);
    ++classesInArena;
  }
  if (maxBytes > 0 && arenaBytes > maxBytes)
    return step.emitError() << "expected at most " << maxBytes
                            << " bytes of runtime memory, found " << arenaBytes
                            << ", " << arenaBytes - maxBytes << " too many";
  return success();
}

void Placer::writePlaces() {
  MLIRContext *context = step.getContext();
  auto program = PlaceAttr::get(context, PlaceKind::Program,
                                StringAttr::get(context, "program"), 0);
  for (Operation *op : block) {
    SmallVector<Attribute> list;
    for (Value result : op->getResults())
      list.push_back(isTouched(result) ? places[result] : program);
    cast<StepOpInterface>(op).setPlacesAttr(ArrayAttr::get(context, list));
  }
  SmallVector<Attribute> arguments;
  for (BlockArgument argument : step.getBody().getArguments()) {
    ArgumentAttr info = step.getArgument(argument.getArgNumber());
    if (isTouched(argument))
      info = info.at(places[argument]);
    arguments.push_back(info);
  }
  step.setArgumentsAttr(ArrayAttr::get(context, arguments));
}

/// Gives names to values that the program takes back, unless their place is
/// that of a named tensor. Within the step a state's name does not do, because
/// by that name the program takes back what the step found.
LogicalResult Placer::nameTakenBack() {
  // Class, offset and bytes of named tensors; arguments apart.
  using Bytes = std::tuple<int32_t, int64_t, int64_t>;
  llvm::DenseSet<Bytes> named, namedState;
  auto bytesAt = [&](int32_t number) {
    return Bytes(aliases.classOf(number), aliases.offsetOf(number),
                 sizes[number]);
  };
  for (auto &[value, number] : numbers)
    if (nameOf(step, value))
      (isa<BlockArgument>(value) ? namedState : named).insert(bytesAt(number));
  for (auto &[value, number] : numbers) {
    Operation *maker = value.getDefiningOp();
    if (!maker || isa<ComputeOp>(maker))
      continue;
    bool isUsed = llvm::any_of(value.getUsers(), llvm::IsaPred<ComputeOp>);
    bool crosses =
        isUsed || llvm::any_of(value.getUsers(), llvm::IsaPred<YieldOp>);
    bool hasName = named.contains(bytesAt(number)) ||
                   (!isUsed && namedState.contains(bytesAt(number)));
    if (!crosses || hasName)
      continue;
    if (!names.nameValue(value))
      return maker->emitOpError("makes a value for the program that can't be "
                                "given a name");
    named.insert(bytesAt(number));
  }
  return success();
}

LogicalResult Placer::run(int64_t maxBytes) {
  if (failed(nameCrossing()))
    return failure();
  collect();
  tieAll();
  tieState();
  gather();
  if (failed(nameTakenBack()) || failed(assign(maxBytes)))
    return failure();
  writePlaces();
  return success();
}

llvm::json::Object Placer::describe() const {
  return llvm::json::Object{
      {"arena_bytes", arenaBytes},
      {"in_arena", classesInArena},
      {"in_program_tensors",
       static_cast<int64_t>(classes.size()) - classesInArena}};
}

namespace {
struct PlacePass : public bagua::impl::PlacePassBase<PlacePass> {
  using PlacePassBase::PlacePassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    if (!step.isScheduled()) {
      step.emitError("expected a scheduled step, found one without streams");
      return signalPassFailure();
    }
    Placer placer(step);
    if (failed(placer.run(maxBytes)))
      return signalPassFailure();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(), placer.describe());
  }
};
} // namespace
