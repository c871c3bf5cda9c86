//===- VerifySchedule.cpp - bagua-verify-schedule -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First, on one step: there is no circle of ops that wait for each other. Then
// two proofs on two unrolled steps. Every two conflicting accesses are ordered
// (Scheduling's HappensBefore), so all executions have the same results. It is
// then enough to play one execution, in block order, and to see that every read
// finds the bytes of the value that it means.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Scheduling/Prices/LateOps.h"
#include "bagua/Scheduling/Proof/ByteUsers.h"
#include "bagua/Scheduling/Proof/CircularWait.h"
#include "bagua/Scheduling/Proof/HappensBefore.h"
#include "bagua/Transforms/Bridge/OpGraphReader.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/MemoryContents.h"
#include "bagua/Transforms/Utils/NamedPlaces.h"
#include "bagua/Transforms/Utils/Names.h"
#include "bagua/Transforms/Utils/Report.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace bagua {
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
/// The bytes of a value in one memory, or in none if the runtime never sees the
/// value.
struct ByteRange {
  int32_t memory = -1;
  int64_t begin = 0;
  int64_t end = 0;

  bool isSeen() const { return memory >= 0; }
  bool overlaps(const ByteRange &other) const {
    return isSeen() && memory == other.memory &&
           std::max(begin, other.begin) < std::min(end, other.end);
  }
  friend bool operator==(const ByteRange &a, const ByteRange &b) {
    return a.memory == b.memory && a.begin == b.begin && a.end == b.end;
  }
};

class ScheduleVerifier {
public:
  explicit ScheduleVerifier(StepOp step)
      : step(step), cluster(step.lookupCluster()), block(step) {}

  LogicalResult run();

private:
  LogicalResult readStreams();
  LogicalResult readLate();
  int32_t streamOf(Operation *op);
  LogicalResult readPlaces();
  void readStatePlaces();
  ByteRange rangeAt(PlaceAttr place, Value value);
  LogicalResult verifyState();
  bool isGathered(const BucketView &bucket);
  bool areShared(ValueRange values);
  LogicalResult verifyInPlace(Operation *op);
  void addCopy(int32_t copy);
  void addAccesses(int32_t task, Operation *op);
  bool movesNothing(Operation *op);
  ByteUsers findRuntimeUsers();
  std::vector<std::vector<int32_t>> findWaits();
  LogicalResult verifyWaits();
  LogicalResult verifyOrder();
  LogicalResult verifyContents();
  LogicalResult replay(Operation *op, MemoryContents &contents);
  LogicalResult replayYield(MemoryContents &contents);

  int64_t bytesOf(Value value);
  ByteRange rangeOf(Value value) { return ranges.lookup(value); }
  int32_t memoryOf(PlaceAttr place);

  StepOp step;
  ClusterOp cluster;
  BlockOrder block;
  /// By op: the op of the next step right before which it runs; -1 if it isn't
  /// late.
  std::vector<int32_t> lateBefore;
  OrderingProblem problem;
  NamedPlaces named;
  llvm::DenseMap<StringAttr, int32_t> streamNumbers;
  /// Arenas and named tensors, by a key that keeps them apart.
  llvm::MapVector<std::pair<int, StringAttr>, int32_t> memories;
  llvm::DenseMap<Value, ByteRange> ranges;
};
} // namespace

/// The operands whose bytes an op reads.
static OperandRange usedOperands(Operation *op) {
  return op->getOperands().take_front(cast<StepOpInterface>(op).getReadCount());
}

/// A bucket in which the tensors lie one after the other; nothing for another
/// op.
static std::optional<BucketView> plainBucketOf(Operation *op) {
  std::optional<BucketView> bucket = cast<StepOpInterface>(op).getBucket();
  return bucket && !bucket->striped ? bucket : std::nullopt;
}

int64_t ScheduleVerifier::bytesOf(Value value) {
  return maxLocalBytes(value.getType(), cluster);
}

int32_t ScheduleVerifier::memoryOf(PlaceAttr place) {
  auto key = std::make_pair(int(place.getKind()), place.getName());
  return memories.insert({key, int32_t(memories.size())}).first->second;
}

LogicalResult ScheduleVerifier::readStreams() {
  for (Attribute name : step.getStreamsAttr())
    streamNumbers.try_emplace(cast<StringAttr>(name), streamNumbers.size());
  for (Operation *op : block) {
    StringAttr stream = cast<StepOpInterface>(op).getStreamAttr();
    if (!stream)
      return op->emitOpError("expected a stream in a scheduled step");
    if (!streamNumbers.count(stream))
      return op->emitOpError() << "is on stream '" << stream.getValue()
                               << "', which the step doesn't have";
  }
  return success();
}

/// Checks that late ops have a stream of their own and come last.
LogicalResult ScheduleVerifier::readLate() {
  lateBefore = findLateOps(readDataFlow(step));
  auto isLate = [](Operation *op) {
    auto compute = dyn_cast<ComputeOp>(op);
    return compute && compute.getLate();
  };
  llvm::DenseSet<int32_t> streamsInTime;
  for (Operation *op : block)
    if (!isLate(op))
      streamsInTime.insert(streamOf(op));
  int32_t lastBefore = -1;
  for (auto [index, op] : llvm::enumerate(block)) {
    if (lastBefore >= 0 && !isLate(op))
      return op->emitOpError("expected this op before all late ops, found it "
                             "behind a late op");
    if (!isLate(op))
      continue;
    if (lateBefore[index] < 0)
      return op->emitOpError(
          "can't run late: expected an op that waits for communication, and "
          "whose results are only states that the next step's compute reads, "
          "or operands of late ops");
    if (streamsInTime.contains(streamOf(op)))
      return op->emitOpError()
             << "is late, but on stream '"
             << cast<StepOpInterface>(op).getStreamAttr().getValue()
             << "', which has an op that is not late";
    if (lateBefore[index] < lastBefore)
      return op->emitOpError("expected late ops in the order in which the next "
                             "step runs them, found one behind another that "
                             "runs later");
    lastBefore = lateBefore[index];
  }
  return success();
}

/// Program and runtime share no host stream: on streams of the same name, each
/// side keeps only its own order.
int32_t ScheduleVerifier::streamOf(Operation *op) {
  auto stepOp = cast<StepOpInterface>(op);
  return 2 * streamNumbers.lookup(stepOp.getStreamAttr()) +
         stepOp.isRunByProgram();
}

ByteRange ScheduleVerifier::rangeAt(PlaceAttr place, Value value) {
  place = named.resolve(place);
  if (!place || place.getKind() == PlaceKind::Program)
    return ByteRange();
  return ByteRange{memoryOf(place), place.getOffset(),
                   place.getOffset() + bytesOf(value)};
}

/// Gives places to arguments without one. If the runtime or a place refers to
/// the argument's name, the argument lies in the program's tensor of that name;
/// otherwise a state lies where the step left it.
void ScheduleVerifier::readStatePlaces() {
  auto isTouched = [](BlockArgument argument) {
    return llvm::any_of(argument.getUsers(), [](Operation *user) {
      auto stepOp = dyn_cast<StepOpInterface>(user);
      return stepOp && !stepOp.isRunByProgram();
    });
  };
  for (BlockArgument argument : step.getBody().getArguments()) {
    ArgumentAttr info = step.getArgument(argument.getArgNumber());
    auto own =
        PlaceAttr::get(step.getContext(), PlaceKind::Named, info.getName(), 0);
    auto key = std::make_pair(int(PlaceKind::Named), info.getName());
    if (!info.getPlace() && (isTouched(argument) || memories.count(key)))
      ranges[argument] = rangeAt(own, argument);
  }
  // If one value becomes several states, the program keeps all but the first
  // elsewhere.
  llvm::DenseSet<Value> isLeft;
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    BlockArgument argument = step.getBody().getArgument(index);
    if (!step.getArgument(index).getPlace() && !rangeOf(argument).isSeen() &&
        isLeft.insert(value).second)
      ranges[argument] = rangeOf(value);
  }
}

LogicalResult ScheduleVerifier::readPlaces() {
  for (Operation *op : block)
    if (!cast<StepOpInterface>(op).getPlacesAttr())
      return op->emitOpError("expected places in a scheduled step");
  if (failed(named.read(step)))
    return failure();
  for (BlockArgument argument : step.getBody().getArguments())
    ranges[argument] =
        rangeAt(step.getArgument(argument.getArgNumber()).getPlace(), argument);
  for (Operation *op : block)
    for (auto [place, result] : llvm::zip_equal(
             cast<StepOpInterface>(op).getPlacesAttr(), op->getResults()))
      ranges[result] = rangeAt(cast<PlaceAttr>(place), result);
  readStatePlaces();
  // The runtime must be able to reach the operands and results of its ops.
  for (Operation *op : block) {
    if (cast<StepOpInterface>(op).isRunByProgram())
      continue;
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(usedOperands(op)),
                             llvm::to_vector_of<Value>(op->getResults())))
      if (!rangeOf(value).isSeen())
        return op->emitOpError("has an operand or result in memory that the "
                               "runtime never sees");
  }
  return success();
}

/// Checks that a state that the runtime sees has the same place in each step.
LogicalResult ScheduleVerifier::verifyState() {
  YieldOp yield = step.getYield();
  for (auto [value, index] :
       llvm::zip_equal(yield.getValues(), step.getStateArguments())) {
    ByteRange declared = rangeOf(step.getBody().getArgument(index));
    if (declared.isSeen() && !(rangeOf(value) == declared))
      return yield.emitOpError()
             << "yields state '" << step.getArgument(index).getName().getValue()
             << "' in another place than its argument's";
  }
  return success();
}

/// Whether an op's result is its operands' bytes, in the same place.
bool ScheduleVerifier::movesNothing(Operation *op) {
  if (cast<StepOpInterface>(op).isFree())
    return true;
  std::optional<BucketView> bucket = plainBucketOf(op);
  if (!bucket)
    return false;
  ByteRange at = rangeOf(bucket->whole);
  for (Value tensor : bucket->tensors) {
    at.end = at.begin + bytesOf(tensor);
    if (!(rangeOf(tensor) == at))
      return false;
    at.begin = at.end;
  }
  return true;
}

/// Whether a bucket's tensors lie at their places in the bucket, or apart from
/// all of it. In a whole striped bucket no tensor's elements lie together.
bool ScheduleVerifier::isGathered(const BucketView &bucket) {
  bool isScattered = bucket.striped &&
                     !getLayout(cast<RankedTensorType>(bucket.whole.getType()));
  ByteRange whole = rangeOf(bucket.whole), at = whole;
  for (Value tensor : bucket.tensors) {
    at.end = at.begin + bytesOf(tensor);
    ByteRange range = rangeOf(tensor);
    if (range.overlaps(whole) && (isScattered || !(range == at)))
      return false;
    at.begin = at.end;
  }
  return true;
}

/// Whether two of the values have bytes in common. O(n log n).
bool ScheduleVerifier::areShared(ValueRange values) {
  SmallVector<ByteRange> seen;
  for (Value value : values)
    if (ByteRange range = rangeOf(value); range.begin < range.end)
      seen.push_back(range);
  llvm::sort(seen, [](const ByteRange &a, const ByteRange &b) {
    return std::tie(a.memory, a.begin) < std::tie(b.memory, b.begin);
  });
  return std::adjacent_find(seen.begin(), seen.end(),
                            [](const ByteRange &a, const ByteRange &b) {
                              return a.overlaps(b);
                            }) != seen.end();
}

/// An op writes while it reads. So this checks that results lie apart from each
/// other, and from the operands unless the op works element by element and a
/// result has exactly an operand's bytes.
LogicalResult ScheduleVerifier::verifyInPlace(Operation *op) {
  auto stepOp = cast<StepOpInterface>(op);
  if (stepOp.isRunByProgram())
    return success();
  if (stepOp.isFree()) {
    if (rangeOf(op->getResult(0)) == rangeOf(op->getOperand(0)))
      return success();
    return op->emitOpError("moves nothing, so it expects its result in its "
                           "operand's place, found it in another");
  }
  std::optional<BucketView> bucket = stepOp.getBucket();
  bool isGood = !bucket || isGathered(*bucket);
  if (areShared(op->getResults()))
    return op->emitOpError("has two results in the same bytes");
  if (!bucket)
    for (Value result : op->getResults())
      for (Value operand : op->getOperands())
        isGood &=
            !rangeOf(result).overlaps(rangeOf(operand)) ||
            (stepOp.isElementwise() && rangeOf(result) == rangeOf(operand));
  if (!isGood)
    return op->emitOpError(
        "has a result that overlaps an operand other than in place");
  return success();
}

void ScheduleVerifier::addAccesses(int32_t task, Operation *op) {
  if (movesNothing(op))
    return;
  auto add = [&](Value value, bool writes) {
    ByteRange range = rangeOf(value);
    if (range.isSeen())
      problem.accesses.push_back(
          {task, range.memory, range.begin, range.end, writes});
  };
  for (Value operand : usedOperands(op))
    add(operand, false);
  for (Value result : op->getResults())
    add(result, true);
}

ByteUsers ScheduleVerifier::findRuntimeUsers() {
  ByteUsers users;
  for (auto [index, op] : llvm::enumerate(block)) {
    if (cast<StepOpInterface>(op).isRunByProgram())
      continue;
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(usedOperands(op)),
                             llvm::to_vector_of<Value>(op->getResults()))) {
      ByteRange range = rangeOf(value);
      users.add(range.memory, range.begin, range.end,
                static_cast<int32_t>(index));
    }
  }
  return users;
}

/// The ops that each op waits for: its operands, and the op before it on its
/// stream. If the program takes back a result of the runtime, it also waits for
/// all ops of the runtime that touch those bytes, including ops behind it in
/// the block. (A late op takes back results of the step before, and so waits
/// for nothing of this one.)
std::vector<std::vector<int32_t>> ScheduleVerifier::findWaits() {
  ByteUsers users = findRuntimeUsers();
  std::vector<std::vector<int32_t>> waits(block.size());
  // The last op of each of the runtime's streams, and of the program, which
  // runs its ops one after the other.
  llvm::DenseMap<int32_t, int32_t> lastOf;
  for (auto [index, op] : llvm::enumerate(block)) {
    bool isProgram = cast<StepOpInterface>(op).isRunByProgram();
    if (lateBefore[index] >= 0)
      continue; // late: waits for the step before
    auto task = static_cast<int32_t>(index);
    auto [last, isFirst] =
        lastOf.try_emplace(isProgram ? -1 : streamOf(op), task);
    if (!isFirst)
      waits[task].push_back(std::exchange(last->second, task));
    for (Value operand : op->getOperands()) {
      std::optional<size_t> from = block.definitionOf(operand);
      if (!from)
        continue;
      waits[task].push_back(static_cast<int32_t>(*from));
      ByteRange range = rangeOf(operand);
      if (isProgram && range.isSeen() &&
          !cast<StepOpInterface>(block[*from]).isRunByProgram())
        llvm::append_range(waits[task],
                           users.find(range.memory, range.begin, range.end));
    }
  }
  return waits;
}

LogicalResult ScheduleVerifier::verifyWaits() {
  std::vector<int32_t> circle = findCircularWait(findWaits());
  for (auto [index, task] : llvm::enumerate(circle)) {
    int32_t awaited = circle[(index + 1) % circle.size()];
    if (awaited < task)
      continue;
    InFlightDiagnostic diagnostic =
        block[task]->emitOpError()
        << "takes back a value that a later op still uses, and that op waits "
           "for the program: a deadlock";
    diagnostic.attachNote(block[awaited]->getLoc()) << "this op uses its bytes";
    return diagnostic;
  }
  return success();
}

/// Adds the tasks of one step. A state argument of the second step is the value
/// that the first one yields for it.
void ScheduleVerifier::addCopy(int32_t copy) {
  auto first = static_cast<int32_t>(copy * block.size());
  // Late ops run after all compute of their own step, and before some of the
  // next step's.
  int32_t lastInTime = 0;
  llvm::DenseMap<int32_t, SmallVector<int32_t, 1>> lateOf;
  for (auto [op, before] : llvm::enumerate(lateBefore))
    if (before >= 0)
      lateOf[before].push_back(static_cast<int32_t>(op));
  llvm::DenseMap<Value, Value> yielded;
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    yielded[step.getBody().getArgument(index)] = value;
  for (auto [index, op] : llvm::enumerate(block)) {
    auto task = static_cast<int32_t>(first + index);
    problem.streams.push_back(streamOf(op));
    auto &dependencies = problem.dependencies.emplace_back();
    for (Value operand : op->getOperands()) {
      int32_t base = first;
      if (isa<BlockArgument>(operand)) {
        operand = yielded.lookup(operand);
        base -= block.size();
      }
      if (base < 0 || !operand)
        continue;
      if (std::optional<size_t> from = block.definitionOf(operand))
        dependencies.push_back(static_cast<int32_t>(base + *from));
    }
    if (lateBefore[index] >= 0)
      dependencies.push_back(first + lastInTime);
    else if (isa<ComputeOp>(op))
      lastInTime = static_cast<int32_t>(index);
    if (copy > 0)
      for (int32_t late : lateOf.lookup(static_cast<int32_t>(index)))
        dependencies.push_back(first - static_cast<int32_t>(block.size()) +
                               late);
    addAccesses(task, op);
  }
}

LogicalResult ScheduleVerifier::verifyOrder() {
  problem.streamCount = 2 * static_cast<int32_t>(streamNumbers.size());
  addCopy(0);
  addCopy(1);
  if (failed(expectSound(step, problem.check())))
    return failure();
  auto conflicts = findUnorderedConflicts(problem, /*limit=*/1);
  if (conflicts.empty())
    return success();
  auto [i, j] = conflicts.front();
  const MemoryAccess &a = problem.accesses[i], &b = problem.accesses[j];
  Operation *earlier = block[a.task % block.size()];
  Operation *later = block[b.task % block.size()];
  bool crosses = a.task / block.size() != b.task / block.size();
  StringRef memory;
  for (auto &[key, number] : memories)
    if (number == b.memory)
      memory = key.second.getValue();
  InFlightDiagnostic diagnostic =
      later->emitOpError() << (b.writes ? "writes" : "reads") << " bytes "
                           << std::max(a.begin, b.begin) << " to "
                           << std::min(a.end, b.end) << " of '" << memory << "'"
                           << (crosses ? " in the next step" : "")
                           << ", unordered with another op";
  diagnostic.attachNote(earlier->getLoc())
      << "which " << (a.writes ? "writes" : "reads") << " them on stream '"
      << cast<StepOpInterface>(earlier).getStreamAttr().getValue() << "'";
  return diagnostic;
}

LogicalResult ScheduleVerifier::replay(Operation *op,
                                       MemoryContents &contents) {
  for (Value operand : usedOperands(op)) {
    ByteRange range = rangeOf(operand);
    if (!range.isSeen())
      continue;
    if (contents.holds(operand, range.memory, range.begin))
      continue;
    InFlightDiagnostic diagnostic = op->emitOpError()
                                    << "reads a value whose bytes have been "
                                       "overwritten";
    diagnostic.attachNote(operand.getLoc()) << "the value is made here";
    return diagnostic;
  }
  std::optional<BucketView> bucket = plainBucketOf(op);
  if (bucket && bucket->whole.getDefiningOp() == op)
    contents.defineConcat(bucket->whole, bucket->tensors);
  else if (bucket)
    contents.defineSplit(bucket->whole, bucket->tensors,
                         llvm::map_to_vector(bucket->tensors, [&](Value value) {
                           return bytesOf(value);
                         }));
  else
    for (Value result : op->getResults())
      contents.defineFresh(result, bytesOf(result));
  for (Value result : op->getResults())
    if (ByteRange range = rangeOf(result); range.isSeen())
      contents.write(result, range.memory, range.begin);
  return success();
}

/// Checks every state at the end of a step, where the program may read it.
LogicalResult ScheduleVerifier::replayYield(MemoryContents &contents) {
  YieldOp yield = step.getYield();
  for (auto [value, index] :
       llvm::zip_equal(yield.getValues(), step.getStateArguments())) {
    ByteRange range = rangeOf(value);
    if (!range.isSeen() || contents.holds(value, range.memory, range.begin))
      continue;
    InFlightDiagnostic diagnostic =
        yield.emitOpError()
        << "yields state '" << step.getArgument(index).getName().getValue()
        << "', whose bytes have been overwritten";
    diagnostic.attachNote(value.getLoc()) << "the value is made here";
    return diagnostic;
  }
  return success();
}

LogicalResult ScheduleVerifier::verifyContents() {
  MemoryContents contents;
  for (int copy = 0; copy < 2; ++copy) {
    for (BlockArgument argument : step.getBody().getArguments()) {
      ByteRange range = rangeOf(argument);
      ArgumentAttr info = step.getArgument(argument.getArgNumber());
      if (copy == 0 || !info.isState()) {
        contents.defineFresh(argument, bytesOf(argument));
        if (range.isSeen())
          contents.write(argument, range.memory, range.begin);
      }
    }
    for (Operation *op : block)
      if (failed(replay(op, contents)))
        return failure();
    if (failed(replayYield(contents)))
      return failure();
    SmallVector<Value> arguments;
    for (unsigned index : step.getStateArguments())
      arguments.push_back(step.getBody().getArgument(index));
    contents.rename(step.getYield().getValues(), arguments);
  }
  return success();
}

LogicalResult ScheduleVerifier::run() {
  if (failed(readStreams()) || failed(readLate()) || failed(readPlaces()) ||
      failed(verifyState()))
    return failure();
  for (Operation *op : block)
    if (failed(verifyInPlace(op)))
      return failure();
  if (failed(verifyWaits()) || failed(verifyOrder()))
    return failure();
  return verifyContents();
}

namespace {
struct VerifySchedulePass
    : public bagua::impl::VerifySchedulePassBase<VerifySchedulePass> {
  void runOnOperation() override {
    StepOp step = getOperation();
    if (!step.isScheduled()) {
      step.emitError("expected a scheduled step, found one without streams");
      return signalPassFailure();
    }
    if (failed(ScheduleVerifier(step).run()))
      return signalPassFailure();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(), llvm::json::Object{{"proved", true}});
    markAllAnalysesPreserved();
  }
};
} // namespace
