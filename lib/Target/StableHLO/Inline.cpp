//===- Inline.cpp - Calls of an exported step -----------------------------===//
//
// Bottom up: a function is inlined into its callers when none of its own calls
// are left.
//
//===----------------------------------------------------------------------===//
#include "Inline.h"
#include "Flatten.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace bagua::importer;

namespace {
class Inliner {
public:
  explicit Inliner(const Functions &functions) : functions(functions) {}

  LogicalResult inlineInto(func::FuncOp function);
  CallScopes takeScopes() { return std::move(scopes); }

private:
  LogicalResult inlineInto(Block &block);
  LogicalResult inlineCall(func::CallOp call);

  const Functions &functions;
  CallScopes scopes;
  SmallVector<func::FuncOp> stack;
  llvm::DenseSet<Operation *> done;
};
} // namespace

/// The call's own scope without the name of the call; null for none.
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
    builder.clone(op, mapping);
    op.walk([&](Operation *inner) {
      Operation *copy = mapping.lookup(inner);
      // MLIR 19's clone forgets what stands in <{..}> of ops that it does not
      // know.
      if (inner->getPropertiesStorageSize())
        copy->copyProperties(inner->getPropertiesStorage());
      if (StringAttr known = scope ? scope : scopes.lookup(inner))
        scopes[copy] = known;
    });
  }
  for (auto [result, value] :
       llvm::zip_equal(call.getResults(), body.back().getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call.erase();
  return success();
}

LogicalResult Inliner::inlineInto(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      if (failed(inlineCall(call)))
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
  Inliner inliner(functions);
  if (failed(inliner.inlineInto(entry)))
    return failure();
  return inliner.takeScopes();
}

void bagua::importer::eraseUncalled(func::FuncOp entry,
                                    const Functions &functions) {
  SmallVector<func::FuncOp> pending{entry};
  llvm::DenseSet<Operation *> called{entry};
  while (!pending.empty())
    pending.pop_back_val().walk([&](func::CallOp call) {
      func::FuncOp callee = functions.lookup(call.getCallee());
      if (callee && called.insert(callee).second)
        pending.push_back(callee);
    });
  for (const auto &function : functions)
    if (!called.contains(function.second))
      function.second->erase();
}
