//===- Store.h - Where processes leave texts for each other ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processes of a run find each other through a store: rank 0 leaves its
// address under a name, and the others look it up. The store may be a file that
// all ranks can reach, or a service of a launcher, such as torchrun's store.
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

/// Texts by name. A rank uses its store from one thread, while it connects.
/// After an error other than Aborted the rank tries again, until its timeout.
class Store {
public:
  virtual ~Store() = default;

  /// Sets the text of this name, replacing an earlier one.
  virtual absl::Status set(const std::string &name,
                           const std::string &text) = 0;
  /// The text of this name, or nothing if there is none yet. Does not wait for
  /// it.
  virtual absl::StatusOr<std::optional<std::string>>
  get(const std::string &name) = 0;
};

/// A store in a file, on a file system that all ranks share. The first writer
/// creates the file. DeadlineExceeded if another process keeps it locked for
/// longer than `patience`.
std::unique_ptr<Store>
createFileStore(const std::string &path,
                std::chrono::nanoseconds patience = std::chrono::seconds(10));

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_STORE_H
