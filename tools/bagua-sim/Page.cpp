//===- Page.cpp - Reports as HTML pages -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The templates are compiled into the tool.
//
//===----------------------------------------------------------------------===//
#include "Page.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

namespace {
struct Page {
  llvm::StringRef name;
  llvm::StringRef text;
};
} // namespace

static constexpr Page kPages[] = {
#include "Pages.inc"
};

std::string bagua::fillPage(llvm::StringRef name, llvm::json::Value data) {
  for (const Page &page : kPages) {
    if (page.name != name)
      continue;
    auto [before, after] = page.text.split("@DATA@");
    std::string filled = before.str();
    // In JSON a `<` stands only in strings. Unescaped, it could end the script.
    for (char c : llvm::formatv("{0}", data).str())
      if (c == '<')
        filled += "\\u003c";
      else
        filled += c;
    return filled + after.str();
  }
  llvm_unreachable("a page of the folder pages/");
}
