//===- CsvReader.cpp - Records of comma-separated values ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads one character after the other.
//
//===----------------------------------------------------------------------===//
#include "CsvReader.h"

#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace bagua::importer;

static constexpr StringRef kBlanks = " \t\r";

char CsvReader::take() {
  char c = rest.front();
  rest = rest.drop_front();
  line += c == '\n';
  return c;
}

/// Skips lines that are no records; false at the end of the text.
bool CsvReader::skipToRecord() {
  while (!rest.empty()) {
    StringRef first = rest.split('\n').first.trim(kBlanks);
    if (!first.empty() && !first.starts_with("#"))
      return true;
    while (!rest.empty() && take() != '\n')
      ;
  }
  return false;
}

/// Reads from after the opening quote up to and including the closing one.
std::string CsvReader::readQuoted() {
  std::string cell;
  while (!rest.empty()) {
    char c = take();
    if (c == '"' && !rest.consume_front("\""))
      return cell;
    cell += c;
  }
  error = "expected a closing quote, found the end of the text";
  return cell;
}

std::string CsvReader::readCell() {
  rest = rest.ltrim(kBlanks);
  if (!rest.consume_front("\"")) {
    StringRef cell =
        rest.take_until([](char c) { return c == ',' || c == '\n'; });
    rest = rest.drop_front(cell.size());
    return cell.rtrim(kBlanks).str();
  }
  std::string cell = readQuoted();
  rest = rest.ltrim(kBlanks);
  if (error.empty() && peek() != ',' && peek() != '\n')
    error = ("expected a comma or the end of the line behind a quoted cell, "
             "found '" +
             Twine(peek()) + "'")
                .str();
  return cell;
}

bool CsvReader::next(SmallVectorImpl<std::string> &cells) {
  cells.clear();
  if (!skipToRecord())
    return false;
  recordLine = line;
  do
    cells.push_back(readCell());
  while (error.empty() && rest.consume_front(","));
  if (error.empty() && !rest.empty())
    take(); // the end of the line
  return error.empty();
}
