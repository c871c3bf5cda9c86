//===- Naming.cpp - Readable, unique names --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes names of a step's arguments from tree paths.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/Naming.h"

#include "StableHLO/Reading/TreePath.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace bagua;
using namespace bagua::importer;

static std::optional<Role> roleOfWord(llvm::StringRef word) {
  if (word.starts_with("param"))
    return Role::Param;
  if (word.starts_with("opt"))
    return Role::Optimizer;
  if (word == "model_state" || word == "batch_stats" ||
      word.starts_with("buffer"))
    return Role::Buffer;
  return std::nullopt;
}

/// The component of the path that tells the role: the first one or, for a state
/// that holds all trees, the second.
static std::optional<size_t> roleComponent(llvm::ArrayRef<std::string> path) {
  for (size_t i = 0; i < std::min<size_t>(path.size(), 2); ++i)
    if (roleOfWord(path[i]))
      return i;
  return std::nullopt;
}

std::optional<Role> bagua::importer::roleByName(llvm::StringRef path) {
  llvm::SmallVector<std::string, 4> components = parseTreePath(path);
  std::optional<size_t> at = roleComponent(components);
  return at ? roleOfWord(components[*at]) : std::nullopt;
}

namespace {
struct PathName {
  std::string name;
  /// The components before the name in the path.
  std::string tree;
};
} // namespace

/// Whether a state's argument is a tree of one role, as `opt_state` is.
static bool hasRole(llvm::StringRef path) {
  return roleComponent(parseTreePath(path)) == 0;
}

/// The path inside the tree of its role; `isTree`: the first component is that
/// tree, whatever the second is called.
static PathName nameInTree(llvm::StringRef path, bool isResult, bool isTree) {
  // flax.nnx's variables hold their arrays as `.value`.
  path.consume_back(".value");
  llvm::SmallVector<std::string, 4> components = parseTreePath(path);
  llvm::ArrayRef<std::string> rest = components;
  if (isResult && !rest.empty() && rest.front() == "result")
    rest = rest.drop_front();
  if (rest.size() < 2)
    return {};
  std::optional<size_t> at = roleComponent(rest);
  // A buffer keeps the name of its collection.
  size_t dropped = 1;
  if (at && *at == 1 && !isTree && roleOfWord(rest[1]) != Role::Buffer)
    dropped = 2;
  if (rest.size() <= dropped)
    dropped = 1;
  return {joinPath(rest.drop_front(dropped)),
          joinPath(rest.take_front(dropped))};
}

/// The name without its tree, and the tree.
static PathName nameOf(const Graph &graph, const StepArgument &argument) {
  Argument info = graph.arguments[argument.argument];
  if (isNumbered(info.path))
    info.path.clear();
  if (!argument.isState())
    return {joinPath(parseTreePath(info.path)), ""};
  bool isTree = hasRole(info.path);
  PathName own = nameInTree(info.path, false, isTree);
  PathName found =
      nameInTree(graph.outputs[argument.output].path, true, isTree);
  if (found.name.empty())
    found = own;
  if (!own.tree.empty())
    found.tree = own.tree;
  // The tree is a single leaf.
  if (found.name.empty())
    found.name = joinPath(parseTreePath(info.path));
  return found;
}

void bagua::importer::nameArguments(const Graph &graph,
                                    std::vector<StepArgument> &arguments) {
  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> counts, paramCounts;
  for (const StepArgument &argument : arguments) {
    if (!argument.name.empty()) {
      taken.insert(argument.name);
      continue;
    }
    std::string name = nameOf(graph, argument).name;
    ++counts[name];
    paramCounts[name] += argument.role == Role::Param;
  }
  unsigned unnamed[7] = {};
  for (StepArgument &argument : arguments) {
    if (!argument.name.empty())
      continue;
    PathName found = nameOf(graph, argument);
    if (found.name.empty())
      found.name = stringifyRole(argument.role).str() +
                   std::to_string(unnamed[static_cast<int>(argument.role)]++);
    // A param keeps the name that optimizers use again for its moments.
    bool isShared = argument.role == Role::Param
                        ? paramCounts.lookup(found.name) > 1
                        : counts.lookup(found.name) > 1;
    if (isShared || taken.contains(found.name))
      found.name = (found.tree.empty() ? stringifyRole(argument.role).str()
                                       : found.tree) +
                   "." + found.name;
    std::string unique = found.name;
    for (unsigned i = 1; !taken.insert(unique).second; ++i)
      unique = found.name + "." + std::to_string(i);
    argument.name = unique;
  }
}
