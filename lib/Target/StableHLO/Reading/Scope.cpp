//===- Scope.cpp - Names in locations -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Removes the names that transformations of a program put around its own.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Reading/Scope.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace bagua::importer;

/// The name of a location, outer scopes first: `a/b/op`. Empty if none.
static std::string nameOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    std::string scope = nameOf(name.getChildLoc());
    StringRef own = name.getName().getValue();
    own.consume_back(":");
    return scope.empty() ? own.str() : scope + "/" + own.str();
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return nameOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string name = nameOf(part); !name.empty())
        return name;
  return "";
}

/// Cuts a name at slashes outside parentheses.
static SmallVector<StringRef> componentsOf(StringRef name) {
  SmallVector<StringRef> components;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && name[i] == '(')
      ++depth;
    if (i < name.size() && name[i] == ')')
      --depth;
    if (i < name.size() && (name[i] != '/' || depth > 0))
      continue;
    if (i > start)
      components.push_back(name.slice(start, i));
    start = i + 1;
  }
  return components;
}

std::string bagua::importer::scopeOf(Location loc) {
  std::string name = nameOf(loc), scope;
  for (StringRef component : componentsOf(name)) {
    // A transformation's mark, such as jit(f) or transpose(jvp(Model)).
    component.consume_back(":");
    if (component.contains('(') || component.empty())
      continue;
    if (!scope.empty())
      scope += '/';
    scope += component;
  }
  return scope;
}

bool bagua::importer::isTransposedScope(Location loc) {
  return StringRef(nameOf(loc)).contains("transpose(");
}
