//===- Pages.h - Memory of the host, by the page --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arenas consist of such pages. A page, of 2 MiB in large mappings, takes no
// memory before it is written to.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_DEVICE_HOST_PAGES_H
#define BAGUA_LIB_RUNTIME_DEVICE_HOST_PAGES_H

#include <cstddef>

namespace bagua::runtime {

/// Pages from the system, which are zero until written to and freed with the
/// object.
class Pages {
public:
  Pages() = default;
  /// data() is null if the system has no memory.
  explicit Pages(size_t size);
  ~Pages();
  Pages(Pages &&other) noexcept;
  Pages &operator=(Pages &&other) noexcept;

  std::byte *data() const { return address; }
  size_t size() const { return length; }

private:
  std::byte *address = nullptr;
  size_t length = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_DEVICE_HOST_PAGES_H
