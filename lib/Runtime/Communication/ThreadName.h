//===- ThreadName.h - The name of a thread for debuggers and profilers ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_THREADNAME_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_THREADNAME_H

#include <cstddef>
#include <pthread.h>
#include <string>

namespace bagua::runtime {

/// Names the calling thread "bagua " and `what`. The system keeps 15 bytes.
inline void nameThread(const std::string &what) {
  constexpr size_t kKept = 15;
  pthread_setname_np(pthread_self(),
                     ("bagua " + what).substr(0, kKept).c_str());
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_THREADNAME_H
