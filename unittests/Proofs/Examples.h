//===- Examples.h - The dialect's example files, made small ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of test/Dialect/Bagua/examples with the same ops on tensors and
// groups small enough to interpret thousands of times.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_EXAMPLES_H
#define BAGUA_UNITTESTS_PROOFS_EXAMPLES_H

#include <string>
#include <vector>

namespace bagua::proofs {

struct Example {
  std::string name;
  std::string text;
};

/// All example files, every count divided as kShrinks says.
std::vector<Example> loadExamples();

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_EXAMPLES_H
