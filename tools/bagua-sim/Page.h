//===- Page.h - Reports as HTML pages -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A page is one file that a browser opens without a network: a template of the
// folder pages/ with its data inside.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_SIM_PAGE_H
#define BAGUA_TOOLS_BAGUA_SIM_PAGE_H

#include "llvm/Support/JSON.h"

namespace bagua {

/// The template `name`, with `data` in place of @DATA@.
std::string fillPage(llvm::StringRef name, llvm::json::Value data);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_PAGE_H
