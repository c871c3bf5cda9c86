//===- Manual.cpp - What the manual says ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sections and fences by their marks.
//
//===----------------------------------------------------------------------===//
#include "Manual.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

namespace bagua::test {
namespace {

constexpr const char *kMark = "  // the example\n";

/// The texts between fences, in order.
std::vector<std::string> fencesOf(const std::string &text) {
  std::vector<std::string> fences;
  const std::string fence = "\n```\n";
  size_t at = 0;
  while (true) {
    size_t begin = text.find(fence, at);
    if (begin == std::string::npos)
      return fences;
    begin += fence.size();
    size_t end = text.find("```\n", begin);
    if (end == std::string::npos)
      return fences;
    fences.push_back(text.substr(begin, end - begin));
    at = end + 3;
  }
}

} // namespace

std::string readSource(const std::string &path) {
  std::ifstream file(std::string(BAGUA_SOURCE) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

std::vector<std::string> examplesOf(const std::string &mnemonic) {
  std::string manual = readSource("docs/Dialect.md");
  size_t begin = manual.find("\n### `bagua." + mnemonic + "`");
  if (begin == std::string::npos)
    return {};
  size_t end = manual.find("\n### ", begin + 1);
  std::vector<std::string> examples;
  for (const std::string &fence : fencesOf(manual.substr(begin, end - begin)))
    if (fence.rfind("%", 0) == 0)
      examples.push_back(fence);
  return examples;
}

std::string stepAround(const std::string &example) {
  for (const std::string &fence : fencesOf(readSource("docs/Dialect.md"))) {
    size_t mark = fence.find(kMark);
    if (mark == std::string::npos)
      continue;
    // The program makes anew in each step what the example calls its states.
    return fence.substr(0, mark) +
           "  %cx, %cw, %cm, %cv, %ce, %cp = bagua.compute forward "
           "\"made\"(%x) : "
           "(tensor<32x512xf32>) -> (tensor<32x512xf32>, tensor<4096xf32>, "
           "tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, "
           "tensor<64x32xf32>)\n" +
           std::regex_replace(example, std::regex("%([wmvepx])\\b"), "%c$1") +
           "  bagua.yield %w, %m, %v, %e, %p : tensor<4096xf32>, "
           "tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, "
           "tensor<64x32xf32>\n" +
           fence.substr(mark + std::string(kMark).size());
  }
  ADD_FAILURE() << "the manual has no frame for examples";
  return "";
}

} // namespace bagua::test
