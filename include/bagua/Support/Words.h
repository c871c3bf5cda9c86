//===- Words.h - The words for the values of an enum ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list for each enum, beside its definition. The texts of plans, the
// options of passes and tools, and messages about a wrong word all use that
// list.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_WORDS_H
#define BAGUA_SUPPORT_WORDS_H

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace bagua {

/// Each enumerator's word at its number. An enum that has words specialises it:
///
///   template <>
///   inline constexpr std::array<std::string_view, 2> kWordsOf<UpdatedPart> = {
///       "whole", "shard"};
template <typename Enum>
inline constexpr std::array<std::string_view, 0> kWordsOf{};

template <typename Enum> constexpr std::string_view wordOf(Enum value) {
  return kWordsOf<Enum>[static_cast<size_t>(value)];
}

/// The enumerator of this word; nothing if it has none.
template <typename Enum> std::optional<Enum> parseWord(std::string_view word) {
  const auto &words = kWordsOf<Enum>;
  auto *found = std::find(words.begin(), words.end(), word);
  if (found == words.end())
    return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

/// The words with `separator` between them, and `before` in front of the last
/// one.
template <typename Words>
std::string joinWords(const Words &words, std::string_view separator,
                      std::string_view before) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? before : separator;
    text += words[i];
  }
  return text;
}

/// The words of the enum, joined in the same way.
template <typename Enum>
std::string listWords(std::string_view separator, std::string_view before) {
  return joinWords(kWordsOf<Enum>, separator, before);
}

/// The message about a word that the enum does not have: `expected a, b or c,
/// found 'd'`.
template <typename Enum> std::string wrongWord(std::string_view word) {
  return "expected " + listWords<Enum>(", ", " or ") + ", found '" +
         std::string(word) + "'";
}

} // namespace bagua

#endif // BAGUA_SUPPORT_WORDS_H
