//===- SharedCopy.h - What neighbours reach in a buffer's place -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the world's that grows with the largest buffer it has stood for.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_SHAREDCOPY_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_SHAREDCOPY_H

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace bagua::runtime {

class SharedCopy {
public:
  using Allocate =
      absl::FunctionRef<absl::StatusOr<std::shared_ptr<std::byte>>(size_t)>;

  /// At least `bytes`; what was there before is lost where it grows.
  absl::StatusOr<std::byte *> reserve(int64_t bytes, Allocate allocate) {
    if (bytes > size) {
      auto grown = allocate(static_cast<size_t>(bytes));
      if (!grown.ok())
        return grown.status();
      memory = *std::move(grown);
      size = bytes;
    }
    return memory.get();
  }

private:
  std::shared_ptr<std::byte> memory;
  int64_t size = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_SHAREDCOPY_H
