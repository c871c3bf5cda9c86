//===- FindUnused.cpp - bagua-find-unused ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles gradients that a rank may not have: flags tell the updates whether
// any rank had one.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Transforms/Algorithms/ProgramOps.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Names.h"
#include "bagua/Transforms/Utils/Report.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Regex.h"

namespace bagua {
#define GEN_PASS_DEF_FINDUNUSEDPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
/// Params whose flags are reduced over the same axes. Along the axes over which
/// the params vary, each rank has flags of its own.
struct Group {
  SmallVector<unsigned> params;
  AxesAttr over;
};

class UnusedFinder {
public:
  explicit UnusedFinder(StepOp step) : step(step), facts(step) {}

  /// Marks gradients of the params whose names match.
  LogicalResult mark(const llvm::Regex &pattern);
  bool isEmpty() const { return gradients.empty(); }
  LogicalResult write();
  llvm::json::Array describe() const;

private:
  std::string nameOf(unsigned param) const {
    return step.getArgument(param).getName().str();
  }
  void findOperands();
  LogicalResult group();
  SmallVector<Value> reduceFlags();
  LogicalResult showToUpdates(const Group &group, Value flags);

  mutable StepOp step;
  FactAnalysis facts;
  /// The first op that makes any gradient.
  ComputeOp first;
  /// Gradients by argument number of the param, in the order in which they are
  /// made.
  llvm::MapVector<unsigned, Value> gradients;
  /// The operands of the op that makes the flags.
  SmallVector<Value> operands;
  SmallVector<Group> groups;
};
} // namespace

LogicalResult UnusedFinder::mark(const llvm::Regex &pattern) {
  llvm::DenseMap<StringAttr, unsigned> numbers;
  for (unsigned i = 0; i < step.getBody().getNumArguments(); ++i)
    numbers[step.getArgument(i).getName()] = i;
  for (auto op : step.getBody().front().getOps<ComputeOp>())
    for (OpResult result : op->getResults()) {
      StringAttr param = getGradientParam(result);
      if (!param)
        continue;
      first = first ? first : op;
      if (!pattern.match(param.getValue()))
        continue;
      unsigned index = result.getResultNumber();
      if (op.getResultInfo(index).getOptional())
        return op.emitError() << "makes the gradient of '" << param.getValue()
                              << "', which is optional already";
      op.setResultInfo(index, ResultAttr::get(step.getContext(), param, nullptr,
                                              /*optional=*/true));
      gradients.insert({numbers.lookup(param), result});
    }
  return success();
}

/// Collects the operands of the flags: those of the first gradient's op, which
/// show that forward has run, and the rank's batch.
void UnusedFinder::findOperands() {
  llvm::SetVector<Value> found;
  found.insert(first->operand_begin(), first->operand_end());
  for (BlockArgument argument : step.getBody().getArguments())
    if (step.getArgument(argument.getArgNumber()).getRole() == Role::Batch)
      found.insert(argument);
  operands = found.takeVector();
}

/// Groups params by the axes over which their flags are reduced: those over
/// which the flags differ and the param does not.
LogicalResult UnusedFinder::group() {
  if (failed(facts.run()))
    return failure();
  const FactContext &context = facts.getContext();
  for (auto [param, gradient] : gradients) {
    const Facts &own = facts.factsOf(step.getBody().getArgument(param));
    SmallVector<StringAttr> names;
    for (auto [axis, name] : llvm::enumerate(context.axisNames))
      if (own[axis] == Fact::Replicated &&
          llvm::any_of(operands, [&, axis = axis](Value operand) {
            return facts.factsOf(operand)[axis] != Fact::Replicated;
          }))
        names.push_back(StringAttr::get(step.getContext(), name));
    AxesAttr over =
        names.empty() ? nullptr : AxesAttr::get(step.getContext(), names);
    Group *found = llvm::find_if(
        groups, [&](const Group &group) { return group.over == over; });
    if (found == groups.end()) {
      groups.push_back({{}, over});
      found = &groups.back();
    }
    found->params.push_back(param);
  }
  return success();
}

/// Adds the flags of each group, a byte for each param, and reduces them.
SmallVector<Value> UnusedFinder::reduceFlags() {
  OpBuilder builder(first);
  MLIRContext *context = step.getContext();
  SmallVector<Type> types;
  int64_t bytes = 0;
  for (const Group &group : groups) {
    auto count = static_cast<int64_t>(group.params.size());
    types.push_back(RankedTensorType::get({count}, builder.getIntegerType(8)));
    bytes += count;
  }
  auto used = builder.create<ComputeOp>(first.getLoc(), types, operands,
                                        PhaseKind::Backward, "find unused");
  used.setBytes(bytes);
  StepNames names(step);
  SmallVector<Value> reduced;
  for (auto [index, group] : llvm::enumerate(groups)) {
    used.setResultInfo(
        index, ResultAttr::get(context, nullptr, names.claim("used"), false));
    Value flags = used->getResult(index);
    if (group.over)
      flags = builder.create<AllReduceOp>(
          first.getLoc(), ReduceKindAttr::get(context, ReduceKind::Max), flags,
          group.over);
    reduced.push_back(flags);
  }
  return reduced;
}

static Value throughCasts(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getInput();
  return value;
}

/// Adds the flags to the operands of all ops that make the next value of such a
/// param, or of any state from its gradient.
LogicalResult UnusedFinder::showToUpdates(const Group &group, Value flags) {
  llvm::SetVector<Operation *> updates;
  for (auto [next, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    Operation *update = throughCasts(next).getDefiningOp();
    if (!update)
      continue; // the step leaves the state unchanged
    bool isOwn = llvm::is_contained(group.params, index);
    bool usesGradient = llvm::any_of(update->getOperands(), [&](Value operand) {
      return llvm::any_of(group.params, [&](unsigned param) {
        return throughCasts(operand) == gradients.lookup(param);
      });
    });
    if (!isOwn && !usesGradient)
      continue;
    auto stepOp = cast<StepOpInterface>(update);
    // Updates that a contract can speak of update a param and its moments
    // together; updates by moments alone leave the moments behind.
    std::optional<UpdateRule> rule = stepOp.getUpdateRule();
    bool isTogether = rule && rowOf(*rule).isPromised;
    if (!isTogether && !stepOp.isRunByProgram()) {
      std::vector<std::string_view> expected = promisedUpdates();
      expected.emplace_back("compute");
      return update->emitError()
             << "expected " << joinWords(expected, ", ", " or ")
             << " to update '" << nameOf(index)
             << "', which may be unused, found " << update->getName();
    }
    updates.insert(update);
  }
  for (Operation *update : updates) {
    if (!cast<StepOpInterface>(update).isRunByProgram())
      update = giveToProgram(step, update);
    update->insertOperands(update->getNumOperands(), flags);
  }
  return success();
}

LogicalResult UnusedFinder::write() {
  findOperands();
  if (failed(group()))
    return failure();
  SmallVector<Value> flags = reduceFlags();
  for (auto [group, value] : llvm::zip_equal(groups, flags))
    if (failed(showToUpdates(group, value)))
      return failure();
  return success();
}

llvm::json::Array UnusedFinder::describe() const {
  llvm::json::Array list;
  for (const Group &group : groups) {
    llvm::json::Array names;
    for (unsigned param : group.params)
      names.push_back(nameOf(param));
    list.push_back(std::move(names));
  }
  return list;
}

namespace {
struct FindUnusedPass : public bagua::impl::FindUnusedPassBase<FindUnusedPass> {
  using FindUnusedPassBase::FindUnusedPassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    llvm::Regex pattern("^(" + params.getValue() + ")$");
    if (std::string why; !pattern.isValid(why)) {
      step.emitError() << "expected a regular expression, found '"
                       << params.getValue() << "': " << why;
      return signalPassFailure();
    }
    if (step.getOps<ComputeOp>().empty())
      return; // such as a step between iterations
    if (step->hasAttr(kContractAttr)) {
      step.emitError("expected a step before bagua-relax, found one with a "
                     "contract");
      return signalPassFailure();
    }
    UnusedFinder finder(step);
    if (failed(finder.mark(pattern)))
      return signalPassFailure();
    if (finder.isEmpty()) {
      step.emitError() << "expected a param with a gradient whose name matches "
                          "'"
                       << params.getValue() << "', found none";
      return signalPassFailure();
    }
    if (failed(finder.write()))
      return signalPassFailure();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"optional", finder.describe()}});
  }
};
} // namespace
