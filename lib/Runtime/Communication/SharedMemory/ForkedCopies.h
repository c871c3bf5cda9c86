//===- ForkedCopies.h - The copy of shared memory in forked processes -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forked process, such as a worker that loads data, takes no part in the run:
// its writes to memory that ranks share would change their numbers. So a forked
// process sees there what the ranks had written, and its own writes are
// private, as with any other memory.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_FORKEDCOPIES_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_FORKEDCOPIES_H

#include <cstddef>

namespace bagua::runtime {

/// While this object lives, a range of memory that maps the beginning of `file`
/// is replaced by a private copy in processes that are forked. If there is no
/// room for a copy, the range is unmapped there, and a process that touches it
/// ends by SIGSEGV.
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
