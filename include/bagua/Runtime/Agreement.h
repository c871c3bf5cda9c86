//===- Agreement.h - Facts that ranks must have alike ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks of a training program must agree on more than a plan: which model
// they train, in which layout a gradient lies, to which forward a step belongs.
// A program states each such fact as a number. One word made of all facts
// travels with every collective, so that a difference is an error on every rank
// before any data moves. Only after a difference was found do the ranks
// exchange the facts themselves; the error names the fact and two ranks.
//
//   Agreement agreement;
//   agreement.set("the model", hash, "l1.weight: float32 [4, 4]");
//   agreement.set("the number of the forward", 12);
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

/// The facts behind a word of an agreement. The functions are called only if
/// words differ, on the thread that made the call.
class AgreedFacts {
public:
  virtual ~AgreedFacts() = default;

  /// The value of each fact, in the order that all members have.
  virtual std::vector<uint64_t> values() const = 0;
  /// How many facts, from the first one, the word of the call covers. The call
  /// says nothing about the others.
  virtual size_t carried() const { return values().size(); }
  /// The name of a fact, such as "the number of the forward".
  virtual std::string nameOf(size_t fact) const = 0;
  /// This member's value of the fact in words. Of a text with several lines,
  /// the error shows the first line that differs.
  virtual std::string meaningOf(size_t fact) const = 0;
};

/// Facts by name. All members state the same names in the same order.
class Agreement final : public AgreedFacts {
public:
  /// States a fact, or changes its value. Without a `meaning`, messages show
  /// the meaning that was given for this value before, or else the number.
  void set(absl::string_view name, uint64_t value,
           absl::string_view meaning = {});

  /// The word of all facts; 0 if none was stated.
  uint64_t word() const;

  std::vector<uint64_t> values() const override { return numbers; }
  std::string nameOf(size_t fact) const override { return names[fact]; }
  std::string meaningOf(size_t fact) const override {
    return meaningOf(fact, numbers[fact]);
  }
  /// The meaning of another value of the fact, as stated earlier; else the
  /// number.
  std::string meaningOf(size_t fact, uint64_t value) const;

private:
  std::vector<std::string> names;
  std::vector<uint64_t> numbers;
  std::map<std::pair<size_t, uint64_t>, std::string> meanings;
};

/// A fact's share of a word. A word is made from the sum of all shares, so
/// facts may be added in any order.
inline uint64_t agreementShare(size_t fact, uint64_t value) {
  // The finalizer of splitmix64.
  uint64_t state = value + 0x9e3779b97f4a7c15 * (fact + 1);
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}

/// The word for a sum of shares. It is never 0, which stands for no facts.
inline uint64_t agreementWord(uint64_t sum) { return sum ? sum : 1; }

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_AGREEMENT_H
