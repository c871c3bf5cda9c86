//===- CsvReader.h - Records of comma-separated values --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RFC 4180: a cell in quotes may hold commas, quotes (doubled) and ends of
// lines. In addition, spaces around cells are ignored, and a line that is empty
// or begins with # is no record.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_LAYERS_CSVREADER_H
#define BAGUA_TARGET_LAYERS_CSVREADER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace bagua::importer {

class CsvReader {
public:
  explicit CsvReader(llvm::StringRef text) : rest(text) {}

  /// Reads the next record into `cells`; false after the last one and at an
  /// error.
  bool next(llvm::SmallVectorImpl<std::string> &cells);

  /// The line on which the last record began, from 1.
  unsigned getLine() const { return recordLine; }
  /// Describes what is wrong with the last record; empty if nothing is.
  llvm::StringRef getError() const { return error; }

private:
  bool skipToRecord();
  std::string readCell();
  std::string readQuoted();
  char peek() const { return rest.empty() ? '\n' : rest.front(); }
  char take();

  llvm::StringRef rest;
  unsigned line = 1, recordLine = 1;
  std::string error;
};

} // namespace bagua::importer

#endif // BAGUA_TARGET_LAYERS_CSVREADER_H
