//===- TreePath.cpp - Names such as params['layer_0']['bias'] -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses paths into trees.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Reading/TreePath.h"

#include "llvm/ADT/StringExtras.h"

using namespace bagua::importer;

llvm::SmallVector<std::string, 4>
bagua::importer::parseTreePath(llvm::StringRef text) {
  llvm::SmallVector<std::string, 4> components;
  while (!text.empty()) {
    if (text.consume_front("['") || text.consume_front("[\"")) {
      size_t end = text.find_first_of("'\"");
      if (end == llvm::StringRef::npos)
        return {};
      components.push_back(text.take_front(end).str());
      text = text.drop_front(end + 1);
      if (!text.consume_front("]"))
        return {};
      continue;
    }
    if (text.consume_front("[")) {
      size_t end = text.find(']');
      if (end == llvm::StringRef::npos)
        return {};
      components.push_back(text.take_front(end).str());
      text = text.drop_front(end + 1);
      continue;
    }
    text.consume_front(".");
    size_t end = std::min(text.find_first_of(".["), text.size());
    if (end == 0)
      return {};
    components.push_back(text.take_front(end).str());
    text = text.drop_front(end);
  }
  return components;
}

std::string bagua::importer::joinPath(llvm::ArrayRef<std::string> components) {
  return llvm::join(components, ".");
}

bool bagua::importer::isNumbered(llvm::StringRef path) {
  int64_t number = 0;
  return path.consume_front("flat_args[") && path.consume_back("]") &&
         !path.getAsInteger(10, number);
}
