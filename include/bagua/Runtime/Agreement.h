//===- Agreement.h - Facts that ranks must have alike ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks of a training program must agree on more than a plan: which model they
// train, in which layout a gradient lies, to which forward a step belongs. A
// program states such facts, each as a number; a word made of all of them
// travels with every collective, so that a difference is an error on every
// rank before any data moves. Only then do ranks tell each other the facts
// themselves, and the error names the fact and two ranks.
//
//   Agreement agreement;
//   agreement.set("the model", hash, "l1.weight: float32 [4, 4]\nl1.bias:
//   ..."); agreement.set("the number of the forward", 12);
//   communicator->agreeOn(agreement.word(), &agreement);
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_AGREEMENT_H
#define BAGUA_RUNTIME_AGREEMENT_H

#include "absl/strings/string_view.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bagua::runtime {

/// The facts behind a word of an agreement. They are asked for only where words
/// differ, by the thread that made the call.
class AgreedFacts {
public:
  virtual ~AgreedFacts() = default;

  /// By fact, in the order that all members have.
  virtual std::vector<uint64_t> values() const = 0;
  /// How many of them, the first ones, the call carries: of others it knows
  /// nothing.
  virtual size_t carried() const { return values().size(); }
  /// "the number of the forward".
  virtual std::string nameOf(size_t fact) const = 0;
  /// A value in words. Where it has several lines, the first one that differs
  /// is shown.
  virtual std::string meaningOf(size_t fact) const = 0;
};

/// Facts by name. All members state the same names, in one order.
class Agreement final : public AgreedFacts {
public:
  /// States a fact, or changes it. Without a `meaning` the number means itself,
  /// or what was said of it before.
  void set(absl::string_view name, uint64_t value,
           absl::string_view meaning = {});

  /// The word of all facts; 0 where there is none.
  uint64_t word() const;

  std::vector<uint64_t> values() const override { return numbers; }
  std::string nameOf(size_t fact) const override { return names[fact]; }
  std::string meaningOf(size_t fact) const override {
    return meaningOf(fact, numbers[fact]);
  }
  /// The same of a value that was stated before.
  std::string meaningOf(size_t fact, uint64_t value) const;

private:
  std::vector<std::string> names;
  std::vector<uint64_t> numbers;
  std::map<std::pair<size_t, uint64_t>, std::string> meanings;
};

/// A fact's share of a word, which is the sum of all facts' shares: facts may
/// be added in any order.
inline uint64_t agreementShare(size_t fact, uint64_t value) {
  // The finalizer of splitmix64.
  uint64_t state = value + 0x9e3779b97f4a7c15 * (fact + 1);
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}

/// A sum of shares as a word: 0 is that of no facts.
inline uint64_t agreementWord(uint64_t sum) { return sum ? sum : 1; }

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_AGREEMENT_H
