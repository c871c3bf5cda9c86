//===- WordOptions.h - Options that are one word of an enum's -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsers for pass options of enum types. A pass (or a tool) declares
// `Option<..., "::bagua::FormChoice", ...>`. A word that the enum doesn't have
// is refused when the pipeline is read, with a message that lists the words. A
// further enum needs one line at the end of this file. Encodings have
// parameters besides their word.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_WORDOPTIONS_H
#define BAGUA_TRANSFORMS_WORDOPTIONS_H

#include "bagua/Scheduling/Search/Strategy.h"
#include "bagua/Support/Encodings.h"
#include "bagua/Support/Words.h"
#include "bagua/Transforms/Algorithms/Relaxations.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace bagua {

/// LLVM's own parser of enums says neither which words there are nor, in a
/// list, which word was found.
template <typename T> class WordParser : public llvm::cl::basic_parser<T> {
public:
  using llvm::cl::basic_parser<T>::basic_parser;

  /// True on error, as in all parsers of options.
  bool parse(llvm::cl::Option &option, llvm::StringRef name,
             llvm::StringRef text, T &value) {
    std::optional<T> parsed = parseWord<T>(std::string_view(text));
    if (!parsed)
      return option.error(wrongWord<T>(std::string_view(text)), name);
    value = *parsed;
    return false;
  }

  static void print(llvm::raw_ostream &os, const T &value) {
    os << llvm::StringRef(wordOf(value));
  }

  void printOptionDiff(const llvm::cl::Option &option, const T &value,
                       const llvm::cl::OptionValue<T> &, size_t width) const {
    this->printOptionName(option, width);
    llvm::outs() << "= " << llvm::StringRef(wordOf(value)) << "\n";
  }

  /// The value's name in --help: `--form=<flat|leader|...>`.
  llvm::StringRef getValueName() const override {
    static const std::string words = listWords<T>("|", "|");
    return words;
  }
};

} // namespace bagua

namespace llvm::cl {

template <>
class parser<bagua::BucketPolicy>
    : public bagua::WordParser<bagua::BucketPolicy> {
  using WordParser::WordParser;
};
template <>
class parser<bagua::FormChoice> : public bagua::WordParser<bagua::FormChoice> {
  using WordParser::WordParser;
};
template <>
class parser<bagua::HalvesChoice>
    : public bagua::WordParser<bagua::HalvesChoice> {
  using WordParser::WordParser;
};
template <>
class parser<bagua::RelaxationChoice>
    : public bagua::WordParser<bagua::RelaxationChoice> {
  using WordParser::WordParser;
};
template <>
class parser<bagua::SchedulePolicy>
    : public bagua::WordParser<bagua::SchedulePolicy> {
  using WordParser::WordParser;
};
template <>
class parser<bagua::ServerUse> : public bagua::WordParser<bagua::ServerUse> {
  using WordParser::WordParser;
};
template <>
class parser<bagua::StrategyClass>
    : public bagua::WordParser<bagua::StrategyClass> {
  using WordParser::WordParser;
};
template <>
class parser<bagua::UpdatedPart>
    : public bagua::WordParser<bagua::UpdatedPart> {
  using WordParser::WordParser;
};
template <>
class parser<bagua::AllowedUpdates>
    : public bagua::WordParser<bagua::AllowedUpdates> {
  using WordParser::WordParser;
};
template <>
class parser<bagua::UpdatesBy> : public bagua::WordParser<bagua::UpdatesBy> {
  using WordParser::WordParser;
};
template <>
class parser<bagua::Encoding> : public basic_parser<bagua::Encoding> {
public:
  using basic_parser::basic_parser;

  bool parse(Option &option, StringRef name, StringRef text,
             bagua::Encoding &value) {
    bagua::ParsedEncoding parsed = bagua::parseWire(std::string_view(text));
    if (!parsed.error.empty())
      return option.error(parsed.error, name);
    value = parsed.encoding;
    return false;
  }
  static void print(raw_ostream &os, const bagua::Encoding &value) {
    os << bagua::encodingText(value);
  }
  void printOptionDiff(const Option &option, const bagua::Encoding &value,
                       const OptionValue<bagua::Encoding> &,
                       size_t width) const {
    printOptionName(option, width);
    outs() << "= " << bagua::encodingText(value) << "\n";
  }
  StringRef getValueName() const override {
    static const std::string words =
        bagua::joinWords(bagua::wireWords(), "|", "|");
    return words;
  }
};

} // namespace llvm::cl

#endif // BAGUA_TRANSFORMS_WORDOPTIONS_H
