//===- Benches.h - Errors and the clock of programs that measure ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BAGUA_BENCH_BENCHES_H
#define BAGUA_BENCH_BENCHES_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace bagua {

/// Ends the program, which says its name and `message`.
[[noreturn]] inline void fail(const std::string &message) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name,
               message.c_str());
  std::exit(1);
}

inline void check(const absl::Status &status) {
  if (!status.ok())
    fail(status.ToString());
}

template <typename T> T check(absl::StatusOr<T> value) {
  check(value.status());
  return *std::move(value);
}

inline int64_t nowNs() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

} // namespace bagua

#endif // BAGUA_BENCH_BENCHES_H
