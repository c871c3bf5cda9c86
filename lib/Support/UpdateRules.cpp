//===- UpdateRules.cpp - How optimizers make new states -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows, and what follows from them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/UpdateRules.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace bagua {
namespace {

using When = UpdateConstant::When;

const std::vector<UpdateRow> &rows() {
  static const std::vector<UpdateRow> kRows = {
      {.rule = UpdateRule::Sgd,
       .word = "sgd",
       .states = {"param", "momentum"},
       .leastStates = 1,
       .constants = {{"momentum", 0.9f, When::AllStates}},
       .works = {"sgd", "momentum"}},
      {.rule = UpdateRule::Adam,
       .word = "adam",
       .states = {"param", "first moment", "second moment"},
       .constants = {{"beta1", 0.9f, When::Always, /*isShare=*/true},
                     {"beta2", 0.999f, When::Always, /*isShare=*/true},
                     {"eps", 1e-8f},
                     {"decay"}},
       .correctsBias = true,
       .works = {"adam"}},
      {.rule = UpdateRule::AdamApply,
       .word = "adam_apply",
       .states = {"param"},
       .inputs = 2,
       .constants = {{"eps", 1e-8f},
                     {"beta1", 0.9f, When::BiasCorrection, /*isShare=*/true},
                     {"beta2", 0.999f, When::BiasCorrection, /*isShare=*/true}},
       .correctsBias = true,
       .works = {"adam"},
       .isPromised = false},
  };
  return kRows;
}

std::string textOf(float value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string counted(size_t count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// `3 states (param, first moment and second moment)`, `1 or 2 states (...)`.
std::string expectedStates(const UpdateRow &row) {
  std::string least = row.leastStates < row.states.size()
                          ? std::to_string(row.leastStates) + " or "
                          : "";
  return least + counted(row.states.size(), "state") + " (" +
         joinWords(row.states, ", ", " and ") + ")";
}

} // namespace

const std::vector<UpdateRow> &getUpdateRules() { return rows(); }

const UpdateRow *findUpdateRule(UpdateRule rule) {
  auto number = static_cast<size_t>(rule);
  return number < rows().size() ? &rows()[number] : nullptr;
}

const UpdateRow *findUpdateRule(std::string_view word) {
  for (const UpdateRow &row : rows())
    if (row.word == word)
      return &row;
  return nullptr;
}

const UpdateRow &rowOf(UpdateRule rule) {
  return rows()[static_cast<size_t>(rule)];
}

std::vector<std::string_view> promisedUpdates() {
  std::vector<std::string_view> words;
  for (const UpdateRow &row : rows())
    if (row.isPromised)
      words.push_back(row.word);
  return words;
}

std::string_view workOf(const UpdateRow &row, size_t states) {
  return row.works[states - row.leastStates];
}

std::vector<std::string_view> updateWorks() {
  std::vector<std::string_view> works;
  for (const UpdateRow &row : rows())
    works.insert(works.end(), row.works.begin(), row.works.end());
  std::sort(works.begin(), works.end());
  works.erase(std::unique(works.begin(), works.end()), works.end());
  return works;
}

std::vector<const UpdateConstant *>
constantsOf(const UpdateRow &row, size_t states, BiasCorrection correction) {
  std::vector<const UpdateConstant *> constants;
  for (const UpdateConstant &constant : row.constants)
    if (constant.when == When::Always ||
        (constant.when == When::AllStates && states == row.states.size()) ||
        (constant.when == When::BiasCorrection &&
         correction != BiasCorrection::None))
      constants.push_back(&constant);
  return constants;
}

std::string checkUpdate(const UpdateRow &row, size_t states,
                        const std::vector<float> &constants,
                        BiasCorrection correction) {
  std::string of = " of " + std::string(row.word);
  if (states < row.leastStates || states > row.states.size())
    return "expected " + expectedStates(row) + of + ", found " +
           std::to_string(states);
  if (correction != BiasCorrection::None && !row.correctsBias)
    return "expected no bias correction" + of + ", found " +
           std::string(wordOf(correction));
  std::vector<const UpdateConstant *> expected =
      constantsOf(row, states, correction);
  if (constants.size() != expected.size()) {
    std::vector<std::string_view> names;
    for (const UpdateConstant *constant : expected)
      names.push_back(constant->name);
    return "expected " +
           (names.empty() ? "no constants" : joinWords(names, ", ", " and ")) +
           of + " with " + counted(states, "state") +
           (row.correctsBias
                ? " and bias correction " + std::string(wordOf(correction))
                : "") +
           ", found " + counted(constants.size(), "constant");
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    float value = constants[i];
    bool isRight =
        expected[i]->isShare ? value >= 0 && value < 1 : std::isfinite(value);
    if (!isRight)
      return "expected a " + std::string(expected[i]->name) + of +
             (expected[i]->isShare ? " of at least 0 and below 1"
                                   : " that is finite") +
             ", found " + textOf(value);
  }
  return "";
}

} // namespace bagua
