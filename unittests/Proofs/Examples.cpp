//===- Examples.cpp - The dialect's example files, made small -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By replacing numbers in the text.
//
//===----------------------------------------------------------------------===//
#include "Examples.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <regex>

using namespace bagua::proofs;

/// From the special to the general. Byte offsets are four times element counts.
static constexpr std::pair<const char *, const char *> kShrinks[] = {
    {"size = [48]", "size = 2"},
    {"tensor<4x4096x", "tensor<2x12x"},
    {"tensor<32x512x", "tensor<4x6x"},
    {"tensor<64x32x", "tensor<6x4x"},
    {"tensor<64x2x", "tensor<6x2x"},
    {"tensor<32x2x", "tensor<4x2x"},
    {"count = 41", "count = 5"},
    {"\\b24576\\b", "288"},
    {"\\b16384\\b", "192"},
    {"\\b12288\\b", "144"},
    {":4096\\b", ":48"},
    {"\\b7168x", "84x"},
    {"\\b6144x", "72x"},
    {"\\b4096x", "48x"},
    {"\\b3072x", "36x"},
    {"\\b2048x", "24x"},
    {"\\b1024x", "12x"},
};

static std::string readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

std::vector<Example> bagua::proofs::loadExamples() {
  std::vector<Example> examples;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(BAGUA_EXAMPLES, error), end;
       file != end && !error; file.increment(error)) {
    if (!llvm::StringRef(file->path()).ends_with(".mlir"))
      continue;
    std::string text = readFile(file->path());
    for (auto [from, to] : kShrinks)
      text = std::regex_replace(text, std::regex(from), to);
    examples.push_back({llvm::sys::path::stem(file->path()).str(), text});
  }
  std::sort(examples.begin(), examples.end(),
            [](const Example &a, const Example &b) { return a.name < b.name; });
  return examples;
}
