//===- ScheduleOracle.cpp - A scheduled step, executed on bytes -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A task is one op of one copy of the step. Every byte of every value has a
// symbol; what an op makes is a hash of all that it reads.
//
//===----------------------------------------------------------------------===//
#include "ScheduleOracle.h"

#include "Ranks.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <set>

using namespace mlir;
using namespace bagua;
using namespace bagua::proofs;

namespace {
/// A memory by its kind and name, and the first byte in it.
struct Spot {
  std::string memory;
  int64_t begin;
};

/// The value of each byte.
using Symbols = std::vector<uint64_t>;

/// One op in one copy.
struct Task {
  Operation *op;
  int copy;
};

/// A byte of a memory.
using Address = std::pair<std::string, int64_t>;

struct Use {
  bool reads = false, writes = false;
};

class ScheduleOracle {
public:
  ScheduleOracle(StepOp step, Random &random)
      : step(step), random(random), ranks(step.lookupCluster()) {}

  std::optional<std::string> run();

private:
  int64_t bytesOf(Value value);
  void findHomes();
  void locate();
  std::optional<Spot> locationOf(PlaceAttr place);
  Value sourceOf(Value operand, int copy);
  void unroll();
  bool waitsInACircle();
  bool overwritesItself(Operation *op);
  std::vector<std::pair<Address, Address>> copiesOf(Operation *op);
  std::map<Address, Use> usesOf(Operation *op);
  std::optional<std::string> findConflict();
  Symbols idealOf(Value value, int copy);
  void makeIdeals();
  std::vector<size_t> extend();
  bool execute(const std::vector<size_t> &order);

  StepOp step;
  Random &random;
  Ranks ranks;
  std::vector<Operation *> ops;
  std::vector<Task> tasks;
  /// before[i][j]: task j ends before task i starts.
  std::vector<llvm::BitVector> before;
  std::map<std::pair<Operation *, int>, size_t> numbers;
  llvm::DenseMap<Value, std::optional<Spot>> locations;
  /// Where the named tensors lie that lie in arenas.
  std::map<std::string, Spot> homes;
  std::map<std::pair<void *, int>, Symbols> ideals;
};
} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Of the largest part that a rank or a server stores. What is spread over
/// servers is cut as over ranks.
int64_t ScheduleOracle::bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t largest = 0;
  for (size_t rank = 0; rank < ranks.count(); ++rank)
    if (auto range =
            ranks.rangeOf(rank, type.getNumElements(), getLayout(type)))
      largest = std::max(largest, range->second - range->first);
  if (LayoutAttr layout = getLayout(type))
    for (const LayoutEntry &entry : layout.getEntries())
      if (entry.kind == LayoutEntry::Kind::Server &&
          entry.server == LayoutEntry::kAllServers) {
        int64_t servers = step.lookupCluster().getServerCount();
        largest = (largest + servers - 1) / servers;
      }
  return largest * ((type.getElementTypeBitWidth() + 7) / 8);
}

std::optional<Spot> ScheduleOracle::locationOf(PlaceAttr place) {
  switch (place.getKind()) {
  case PlaceKind::Program:
    return std::nullopt;
  case PlaceKind::Named: {
    auto home = homes.find(place.getName().str());
    return home != homes.end()
               ? home->second
               : Spot{"tensor " + place.getName().str(), place.getOffset()};
  }
  case PlaceKind::Arena:
    return Spot{"arena " + place.getName().str(), place.getOffset()};
  }
  llvm_unreachable("all places are handled");
}

void ScheduleOracle::findHomes() {
  auto add = [&](StringAttr name, PlaceAttr place) {
    if (name && place && place.getKind() == PlaceKind::Arena)
      homes[name.str()] = *locationOf(place);
  };
  for (Attribute attribute : step.getArgumentsAttr()) {
    auto argument = cast<ArgumentAttr>(attribute);
    add(argument.getName(), argument.getPlace());
  }
  for (Operation *op : ops) {
    auto stepOp = cast<StepOpInterface>(op);
    for (unsigned index = 0; index < op->getNumResults(); ++index)
      add(stepOp.getResultName(index),
          cast<PlaceAttr>(stepOp.getPlacesAttr()[index]));
  }
}

void ScheduleOracle::locate() {
  findHomes();
  std::set<std::string> mentioned;
  for (Operation *op : ops)
    for (auto [index, result] : llvm::enumerate(op->getResults())) {
      auto place =
          cast<PlaceAttr>(cast<StepOpInterface>(op).getPlacesAttr()[index]);
      locations[result] = locationOf(place);
      if (locations[result])
        mentioned.insert(locations[result]->memory);
    }
  llvm::DenseMap<unsigned, Value> next;
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    next[index] = value;
  for (BlockArgument argument : step.getBody().getArguments()) {
    ArgumentAttr info = step.getArgument(argument.getArgNumber());
    std::optional<Spot> &location = locations[argument];
    Spot own{"tensor " + info.getName().str(), 0};
    bool isTouched = llvm::any_of(argument.getUsers(), [](Operation *user) {
      return !isa<YieldOp, ComputeOp>(user);
    });
    if (info.getPlace())
      location = locationOf(info.getPlace());
    else if (isTouched || mentioned.count(own.memory))
      location = own;
    else if (Value left = next.lookup(argument.getArgNumber());
             left && left != argument)
      location = locations.lookup(left);
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// What a state argument of the second copy was in the first.
Value ScheduleOracle::sourceOf(Value operand, int copy) {
  if (!isa<BlockArgument>(operand) || copy == 0)
    return operand;
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (step.getBody().getArgument(index) == operand)
      return value;
  return operand;
}

static bool isLate(Operation *op) {
  auto compute = dyn_cast<ComputeOp>(op);
  return compute && compute.getLate();
}

void ScheduleOracle::unroll() {
  for (int copy = 0; copy < 2; ++copy)
    for (Operation *op : ops) {
      numbers[{op, copy}] = tasks.size();
      tasks.push_back({op, copy});
    }
  before.assign(tasks.size(), llvm::BitVector(tasks.size()));
  for (size_t i = 0; i < tasks.size(); ++i) {
    auto [op, copy] = tasks[i];
    for (Value operand : op->getOperands()) {
      Value source = sourceOf(operand, copy);
      int from = source == operand ? copy : copy - 1;
      if (Operation *maker = source.getDefiningOp())
        before[i].set(numbers[{maker, from}]);
    }
    // The last task before it on the same side of the same stream.
    auto own = cast<StepOpInterface>(op);
    for (size_t j = i; j-- > 0;) {
      auto other = cast<StepOpInterface>(tasks[j].op);
      if (own.getStreamAttr() != other.getStreamAttr() ||
          own.isRunByProgram() != other.isRunByProgram())
        continue;
      before[i].set(j);
      break;
    }
    // The program runs it in its next step.
    for (size_t j = 0; isLate(op) && j < tasks.size(); ++j)
      if (tasks[j].copy == copy && isa<ComputeOp>(tasks[j].op) &&
          !isLate(tasks[j].op))
        before[i].set(j);
  }
}

/// Adds what follows from an order.
static void close(std::vector<llvm::BitVector> &before) {
  for (size_t k = 0; k < before.size(); ++k)
    for (size_t i = 0; i < before.size(); ++i)
      if (before[i].test(k))
        before[i] |= before[k];
}

/// The program runs its ops one after the other. Before one that uses what the
/// runtime has made, it waits until nothing of the runtime's in this step has
/// to do with any of those bytes.
bool ScheduleOracle::waitsInACircle() {
  std::vector<llvm::BitVector> waits = before;
  auto addressesOf = [&](Value value) {
    std::set<Address> addresses;
    if (const std::optional<Spot> &at = locations[value])
      for (int64_t i = 0; i < bytesOf(value); ++i)
        addresses.insert({at->memory, at->begin + i});
    return addresses;
  };
  auto touches = [&](Operation *op, const std::set<Address> &addresses) {
    // What an `after` only waits for it doesn't touch.
    auto operands = op->getOperands();
    if (isa<AfterOp>(op))
      operands = operands.take_front(1);
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(operands),
                             llvm::to_vector_of<Value>(op->getResults())))
      for (const Address &address : addressesOf(value))
        if (addresses.count(address))
          return true;
    return false;
  };
  for (size_t i = 0; i < tasks.size(); ++i) {
    auto [op, copy] = tasks[i];
    if (!isa<ComputeOp>(op))
      continue;
    for (size_t j = 0; j < i; ++j)
      if (isa<ComputeOp>(tasks[j].op) && !isLate(op) && !isLate(tasks[j].op))
        waits[i].set(j);
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || isa<ComputeOp>(maker))
        continue;
      std::set<Address> taken = addressesOf(operand);
      for (size_t j = 0; j < tasks.size(); ++j)
        if (tasks[j].copy == copy && !isa<ComputeOp>(tasks[j].op) &&
            touches(tasks[j].op, taken))
          waits[i].set(j);
    }
  }
  close(waits);
  for (size_t i = 0; i < tasks.size(); ++i)
    if (waits[i].test(i))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Source and destination of each byte that a rearrangement moves or keeps;
/// none for ops that make new bytes.
std::vector<std::pair<Address, Address>>
ScheduleOracle::copiesOf(Operation *op) {
  std::vector<std::pair<Address, Address>> copies;
  auto lay = [&](ValueRange pieces, Value whole, bool intoWhole) {
    int64_t position = 0;
    for (Value piece : pieces)
      for (int64_t i = 0; i < bytesOf(piece); ++i, ++position) {
        Address a{locations[piece]->memory, locations[piece]->begin + i};
        Address b{locations[whole]->memory, locations[whole]->begin + position};
        copies.emplace_back(intoWhole ? a : b, intoWhole ? b : a);
      }
  };
  if (auto concat = dyn_cast<ConcatOp>(op); concat && !concat.getStriped())
    lay(concat.getInputs(), concat.getOutput(), true);
  else if (auto split = dyn_cast<SplitOp>(op); split && !split.getStriped())
    lay(split.getOutputs(), split.getInput(), false);
  else if (auto after = dyn_cast<AfterOp>(op))
    lay(ValueRange(after.getInput()), after.getOutput(), true);
  return copies;
}

/// Bytes that stay where they are are not accessed.
std::map<Address, Use> ScheduleOracle::usesOf(Operation *op) {
  std::map<Address, Use> uses;
  if (isa<AfterOp>(op))
    return uses; // it only waits
  auto copies = copiesOf(op);
  for (auto &[from, to] : copies)
    if (from != to) {
      uses[from].reads = true;
      uses[to].writes = true;
    }
  if (!copies.empty())
    return uses;
  auto use = [&](Value value, bool writes) {
    if (const std::optional<Spot> &at = locations[value])
      for (int64_t i = 0; i < bytesOf(value); ++i) {
        Use &found = uses[{at->memory, at->begin + i}];
        (writes ? found.writes : found.reads) = true;
      }
  };
  for (Value operand : op->getOperands())
    use(operand, false);
  for (Value result : op->getResults())
    use(result, true);
  return uses;
}

/// Whether an op may write a byte before it has read it. Where each element is
/// made of the elements beside it, the same place is safe.
bool ScheduleOracle::overwritesItself(Operation *op) {
  if (isa<ComputeOp, AfterOp>(op))
    return false; // the program's own business; nothing
  auto copies = copiesOf(op);
  std::map<Address, Address> sources;
  std::set<Address> targets;
  for (auto &[from, to] : copies) {
    sources[from] = to;
    if (!targets.insert(to).second)
      return true;
  }
  for (auto &[from, to] : copies)
    if (auto found = sources.find(to);
        from != to && found != sources.end() && found->second != to)
      return true;
  if (!copies.empty())
    return false;
  std::map<Address, std::set<int64_t>> read;
  for (Value operand : op->getOperands())
    if (const auto &at = locations[operand])
      for (int64_t i = 0; i < bytesOf(operand); ++i)
        read[{at->memory, at->begin + i}].insert(i);
  bool isElementwise = isa<AllReduceOp, ReduceOp, BroadcastOp, CastOp, LinearOp,
                           SgdOp, AdamOp, AdamApplyOp>(op);
  for (Value result : op->getResults())
    if (const auto &at = locations[result])
      for (int64_t i = 0; i < bytesOf(result); ++i) {
        Address address{at->memory, at->begin + i};
        if (!targets.insert(address).second)
          return true;
        auto found = read.find(address);
        if (found != read.end() &&
            (!isElementwise || found->second != std::set<int64_t>{i}))
          return true;
      }
  return false;
}

std::optional<std::string> ScheduleOracle::findConflict() {
  std::map<Address, std::vector<std::pair<size_t, Use>>> history;
  for (size_t i = 0; i < tasks.size(); ++i)
    for (auto &[address, use] : usesOf(tasks[i].op)) {
      auto &earlier = history[address];
      for (auto &[j, other] : earlier)
        if ((use.writes || other.writes) && !before[i].test(j) &&
            !before[j].test(i))
          return tasks[i].op->getName().getStringRef().str() +
                 " races for a byte of " + address.first;
      earlier.emplace_back(i, use);
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

Symbols ScheduleOracle::idealOf(Value value, int copy) {
  Value source = sourceOf(value, copy);
  int from = source == value ? copy : copy - 1;
  if (auto found = ideals.find({source.getAsOpaquePointer(), from});
      found != ideals.end())
    return found->second;
  // An argument that nothing has made yet, or that is bound anew.
  Symbols symbols;
  auto argument = cast<BlockArgument>(source);
  bool isState = step.getArgument(argument.getArgNumber()).isState();
  for (int64_t i = 0; i < bytesOf(source); ++i)
    symbols.push_back(
        mix(mix(argument.getArgNumber() + 1, isState ? 0 : from), i));
  return symbols;
}

/// What every value would be if each had memory of its own.
void ScheduleOracle::makeIdeals() {
  for (auto [op, copy] : tasks) {
    Symbols all;
    uint64_t key = mix(numbers[{op, 0}], 77);
    for (Value operand : op->getOperands())
      for (uint64_t symbol : idealOf(operand, copy)) {
        all.push_back(symbol);
        key = mix(key, symbol);
      }
    bool copies = !copiesOf(op).empty();
    size_t position = 0;
    for (OpResult result : op->getResults()) {
      Symbols &made = ideals[{result.getAsOpaquePointer(), copy}];
      for (int64_t i = 0; i < bytesOf(result); ++i)
        made.push_back(copies ? all[position++]
                              : mix(mix(key, result.getResultNumber()), i));
    }
  }
}

/// A random order that keeps `before`.
std::vector<size_t> ScheduleOracle::extend() {
  std::vector<size_t> order;
  llvm::BitVector done(tasks.size());
  while (order.size() < tasks.size()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < tasks.size(); ++i)
      if (!done.test(i) && !before[i].test(done))
        ready.push_back(i); // all that is before it is done
    size_t next = random.pick(ready);
    done.set(next);
    order.push_back(next);
  }
  return order;
}

/// Whether every read finds its operand.
bool ScheduleOracle::execute(const std::vector<size_t> &order) {
  std::map<Address, uint64_t> memory;
  auto write = [&](Value value, const Symbols &symbols) {
    if (const auto &at = locations[value])
      for (size_t i = 0; i < symbols.size(); ++i)
        memory[{at->memory, at->begin + static_cast<int64_t>(i)}] = symbols[i];
  };
  auto isState = [&](BlockArgument argument) {
    return step.getArgument(argument.getArgNumber()).isState();
  };
  for (BlockArgument argument : step.getBody().getArguments())
    if (isState(argument))
      write(argument, idealOf(argument, 0));
  for (size_t task : order) {
    auto [op, copy] = tasks[task];
    if (isa<AfterOp>(op))
      continue; // its result is what lies there
    for (Value operand : op->getOperands()) {
      const auto &at = locations[operand];
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!at || (argument && !isState(argument)))
        continue; // the program binds it where it likes, each step
      Symbols wanted = idealOf(operand, copy);
      for (size_t i = 0; i < wanted.size(); ++i) {
        auto found = memory.find({at->memory, at->begin + int64_t(i)});
        if (found == memory.end() || found->second != wanted[i])
          return false;
      }
    }
    for (Value result : op->getResults())
      write(result, ideals[{result.getAsOpaquePointer(), copy}]);
  }
  // The state is where the next step looks for it.
  for (auto [value, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    const auto &at = locations[step.getBody().getArgument(index)];
    Symbols wanted = idealOf(value, 1);
    for (size_t i = 0; at && i < wanted.size(); ++i)
      if (memory[{at->memory, at->begin + static_cast<int64_t>(i)}] !=
          wanted[i])
        return false;
  }
  return true;
}

std::optional<std::string> ScheduleOracle::run() {
  for (Operation &op : step.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (!cast<StepOpInterface>(op).getPlacesAttr() ||
        !cast<StepOpInterface>(op).getStreamAttr())
      return op->getName().getStringRef().str() + " has no place or stream";
  locate();
  for (Operation *op : ops)
    if (!isa<ComputeOp>(op))
      for (Value value :
           llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                               llvm::to_vector_of<Value>(op->getResults())))
        if (!locations[value] && !isa<AfterOp>(op))
          return op->getName().getStringRef().str() +
                 " uses memory that the runtime can't reach";
  if (llvm::any_of(ops, [&](Operation *op) {
        return isa<AfterOp>(op) &&
               (!locations[op->getOperand(0)] || !locations[op->getResult(0)]);
      }))
    return "after moves memory that the runtime can't reach";
  unroll();
  if (waitsInACircle())
    return "a circular wait";
  close(before);
  for (Operation *op : ops)
    if (overwritesItself(op))
      return op->getName().getStringRef().str() + " overwrites what it reads";
  if (auto conflict = findConflict())
    return conflict;
  makeIdeals();
  for (int trial = 0; trial < 3; ++trial)
    if (!execute(extend()))
      return "a read finds other bytes";
  return std::nullopt;
}

std::optional<std::string> bagua::proofs::findScheduleFault(StepOp step,
                                                            Random &random) {
  return ScheduleOracle(step, random).run();
}
