//===- Words.h - Lists of words for messages ------------------------------===//
//
// `a, b or c` from the table that a parser goes by, so that no word is missing.
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

/// `extra` comes last, if there is one.
template <size_t count>
std::string alternatives(const std::array<std::string_view, count> &words,
                         std::string_view extra = {}) {
  std::string text;
  size_t all = count + (extra.empty() ? 0 : 1);
  for (size_t i = 0; i < all; ++i) {
    text += i == 0 ? "" : i + 1 == all ? " or " : ", ";
    text += i < count ? words[i] : extra;
  }
  return text;
}

/// The enumerator whose name stands at its number; nothing for another word.
template <typename Enum, size_t count>
std::optional<Enum> parseWord(const std::array<std::string_view, count> &words,
                              std::string_view word) {
  auto *found = std::find(words.begin(), words.end(), word);
  if (found == words.end())
    return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

} // namespace bagua

#endif // BAGUA_SUPPORT_WORDS_H
