//===- Store.h - Where processes leave texts for each other ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the processes of a run find each other: rank 0 leaves its address under a
// name, the others look for it. A file that all can reach will do, and so will
// what a launcher has for the purpose (torchrun's store).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_STORE_H
#define BAGUA_RUNTIME_STORE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace bagua::runtime {

/// Texts by name. A rank uses its store from one thread, while it connects. It
/// tries again after an error, until its limit, but for Aborted.
class Store {
public:
  virtual ~Store() = default;

  /// Replaces what was there.
  virtual absl::Status set(const std::string &name,
                           const std::string &text) = 0;
  /// Nothing where there is none (yet). Does not wait for it.
  virtual absl::StatusOr<std::optional<std::string>>
  get(const std::string &name) = 0;
};

/// In a file on a file system that all ranks share; made by the first to write.
/// DeadlineExceeded where another process keeps the file locked for `patience`.
std::unique_ptr<Store>
createFileStore(const std::string &path,
                std::chrono::nanoseconds patience = std::chrono::seconds(10));

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_STORE_H
