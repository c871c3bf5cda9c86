//===- Naming.cpp - Readable, unique names --------------------------------===//
//
// Names of a step's arguments from tree paths.
//
//===----------------------------------------------------------------------===//
#include "Naming.h"
#include "TreePath.h"

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

/// Where in the path the role is said: in its first component or, for a state
/// that holds all trees, in its second.
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
  /// What stands before it in the path.
  std::string tree;
};
} // namespace

/// The path inside the tree of its role.
static PathName nameInTree(llvm::StringRef path, bool isResult) {
  llvm::SmallVector<std::string, 4> components = parseTreePath(path);
  llvm::ArrayRef<std::string> rest = components;
  if (isResult && !rest.empty() && rest.front() == "result")
    rest = rest.drop_front();
  if (rest.size() < 2)
    return {};
  std::optional<size_t> at = roleComponent(rest);
  // A buffer keeps the name of its collection.
  size_t dropped = 1;
  if (at && *at == 1 && roleOfWord(rest[1]) != Role::Buffer)
    dropped = 2;
  if (rest.size() <= dropped)
    dropped = 1;
  return {joinPath(rest.drop_front(dropped)),
          joinPath(rest.take_front(dropped))};
}

void bagua::importer::nameArguments(const Graph &graph,
                                    std::vector<StepArgument> &arguments) {
  llvm::StringSet<> taken;
  for (const StepArgument &argument : arguments)
    if (!argument.name.empty())
      taken.insert(argument.name);
  unsigned unnamed[7] = {};
  for (StepArgument &argument : arguments) {
    if (!argument.name.empty())
      continue;
    const Argument &info = graph.arguments[argument.argument];
    PathName found;
    if (argument.isState()) {
      found = nameInTree(graph.outputs[argument.output].path, true);
      if (found.name.empty())
        found = nameInTree(info.path, false);
    } else {
      found.name = joinPath(parseTreePath(info.path));
    }
    if (found.name.empty())
      found.name = stringifyRole(argument.role).str() +
                   std::to_string(unnamed[static_cast<int>(argument.role)]++);
    if (taken.contains(found.name)) {
      PathName own = nameInTree(info.path, false);
      std::string tree = own.tree.empty() ? found.tree : own.tree;
      found.name = (tree.empty() ? stringifyRole(argument.role).str() : tree) +
                   "." + found.name;
    }
    std::string unique = found.name;
    for (unsigned i = 1; !taken.insert(unique).second; ++i)
      unique = found.name + "." + std::to_string(i);
    argument.name = unique;
  }
}
