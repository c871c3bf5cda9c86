//===- Page.h - Reports as HTML pages -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A page is one file that opens in a browser without a network: a template of
// the folder pages/ with its data inside.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_SIM_PAGE_H
#define BAGUA_TOOLS_BAGUA_SIM_PAGE_H

#include "llvm/Support/JSON.h"

namespace bagua {

/// The template `name` with `data` where it says @DATA@.
std::string fillPage(llvm::StringRef name, llvm::json::Value data);

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_SIM_PAGE_H
