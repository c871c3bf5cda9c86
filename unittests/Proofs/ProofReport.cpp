//===- ProofReport.cpp - What became of the mutants -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables sorted by count.
//
//===----------------------------------------------------------------------===//
#include "ProofReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <vector>

using namespace bagua::proofs;
using llvm::StringRef;

std::string bagua::proofs::ruleOf(StringRef message) {
  message = message.split('\n').first;
  // 'bagua.yield' op expected ...
  if (message.starts_with("'bagua.")) {
    auto [op, rest] = message.drop_front(7).split("' op ");
    if (!rest.empty())
      return (op + ": " + ruleOf(rest)).str();
  }
  std::string rule;
  bool isQuoted = false;
  int depth = 0;
  for (auto [index, c] : llvm::enumerate(message)) {
    bool opens = !isQuoted && (index == 0 || message[index - 1] == ' ');
    if (c == '\'' && (isQuoted || opens)) {
      rule += isQuoted ? "_" : "";
      isQuoted = !isQuoted;
      continue;
    }
    depth += c == '<';
    if (!isQuoted && depth == 0)
      rule += llvm::isDigit(c) ? 'N' : c;
    depth -= c == '>';
  }
  for (size_t at; (at = rule.find("NN")) != std::string::npos;)
    rule.erase(at, 1);
  return rule;
}

void ProofReport::add(const Verdict &verdict) {
  if (verdict.isRefusedByVerifier) {
    ++refusedByVerifier;
    return;
  }
  ++total;
  harmfulCount += verdict.isHarmful;
  refusedCount += !verdict.isAccepted;
  for (auto *entry : {&byKind[verdict.kind], &byFault[verdict.fault]}) {
    ++entry->first;
    entry->second += verdict.isHarmful;
  }
  if (verdict.isHarmful && verdict.isAccepted) {
    ++missedCount;
    ++missedBy[verdict.fault];
  }
  if (!verdict.isHarmful && !verdict.isAccepted) {
    ++falseRefusals;
    ++falseBy[ruleOf(verdict.message) + "  <-  " + verdict.fault];
  }
}

static void printTable(llvm::raw_ostream &out, StringRef heading,
                       const std::map<std::string, int64_t> &counts) {
  if (counts.empty())
    return;
  out << heading << "\n";
  std::vector<std::pair<int64_t, StringRef>> rows;
  for (const auto &[name, count] : counts)
    rows.emplace_back(-count, name);
  llvm::sort(rows);
  for (auto [count, name] : rows)
    out << llvm::format("  %6lld  ", static_cast<long long>(-count)) << name
        << "\n";
}

static void
printCounts(llvm::raw_ostream &out, StringRef heading,
            const std::map<std::string, std::pair<int64_t, int64_t>> &counts) {
  out << heading << "\n";
  for (const auto &[name, count] : counts)
    out << llvm::format("  %6lld of %6lld  ",
                        static_cast<long long>(count.second),
                        static_cast<long long>(count.first))
        << name << "\n";
}

int64_t ProofReport::harmfulOf(StringRef kind) const {
  auto found = byKind.find(kind.str());
  return found == byKind.end() ? 0 : found->second.second;
}

std::string ProofReport::str() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto percent = [&](int64_t count) {
    return total ? 100.0 * count / total : 0.0;
  };
  out << title << ": " << total << " mutants, " << harmfulCount << " harmful ("
      << llvm::format("%.1f", percent(harmfulCount)) << " %), " << refusedCount
      << " refused, " << missedCount << " harmful accepted, " << falseRefusals
      << " harmless refused by the proof ("
      << llvm::format("%.1f", percent(falseRefusals)) << " %); beside them "
      << refusedByVerifier << " that the ops' verifiers refuse\n";
  printCounts(out, "mutants by kind (harmful of all)", byKind);
  printCounts(out, "mutants by fault (harmful of all)", byFault);
  printTable(out, "harmful but accepted", missedBy);
  printTable(out, "harmless but refused, by rule and fault", falseBy);
  return text;
}

int64_t bagua::proofs::mutantCount() {
  const char *value = std::getenv("BAGUA_FULL_TESTS");
  return value && StringRef(value) == "1" ? 100000 : 10000;
}

uint64_t bagua::proofs::seedBase() {
  const char *value = std::getenv("BAGUA_SEED");
  return value ? std::strtoull(value, nullptr, 10) : 0;
}
