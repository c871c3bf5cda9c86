//===- Provenance.cpp - Which gradient and which state an update uses -----===//
//
// Reads the terms of Meaning.h from each state's next value back to arguments
// and gradients. What goes through compute is opaque: there, only that a
// gradient arrives at all is known.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Provenance.h"

#include "bagua/Dialect/Bagua/Meaning.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/BitVector.h"

#include <set>

using namespace mlir;
using namespace bagua;

using Kind = MeaningTerm::Kind;

namespace {
/// Elements of a source that arrive `shift` elements further on than they were.
struct Arrival {
  int32_t term;
  int64_t shift;

  friend bool operator<(const Arrival &a, const Arrival &b) {
    return std::tie(a.term, a.shift) < std::tie(b.term, b.shift);
  }
};

/// What some elements of a next value are made of.
struct Sources {
  /// Arguments, by the way that leads through the states of updates.
  std::set<Arrival> states;
  /// Gradients that arrive element by element.
  std::set<Arrival> gradients;
  /// Gradients (by their params' argument numbers) that opaque ops use.
  llvm::BitVector opaque;
  /// Whether the state is updated by the result of an update.
  bool isUpdatedTwice = false;
};

class ProvenanceVerifier {
public:
  ProvenanceVerifier(StepOp step, const MeaningAnalysis &meanings)
      : step(step), meanings(meanings),
        arguments(step.getBody().getNumArguments()),
        gradients(arguments, nullptr) {}

  LogicalResult run();

private:
  std::optional<unsigned> markOf(Value value);
  const llvm::BitVector *reachOf(Operation *op);
  void collectReaches();
  void collect(int32_t term, int64_t shift, bool isState, bool isUpdated,
               Sources &sources, std::set<std::tuple<Arrival, int>> &seen);
  LogicalResult verifyState(unsigned argument, Value next);
  LogicalResult verifyBase(unsigned argument, const Sources &sources);
  LogicalResult verifyGradient(unsigned argument, const Sources &sources);

  StringRef nameOf(unsigned argument) {
    return step.getArgument(argument).getName().getValue();
  }

  StepOp step;
  const MeaningAnalysis &meanings;
  unsigned arguments;
  /// The marked gradient of each param; null for none.
  SmallVector<Value> gradients;
  /// Gradients that an op's results depend on, for ops that do.
  llvm::DenseMap<Operation *, std::shared_ptr<llvm::BitVector>> reaches;
};
} // namespace

/// The param whose gradient a value is.
std::optional<unsigned> ProvenanceVerifier::markOf(Value value) {
  auto compute = value.getDefiningOp<ComputeOp>();
  if (!compute)
    return std::nullopt;
  ResultAttr info =
      compute.getResultInfo(cast<OpResult>(value).getResultNumber());
  if (!info || !info.getGrad())
    return std::nullopt;
  return step.findArgument(info.getGrad().getValue());
}

/// Which gradients each op may use. Sets are shared along chains.
void ProvenanceVerifier::collectReaches() {
  for (Operation &op : step.getBody().front().without_terminator()) {
    std::shared_ptr<llvm::BitVector> reach;
    auto include = [&](std::shared_ptr<llvm::BitVector> other) {
      if (!reach || !reach->test(*other)) {
        reach = other; // has all that `reach` has
      } else if (other->test(*reach)) {
        reach = std::make_shared<llvm::BitVector>(*reach);
        *reach |= *other;
      }
    };
    for (Value operand : op.getOperands()) {
      if (std::optional<unsigned> param = markOf(operand)) {
        auto own = std::make_shared<llvm::BitVector>(arguments);
        own->set(*param);
        include(own);
      } else if (Operation *maker = operand.getDefiningOp()) {
        if (auto found = reaches.find(maker); found != reaches.end())
          include(found->second);
      }
    }
    if (reach)
      reaches[&op] = reach;
    for (Value result : op.getResults())
      if (std::optional<unsigned> param = markOf(result))
        gradients[*param] = result;
  }
}

/// Follows a term to its sources. `isState`: on the way through updates'
/// states; `isUpdated`: behind an update.
void ProvenanceVerifier::collect(int32_t index, int64_t shift, bool isState,
                                 bool isUpdated, Sources &sources,
                                 std::set<std::tuple<Arrival, int>> &seen) {
  if (!seen.insert({Arrival{index, shift}, 2 * isState + isUpdated}).second)
    return;
  const MeaningTerm &term = meanings.term(index);
  switch (term.kind) {
  case Kind::Padding:
    return;
  case Kind::Argument:
    if (isState)
      sources.states.insert({index, shift});
    return;
  case Kind::Opaque:
    if (markOf(term.value))
      sources.gradients.insert({index, shift});
    else if (auto reach = reaches.find(term.value.getDefiningOp());
             reach != reaches.end())
      sources.opaque |= *reach->second;
    return;
  case Kind::Elementwise:
  case Kind::Reduce:
    for (const MeaningTerm::Operand &operand : term.operands)
      collect(operand.term, shift + operand.shift, isState, isUpdated, sources,
              seen);
    return;
  case Kind::Update:
    sources.isUpdatedTwice |= isState && isUpdated;
    // Whatever else it uses is the next value of another state, or its old one.
    for (auto [number, operand] : llvm::enumerate(term.operands))
      if (number < 2)
        collect(operand.term, shift + operand.shift, isState && number == 0,
                true, sources, seen);
    return;
  }
}

LogicalResult ProvenanceVerifier::verifyBase(unsigned argument,
                                             const Sources &sources) {
  const Arrival *wrong = nullptr;
  for (const Arrival &arrival : sources.states) {
    auto source = cast<BlockArgument>(meanings.term(arrival.term).value);
    if (source.getArgNumber() == argument && arrival.shift == 0)
      return success();
    Role role = step.getArgument(source.getArgNumber()).getRole();
    if (role == Role::Param || role == Role::Optimizer)
      wrong = &arrival;
  }
  if (!wrong)
    return success(); // opaque, or all from elsewhere
  auto source = cast<BlockArgument>(meanings.term(wrong->term).value);
  if (source.getArgNumber() == argument)
    return step.getYield().emitOpError()
           << "expected every element of state '" << nameOf(argument)
           << "' in its place, found elements moved by " << -wrong->shift;
  return step.getYield().emitOpError()
         << "expected the next value of state '" << nameOf(argument)
         << "' to come from its value, found that of '"
         << nameOf(source.getArgNumber()) << "'";
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
    Sources sources;
    sources.opaque.resize(arguments);
    std::set<std::tuple<Arrival, int>> seen;
    collect(segment.term, segment.offset - position, true, false, sources,
            seen);
    if (failed(verifyBase(argument, sources)) ||
        failed(verifyGradient(argument, sources)))
      return failure();
    position += segment.count;
  }
  return success();
}

LogicalResult ProvenanceVerifier::run() {
  collectReaches();
  for (auto [next, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    Role role = step.getArgument(argument).getRole();
    if (role != Role::Param && role != Role::Optimizer)
      continue;
    if (failed(verifyState(argument, next)))
      return failure();
  }
  return success();
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

void bagua::recordMeaning(StepOp step) {
  step->removeAttr(kMeaningAttr);
  ScopedDiagnosticHandler quiet(step.getContext(),
                                [](Diagnostic &) { return success(); });
  FactAnalysis facts(step);
  if (failed(facts.run()))
    return;
  MeaningAnalysis meanings(step, facts);
  meanings.run();
  step->setAttr(kMeaningAttr,
                DenseI64ArrayAttr::get(step.getContext(),
                                       fingerprintsOf(step, meanings)));
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
  meanings.run();
  if (failed(ProvenanceVerifier(step, meanings).run()))
    return failure();
  return verifyMeaning(step, meanings);
}
