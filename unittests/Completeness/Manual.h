//===- Manual.h - What the manual says ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The examples of the reference manual, which is where every op has one, and
// the texts of other documents.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_COMPLETENESS_MANUAL_H
#define BAGUA_UNITTESTS_COMPLETENESS_MANUAL_H

#include <string>
#include <vector>

namespace bagua::test {

/// The text of a file of the project; empty, with a test failure, where there
/// is none.
std::string readSource(const std::string &path);

/// The examples of `bagua.<mnemonic>` in docs/Dialect.md.
std::vector<std::string> examplesOf(const std::string &mnemonic);

/// A step round an example, as the manual's introduction has it. What the
/// example calls states the program makes anew in each step, so that whatever
/// the example is, its order follows from the program's.
std::string stepAround(const std::string &example);

} // namespace bagua::test

#endif // BAGUA_UNITTESTS_COMPLETENESS_MANUAL_H
