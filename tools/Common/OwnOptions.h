//===- OwnOptions.h - What a tool on MLIR's drivers shows and prints ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's drivers come with the options of all of LLVM, and print the op with
// each message about it. A tool calls both functions before its driver reads
// the command line.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_COMMON_OWNOPTIONS_H
#define BAGUA_TOOLS_COMMON_OWNOPTIONS_H

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

namespace bagua {

/// Of the options that are registered by now, --help shows those named and
/// --help-hidden all. Names of a list, such as passes, show the list.
inline void showOnly(llvm::ArrayRef<llvm::StringRef> names) {
  auto &options = llvm::cl::getRegisteredOptions();
  llvm::SmallPtrSet<llvm::cl::Option *, 16> shown;
  for (llvm::StringRef name : {"help", "help-hidden", "help-list", "version"})
    shown.insert(options.lookup(name));
  for (llvm::StringRef name : names)
    shown.insert(options.lookup(name));
  for (auto &entry : options)
    if (!shown.contains(entry.second) &&
        entry.second->getOptionHiddenFlag() == llvm::cl::NotHidden)
      entry.second->setHiddenFlag(llvm::cl::Hidden);
}

/// A message says where it is from; of a module, the op itself would be all of
/// it. `--mlir-print-op-on-diagnostic` brings it back.
inline void printMessagesWithoutOps() {
  mlir::registerMLIRContextCLOptions();
  constexpr llvm::StringLiteral kName = "mlir-print-op-on-diagnostic";
  static_cast<llvm::cl::opt<bool> *>(
      llvm::cl::getRegisteredOptions().lookup(kName))
      ->setInitialValue(false);
}

} // namespace bagua

#endif // BAGUA_TOOLS_COMMON_OWNOPTIONS_H
