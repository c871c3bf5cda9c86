//===- AllocationCount.h - How often a thread called operator new ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The test binary replaces the global operator new to count.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_ALLOCATIONCOUNT_H
#define BAGUA_UNITTESTS_RUNTIME_ALLOCATIONCOUNT_H

#include <cstdint>

namespace bagua::runtime {

/// Calls of any operator new on this thread so far.
int64_t allocationCount();

/// The same of all threads together.
int64_t allocationCountOfAllThreads();

} // namespace bagua::runtime

#endif // BAGUA_UNITTESTS_RUNTIME_ALLOCATIONCOUNT_H
