//===- OwnOptions.h - Options and messages of a tool on MLIR's drivers ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's drivers register the options of all of LLVM, and print the op with
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

/// Hides the options registered so far, except those named, from --help;
/// --help-hidden still shows them. If a name is that of a list, such as the
/// passes, the whole list is shown.
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

/// Stops messages from printing the op they are about: a message has a
/// location, and of a module the op would be the whole module.
/// `--mlir-print-op-on-diagnostic` prints it again.
inline void printMessagesWithoutOps() {
  mlir::registerMLIRContextCLOptions();
  constexpr llvm::StringLiteral kName = "mlir-print-op-on-diagnostic";
  static_cast<llvm::cl::opt<bool> *>(
      llvm::cl::getRegisteredOptions().lookup(kName))
      ->setInitialValue(false);
}

} // namespace bagua

#endif // BAGUA_TOOLS_COMMON_OWNOPTIONS_H
