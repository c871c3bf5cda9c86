//===- Inline.cpp - Calls of an exported step -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works bottom up: a function is inlined into its callers when none of its own
// calls are left.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Inline.h"

#include "StableHLO/Graph/Flatten.h"
#include "StableHLO/Reading/Scope.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace bagua::importer;

namespace {
class Inliner {
public:
  Inliner(const Functions &functions, CallScopes &scopes)
      : functions(functions), scopes(scopes) {}

  LogicalResult inlineInto(func::FuncOp function);
  LogicalResult inlineInto(Block &block);

private:
  LogicalResult inlineCall(func::CallOp call);
  LogicalResult inlineAsync(Operation *done);

  const Functions &functions;
  CallScopes &scopes;
  SmallVector<func::FuncOp> stack;
  llvm::DenseSet<Operation *> done;
};
} // namespace

constexpr llvm::StringLiteral kAsyncStart = "stablehlo.async_start";
constexpr llvm::StringLiteral kAsyncDone = "stablehlo.async_done";

/// The call's scope without the name of the call; null if there is none.
static StringAttr scopeOfCall(func::CallOp call) {
  std::string scope = scopeOf(call.getLoc());
  size_t slash = scope.rfind('/');
  return slash == std::string::npos
             ? nullptr
             : StringAttr::get(call.getContext(), scope.substr(0, slash));
}

LogicalResult Inliner::inlineCall(func::CallOp call) {
  func::FuncOp callee = functions.lookup(call.getCallee());
  if (!callee || callee.isExternal())
    return emitError(call.getLoc())
           << "expected a function with a body, found @" << call.getCallee();
  if (llvm::is_contained(stack, callee))
    return emitError(call.getLoc())
           << "expected calls without recursion, found @" << call.getCallee()
           << " inside itself";
  if (failed(inlineInto(callee)))
    return failure();
  StringAttr scope = scopeOfCall(call);
  OpBuilder builder(call);
  IRMapping mapping;
  Block &body = callee.getBody().front();
  mapping.map(body.getArguments(), call.getOperands());
  for (Operation &op : body.without_terminator()) {
    cloneWhole(builder, op, mapping);
    op.walk([&](Operation *inner) {
      if (StringAttr known = scope ? scope : scopes.lookup(inner))
        scopes[mapping.lookup(inner)] = known;
    });
  }
  for (auto [result, value] :
       llvm::zip_equal(call.getResults(), body.back().getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  scopes.erase(call);
  call.erase();
  return success();
}

/// Inlines an asynchronous op, which is done by the time its results are
/// awaited: the body takes the place of the start, and the body's results that
/// of the results of `done`.
LogicalResult Inliner::inlineAsync(Operation *done) {
  Operation *start = done->getNumOperands() == 1
                         ? done->getOperand(0).getDefiningOp()
                         : nullptr;
  auto isReadable = [&] {
    return start && start->getName().getStringRef() == kAsyncStart &&
           start->getBlock() == done->getBlock() &&
           start->getResult(0).hasOneUse() && start->getNumRegions() == 1 &&
           start->getRegion(0).hasOneBlock() &&
           !start->getRegion(0).front().empty();
  };
  if (!isReadable())
    return emitError(done->getLoc())
           << "expected '" << done->getName() << "' of one '" << kAsyncStart
           << "' beside it, found another operand";
  Block &body = start->getRegion(0).front();
  Operation &end = body.back();
  if (TypeRange(body.getArgumentTypes()) != start->getOperandTypes() ||
      end.getOperandTypes() != done->getResultTypes())
    return emitError(start->getLoc())
           << "expected a body with an argument for each operand of '"
           << kAsyncStart << "' and a value for each result that is waited for";
  if (failed(inlineInto(body)))
    return failure();
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), start->getOperands()))
    argument.replaceAllUsesWith(operand);
  done->replaceAllUsesWith(end.getOperands());
  start->getBlock()->getOperations().splice(Block::iterator(start),
                                            body.getOperations(), body.begin(),
                                            Block::iterator(end));
  for (Operation *op : {done, start}) {
    scopes.erase(op);
    op->erase();
  }
  return success();
}

LogicalResult Inliner::inlineInto(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      if (failed(inlineCall(call)))
        return failure();
    } else if (op.getName().getStringRef() == kAsyncDone) {
      if (failed(inlineAsync(&op)))
        return failure();
    } else if (op.getName().getStringRef() == kManualComputation) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(inlineInto(inner)))
            return failure();
    }
  }
  return success();
}

LogicalResult Inliner::inlineInto(func::FuncOp function) {
  if (!done.insert(function).second)
    return success();
  stack.push_back(function);
  LogicalResult result = inlineInto(function.getBody().front());
  stack.pop_back();
  return result;
}

FailureOr<CallScopes> bagua::importer::inlineCalls(func::FuncOp entry,
                                                   const Functions &functions) {
  CallScopes scopes;
  if (failed(Inliner(functions, scopes).inlineInto(entry)))
    return failure();
  return scopes;
}

LogicalResult bagua::importer::inlineCalls(Block &block,
                                           const Functions &functions,
                                           CallScopes &scopes) {
  return Inliner(functions, scopes).inlineInto(block);
}

Operation *bagua::importer::cloneWhole(OpBuilder &builder, Operation &op,
                                       IRMapping &mapping) {
  Operation *copy = builder.clone(op, mapping);
  op.walk([&](Operation *inner) {
    if (inner->getPropertiesStorageSize())
      mapping.lookup(inner)->copyProperties(inner->getPropertiesStorage());
  });
  return copy;
}

SmallVector<func::FuncOp>
bagua::importer::functionsOf(Operation *op, const Functions &functions) {
  SmallVector<func::FuncOp> found;
  auto collect = [&](SymbolRefAttr symbol) {
    if (func::FuncOp function =
            functions.lookup(symbol.getRootReference().getValue()))
      found.push_back(function);
  };
  op->getDiscardableAttrDictionary().walk(collect);
  if (Attribute properties = op->getPropertiesAsAttribute())
    properties.walk(collect);
  return found;
}

void bagua::importer::eraseUncalled(func::FuncOp entry,
                                    const Functions &functions) {
  SmallVector<func::FuncOp> pending{entry};
  llvm::DenseSet<Operation *> called{entry};
  while (!pending.empty())
    pending.pop_back_val().walk([&](Operation *op) {
      for (func::FuncOp callee : functionsOf(op, functions))
        if (called.insert(callee).second)
          pending.push_back(callee);
    });
  for (const auto &function : functions)
    if (!called.contains(function.second))
      function.second->erase();
}
