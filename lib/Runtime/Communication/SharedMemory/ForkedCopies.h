//===- ForkedCopies.h - What forked processes see of shared memory --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forked process, as workers that load data are, has no part in the run: what
// it writes to memory that ranks share would change their numbers. So it sees
// there what the ranks have written, and whatever it writes is its own, as with
// any other memory.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_FORKEDCOPIES_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_FORKEDCOPIES_H

#include <cstddef>

namespace bagua::runtime {

/// As long as it lives, a range of memory that maps the beginning of `file` is
/// replaced by a private copy in processes that are forked. Where there is no
/// room for one, the range is not there (a process that touches it ends by
/// SIGSEGV).
class ForkedCopies {
public:
  ForkedCopies(void *address, size_t bytes, int file);
  ~ForkedCopies();
  ForkedCopies(const ForkedCopies &) = delete;
  ForkedCopies &operator=(const ForkedCopies &) = delete;

private:
  void *const address;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_FORKEDCOPIES_H
