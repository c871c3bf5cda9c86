//===- ProofReport.h - What became of the mutants -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts verdicts by class and prints them as a table; the tables of
// docs/Proofs.md are this output.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_PROOFREPORT_H
#define BAGUA_UNITTESTS_PROOFS_PROOFREPORT_H

#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>

namespace bagua::proofs {

/// A diagnostic without the names, numbers and types in it: the rule that
/// spoke.
std::string ruleOf(llvm::StringRef message);

struct Verdict {
  /// The kind of the fault.
  std::string kind;
  /// The same, and what it was done to.
  std::string fault;
  bool isHarmful;
  bool isAccepted;
  /// Refused before the proof, by the ops' verifiers: counted apart.
  bool isRefusedByVerifier = false;
  std::string message;
};

class ProofReport {
public:
  explicit ProofReport(std::string title) : title(std::move(title)) {}

  void add(const Verdict &verdict);

  int64_t mutants() const { return total; }
  int64_t harmful() const { return harmfulCount; }
  int64_t missed() const { return missedCount; }
  /// Harmful mutants of a kind.
  int64_t harmfulOf(llvm::StringRef kind) const;

  /// Counts, then harmful mutants that were accepted, then false refusals, each
  /// by class.
  std::string str() const;

private:
  std::string title;
  int64_t total = 0, harmfulCount = 0, missedCount = 0, refusedCount = 0;
  int64_t refusedByVerifier = 0, falseRefusals = 0;
  std::map<std::string, int64_t> missedBy, falseBy;
  /// Of mutants: how many were made, how many of them harmful.
  using Counts = std::map<std::string, std::pair<int64_t, int64_t>>;
  Counts byKind, byFault;
};

/// How many mutants a proof is tried with: 10,000, or 100,000 with
/// BAGUA_FULL_TESTS=1.
int64_t mutantCount();

/// What a test's own seed is added to: 0, or BAGUA_SEED.
uint64_t seedBase();

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_PROOFREPORT_H
