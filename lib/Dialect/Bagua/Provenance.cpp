//===- Provenance.cpp - Which gradient and which state an update uses -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the terms of Meaning.h from each state's next value back to arguments
// and gradients. Compute is opaque: it is only known whether a gradient goes
// into it at all.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Provenance.h"

#include "bagua/Dialect/Bagua/Meaning.h"
#include "bagua/Dialect/Bagua/Sources.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace bagua;

using Kind = MeaningTerm::Kind;

namespace {
/// A source whose elements are used `shift` places further on than where they
/// arrive, and the axes (a bit each) over which they have been reduced on the
/// way.
struct Arrival {
  int32_t term;
  int64_t shift;
  uint64_t axes;

  friend bool operator<(const Arrival &a, const Arrival &b) {
    return std::tie(a.term, a.shift, a.axes) <
           std::tie(b.term, b.shift, b.axes);
  }
};

/// How a source has been reached: only through the states of updates or not,
/// behind an update or not.
struct Way {
  Arrival at;
  bool isState, isUpdated;

  friend bool operator<(const Way &a, const Way &b) {
    return std::tie(a.at, a.isState, a.isUpdated) <
           std::tie(b.at, b.isState, b.isUpdated);
  }
};

/// The sources of some elements of a next value.
struct Sources {
  /// Arguments that are reached through the states of updates.
  std::set<Arrival> states;
  /// Gradients that arrive element by element.
  std::set<Arrival> gradients;
  /// Gradients (by their params' argument numbers) that opaque ops use.
  llvm::BitVector opaque;
  /// Whether the way to the states ends in an opaque op.
  bool isOpaque = false;
  /// Whether an update makes the elements, and whether it updates another
  /// update's result.
  bool isUpdated = false, isUpdatedTwice = false;
};

class ProvenanceVerifier {
public:
  ProvenanceVerifier(StepOp step, const FactContext &context,
                     const MeaningAnalysis &meanings)
      : step(step), context(context), meanings(meanings),
        arguments(step.getBody().getNumArguments()),
        gradients(arguments, nullptr) {
    for (unsigned argument = 0; argument < arguments; ++argument)
      params[step.getArgument(argument).getName()] = argument;
  }

  LogicalResult run();

  /// Must be called before the functions below.
  void collectReaches();
  GradientRuns gradientsIn(Value value);

private:
  std::optional<unsigned> markOf(Value value);
  void collect(const Way &way, SmallVectorImpl<Way> &open, Sources &sources);
  Sources sourcesOf(const MeaningSegment &segment, int64_t position);
  LogicalResult verifyUpdate(Operation *op);
  LogicalResult verifyOperand(ComputeOp op, Value operand);
  LogicalResult verifyState(unsigned argument, Value next);
  LogicalResult verifyIsUpdated(unsigned argument, Value next,
                                const Sources &sources);
  bool mayUse(Value next, unsigned argument, bool orOptimizer);
  LogicalResult verifyIncrement(unsigned argument, const Sources &sources);
  LogicalResult verifyBase(unsigned argument, Value next,
                           const Sources &sources);
  LogicalResult verifyGradient(unsigned argument, const Sources &sources);
  LogicalResult verifyAxes(Operation *op, const Arrival &arrival);

  StringRef nameOf(unsigned argument) {
    return step.getArgument(argument).getName().getValue();
  }

  StepOp step;
  const FactContext &context;
  const MeaningAnalysis &meanings;
  unsigned arguments;
  /// Arguments by name.
  llvm::DenseMap<StringAttr, unsigned> params;
  /// The marked gradient of each param; null if it has none.
  SmallVector<Value> gradients;
  /// The yielded value of each state argument.
  llvm::DenseMap<Value, Value> nextValues;
  /// The next values that updates make of each state.
  llvm::DenseMap<unsigned, SmallVector<Value>> updated;
  /// By op: the gradients on which its results depend, if there are any.
  llvm::DenseMap<Operation *, std::shared_ptr<llvm::BitVector>> reaches;
};
} // namespace

/// The param of a value that is marked as its gradient.
std::optional<unsigned> ProvenanceVerifier::markOf(Value value) {
  StringAttr param = getGradientParam(value);
  return param ? std::optional(params.lookup(param)) : std::nullopt;
}

/// Collects the gradients that each opaque op may use: exactly those of
/// elementwise operands, and all that compute before it used. Sets are shared
/// along chains of compute.
void ProvenanceVerifier::collectReaches() {
  using Reach = std::shared_ptr<llvm::BitVector>;
  for (Operation &op : step.getBody().front().without_terminator()) {
    for (Value result : op.getResults())
      if (std::optional<unsigned> param = markOf(result))
        gradients[*param] = result;
    auto isOpaque = [&](Value result) {
      ArrayRef<MeaningSegment> own = meanings.of(result);
      return !own.empty() &&
             meanings.term(own.front().term).kind == Kind::Opaque;
    };
    if (llvm::none_of(op.getResults(), isOpaque))
      continue; // never asked
    Reach reach;
    auto include = [&](const Reach &other) {
      if (!reach || !reach->test(*other)) {
        reach = other; // `other` includes `reach`
      } else if (other->test(*reach)) {
        reach = std::make_shared<llvm::BitVector>(*reach);
        *reach |= *other;
      }
    };
    for (Value operand : op.getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker)
        continue;
      auto found = reaches.find(maker);
      if (isa<ComputeOp>(maker) && !markOf(operand)) {
        if (found != reaches.end())
          include(found->second);
        continue;
      }
      auto own = std::make_shared<llvm::BitVector>(arguments);
      for (const MeaningSegment &segment : meanings.of(operand)) {
        Sources sources = sourcesOf(segment, 0);
        *own |= sources.opaque;
        for (const Arrival &arrival : sources.gradients)
          own->set(*markOf(meanings.term(arrival.term).value));
      }
      if (own->any())
        include(own);
    }
    if (reach)
      reaches[&op] = reach;
  }
}

/// Records the source at the end of a way, or goes one term further.
void ProvenanceVerifier::collect(const Way &way, SmallVectorImpl<Way> &open,
                                 Sources &sources) {
  const auto &[at, isState, isUpdated] = way;
  const MeaningTerm &term = meanings.term(at.term);
  auto follow = [&, &at = at](const MeaningTerm::Operand &operand,
                              bool staysState, bool becomesUpdated) {
    open.push_back(
        {{operand.term, at.shift + operand.shift, at.axes | term.axes},
         staysState,
         becomesUpdated});
  };
  switch (term.kind) {
  case Kind::Padding:
    return;
  case Kind::Argument:
    if (isState)
      sources.states.insert(at);
    return;
  case Kind::Opaque:
    if (markOf(term.value)) {
      sources.gradients.insert(at);
      return;
    }
    sources.isOpaque |= isState;
    if (auto reach = reaches.find(term.value.getDefiningOp());
        reach != reaches.end())
      sources.opaque |= *reach->second;
    return;
  case Kind::Elementwise:
  case Kind::Reduce:
    for (const MeaningTerm::Operand &operand : term.operands)
      follow(operand, isState, isUpdated);
    return;
  case Kind::Update:
    sources.isUpdated |= isState;
    sources.isUpdatedTwice |= isState && isUpdated;
    // The update's other operands are the next values of other states, or their
    // old ones.
    follow(term.operands[0], isState, true);
    follow(term.operands[1], false, true);
    return;
  }
}

/// The sources of elements from `position` on in a value. Chains are as long as
/// steps, so open ways are kept in a list, not on the stack.
Sources ProvenanceVerifier::sourcesOf(const MeaningSegment &segment,
                                      int64_t position) {
  Sources sources;
  sources.opaque.resize(arguments);
  std::set<Way> seen;
  SmallVector<Way> open{
      {{segment.term, segment.offset - position, 0}, true, false}};
  while (!open.empty()) {
    Way way = open.pop_back_val();
    if (seen.insert(way).second)
      collect(way, open, sources);
  }
  return sources;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Checks that each result of an update is used: moments belong to their param.
LogicalResult ProvenanceVerifier::verifyUpdate(Operation *op) {
  for (OpResult next : op->getResults()) {
    if (next.use_empty())
      return op->emitOpError() << "expected a use of the next value of each of "
                                  "its states, found none of result "
                               << next.getResultNumber();
    int64_t position = 0;
    for (const MeaningSegment &segment :
         meanings.of(op->getOperand(next.getResultNumber()))) {
      // The update of a mixture of states updates none of them.
      std::set<unsigned> states;
      for (const Arrival &arrival : sourcesOf(segment, position).states)
        states.insert(cast<BlockArgument>(meanings.term(arrival.term).value)
                          .getArgNumber());
      if (states.size() == 1)
        updated[*states.begin()].push_back(next);
      position += segment.count;
    }
  }
  return success();
}

/// Checks that a state's next value is the one that its update made.
LogicalResult ProvenanceVerifier::verifyIsUpdated(unsigned argument, Value next,
                                                  const Sources &sources) {
  auto found = updated.find(argument);
  if (found == updated.end() || sources.isUpdated)
    return success();
  auto isUsed = [&](Value value) { return isMadeOf(next, value); };
  if (sources.isOpaque && llvm::any_of(found->second, isUsed))
    return success();
  InFlightDiagnostic diagnostic =
      step.getYield().emitOpError()
      << "expected the next value of state '" << nameOf(argument)
      << "' to be the result of its update, found another value";
  diagnostic.attachNote(found->second.front().getLoc()) << "the update is here";
  return diagnostic;
}

/// Checks that a gradient was not reduced over an axis over which its param
/// varies, because it belongs to one part of the model along that axis. Axes of
/// data are exempt.
LogicalResult ProvenanceVerifier::verifyAxes(Operation *op,
                                             const Arrival &arrival) {
  unsigned param = *markOf(meanings.term(arrival.term).value);
  auto varies = context.maskOf(step.getArgument(param).getVaries());
  for (unsigned axis = 0; axis < context.axisCount(); ++axis)
    if ((arrival.axes >> axis & 1) && varies[axis] && !context.dataAxes[axis])
      return op->emitOpError()
             << "uses the gradient of '" << nameOf(param)
             << "' reduced over axis '" << context.axisNames[axis]
             << "', over which the param varies";
  return success();
}

/// Checks that an operand of a gradient's size that the program takes back is
/// the whole gradient.
LogicalResult ProvenanceVerifier::verifyOperand(ComputeOp op, Value operand) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<Sources> all;
  std::optional<unsigned> expected;
  int64_t position = 0;
  for (const MeaningSegment &segment : meanings.of(operand)) {
    all.push_back(sourcesOf(segment, position));
    position += segment.count;
    for (const Arrival &arrival : all.back().gradients) {
      Value gradient = meanings.term(arrival.term).value;
      if (failed(verifyAxes(op, arrival)))
        return failure();
      if (getElementCount(cast<RankedTensorType>(gradient.getType())) ==
          getElementCount(type))
        expected = markOf(gradient);
    }
  }
  for (const Sources &sources : all)
    if (expected && llvm::none_of(sources.gradients, [&](const Arrival &a) {
          return a.shift == 0 &&
                 markOf(meanings.term(a.term).value) == expected;
        }))
      return op.emitOpError() << "expected every element of the gradient of '"
                              << nameOf(*expected)
                              << "' in its place in an operand, found others";
  return success();
}

/// Whether a value may depend on an argument, or on any state of the optimizer,
/// other than through gradients.
bool ProvenanceVerifier::mayUse(Value next, unsigned argument,
                                bool orOptimizer) {
  auto visit = [&](Value value) {
    auto source = dyn_cast<BlockArgument>(value);
    if (!source)
      return markOf(value) ? WalkResult::skip() : WalkResult::advance();
    Role role = step.getArgument(source.getArgNumber()).getRole();
    return source.getArgNumber() == argument ||
                   (orOptimizer && role == Role::Optimizer)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return walkSources(next, visit).wasInterrupted();
}

/// Checks that the next value of a param comes from its value, and that of each
/// moment of an update from the moment. A param may be the copy of an
/// optimizer's state (its master), with which it then shares the next value; if
/// the program makes both, it need not read the copy.
LogicalResult ProvenanceVerifier::verifyBase(unsigned argument, Value next,
                                             const Sources &sources) {
  bool isParam = step.getArgument(argument).getRole() == Role::Param;
  const Arrival *wrong = nullptr;
  for (const Arrival &arrival : sources.states) {
    auto source = cast<BlockArgument>(meanings.term(arrival.term).value);
    if (source.getArgNumber() == argument && arrival.shift == 0)
      return success();
    Role role = step.getArgument(source.getArgNumber()).getRole();
    if (isParam && role == Role::Optimizer && arrival.shift == 0 &&
        meanings.fingerprintOf(nextValues.lookup(source)) ==
            meanings.fingerprintOf(next))
      return success();
    if (role == Role::Param || role == Role::Optimizer)
      wrong = &arrival;
  }
  bool isFree = !sources.isUpdated && !(isParam && gradients[argument]);
  if (sources.isOpaque &&
      (isFree || mayUse(next, argument, /*orOptimizer=*/!sources.isUpdated)))
    return success();
  YieldOp yield = step.getYield();
  if (!wrong && (isParam || sources.isUpdated))
    return yield.emitOpError()
           << "expected the next value of state '" << nameOf(argument)
           << "' to come from its value, found a value without it";
  if (!wrong)
    return success(); // a moment may start anew
  auto source = cast<BlockArgument>(meanings.term(wrong->term).value);
  if (source.getArgNumber() == argument)
    return yield.emitOpError()
           << "expected every element of state '" << nameOf(argument)
           << "' in its place, found elements moved by " << -wrong->shift;
  return yield.emitOpError()
         << "expected the next value of state '" << nameOf(argument)
         << "' to come from its value, found that of '"
         << nameOf(source.getArgNumber()) << "'";
}

/// Checks that no state but the state itself, in place, goes into its
/// increment.
LogicalResult ProvenanceVerifier::verifyIncrement(unsigned argument,
                                                  const Sources &sources) {
  for (const Arrival &arrival : sources.states) {
    auto source = cast<BlockArgument>(meanings.term(arrival.term).value);
    if (step.getArgument(source.getArgNumber()).getRole() != Role::Replica &&
        (source.getArgNumber() != argument || arrival.shift != 0))
      return step.getYield().emitOpError()
             << "expected the increment of state '" << nameOf(argument)
             << "' to use no other state, and this state only in place, found '"
             << nameOf(source.getArgNumber()) << "'";
  }
  return success();
}

LogicalResult ProvenanceVerifier::verifyGradient(unsigned argument,
                                                 const Sources &sources) {
  YieldOp yield = step.getYield();
  bool isParam = step.getArgument(argument).getRole() == Role::Param;
  Value own = gradients[argument];
  bool arrives = false;
  for (const Arrival &arrival : sources.gradients) {
    Value gradient = meanings.term(arrival.term).value;
    unsigned param = *markOf(gradient);
    arrives |= param == argument;
    if (isParam && param != argument) {
      InFlightDiagnostic diagnostic =
          yield.emitOpError()
          << "expected no gradient but its own in the next "
             "value of param '"
          << nameOf(argument) << "', found that of '" << nameOf(param) << "'";
      diagnostic.attachNote(gradient.getLoc()) << "the gradient is made here";
      return diagnostic;
    }
    if (failed(verifyAxes(yield, arrival)))
      return failure();
    if (arrival.shift != 0)
      return yield.emitOpError()
             << "expected every element of the gradient of '" << nameOf(param)
             << "' in its place in the next value of state '"
             << nameOf(argument) << "', found elements moved by "
             << -arrival.shift;
  }
  if (!isParam || !own)
    return success();
  if (!arrives && !(sources.opaque.size() && sources.opaque.test(argument))) {
    InFlightDiagnostic diagnostic =
        yield.emitOpError() << "expected the gradient of '" << nameOf(argument)
                            << "' in its next value, found none";
    diagnostic.attachNote(own.getLoc()) << "the gradient is made here";
    return diagnostic;
  }
  if (sources.isUpdatedTwice)
    return yield.emitOpError()
           << "expected one update of param '" << nameOf(argument)
           << "', found an update of its updated value";
  return success();
}

LogicalResult ProvenanceVerifier::verifyState(unsigned argument, Value next) {
  int64_t position = 0;
  for (const MeaningSegment &segment : meanings.of(next)) {
    Sources sources = sourcesOf(segment, position);
    if (step.getYield().getAdd() && failed(verifyIncrement(argument, sources)))
      return failure();
    if (failed(verifyIsUpdated(argument, next, sources)) ||
        failed(verifyBase(argument, next, sources)) ||
        failed(verifyGradient(argument, sources)))
      return failure();
    position += segment.count;
  }
  return success();
}

LogicalResult ProvenanceVerifier::run() {
  collectReaches();
  for (auto [next, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    nextValues[step.getBody().getArgument(argument)] = next;
  for (Operation &op : step.getBody().front()) {
    if (auto stepOp = dyn_cast<StepOpInterface>(op);
        stepOp && stepOp.isUpdate() && failed(verifyUpdate(&op)))
      return failure();
    if (auto compute = dyn_cast<ComputeOp>(op))
      for (Value operand : compute.getInputs())
        if (operand.getDefiningOp() && !operand.getDefiningOp<ComputeOp>() &&
            failed(verifyOperand(compute, operand)))
          return failure();
  }
  for (auto [next, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    Role role = step.getArgument(argument).getRole();
    // A state of the optimizer that is another state's old value (the last
    // step's moment) needs no source, unless an update made something of it.
    bool isKept = role == Role::Optimizer && isa<BlockArgument>(next) &&
                  !updated.contains(argument);
    if (isKept || (role != Role::Param && role != Role::Optimizer))
      continue;
    if (failed(verifyState(argument, next)))
      return failure();
  }
  return success();
}

GradientRuns ProvenanceVerifier::gradientsIn(Value value) {
  GradientRuns runs;
  int64_t position = 0;
  for (const MeaningSegment &segment : meanings.of(value)) {
    Sources sources = sourcesOf(segment, position);
    position += segment.count;
    GradientRun &run = runs.emplace_back(GradientRun{segment.count, {}});
    for (const Arrival &arrival : sources.gradients)
      run.params.insert(nameOf(*markOf(meanings.term(arrival.term).value)));
    for (unsigned param : sources.opaque.set_bits())
      run.params.insert(nameOf(param));
  }
  return runs;
}

FailureOr<std::vector<GradientRuns>>
bagua::collectGradients(StepOp step, const FactAnalysis &facts,
                        ArrayRef<Value> values) {
  MeaningAnalysis meanings(step, facts);
  if (failed(meanings.run()))
    return failure();
  ProvenanceVerifier verifier(step, facts.getContext(), meanings);
  verifier.collectReaches();
  std::vector<GradientRuns> all;
  for (Value value : values)
    all.push_back(verifier.gradientsIn(value));
  return all;
}

//===----------------------------------------------------------------------===//
// The recorded meaning
//===----------------------------------------------------------------------===//

/// One number for the next value of each state.
static SmallVector<int64_t> fingerprintsOf(StepOp step,
                                           const MeaningAnalysis &meanings) {
  SmallVector<int64_t> fingerprints;
  for (Value next : step.getYield().getValues())
    fingerprints.push_back(static_cast<int64_t>(meanings.fingerprintOf(next)));
  return fingerprints;
}

LogicalResult bagua::recordMeaning(StepOp step) {
  FactAnalysis facts(step);
  if (failed(facts.run()))
    return failure();
  MeaningAnalysis meanings(step, facts);
  if (failed(meanings.run()))
    return failure();
  step->setAttr(kMeaningAttr,
                DenseI64ArrayAttr::get(step.getContext(),
                                       fingerprintsOf(step, meanings)));
  return success();
}

/// Scheduling turns structured updates into the program's compute, so the
/// record holds at graph level.
static LogicalResult verifyMeaning(StepOp step,
                                   const MeaningAnalysis &meanings) {
  auto recorded = step->getAttrOfType<DenseI64ArrayAttr>(kMeaningAttr);
  if (!recorded || step.isScheduled())
    return success();
  SmallVector<unsigned> states = step.getStateArguments();
  if (static_cast<size_t>(recorded.size()) != states.size())
    return step.emitOpError()
           << "expected one number in '" << kMeaningAttr << "' for each of "
           << states.size() << " states, found " << recorded.size();
  SmallVector<int64_t> found = fingerprintsOf(step, meanings);
  for (auto [index, argument] : llvm::enumerate(states))
    if (found[index] != recorded[index]) {
      InFlightDiagnostic diagnostic =
          step.getYield().emitOpError()
          << "expected the next value of state '"
          << step.getArgument(argument).getName().getValue()
          << "' to mean what it did when the step's communication was "
             "decided, found another meaning";
      diagnostic.attachNote(step.getYield().getValues()[index].getLoc())
          << "the value is made here";
      return diagnostic;
    }
  return success();
}

LogicalResult bagua::verifyProvenance(StepOp step, const FactAnalysis &facts) {
  MeaningAnalysis meanings(step, facts);
  if (failed(meanings.run()))
    return failure();
  if (failed(ProvenanceVerifier(step, facts.getContext(), meanings).run()))
    return failure();
  return verifyMeaning(step, meanings);
}
