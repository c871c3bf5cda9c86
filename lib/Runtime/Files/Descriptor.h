//===- Descriptor.h - A file descriptor with an owner ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closes its descriptor when it is destroyed.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_FILES_DESCRIPTOR_H
#define BAGUA_LIB_RUNTIME_FILES_DESCRIPTOR_H

#include <unistd.h>

#include <utility>

namespace bagua::runtime {

class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int owned) : held(owned) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor &&other) noexcept : held(other.release()) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(held, other.held);
    return *this;
  }

  /// The descriptor, or -1 if there is none.
  int number() const { return held; }
  explicit operator bool() const { return held >= 0; }
  int release() { return std::exchange(held, -1); }
  void reset() {
    if (held >= 0)
      close(std::exchange(held, -1));
  }

private:
  int held = -1;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_FILES_DESCRIPTOR_H
