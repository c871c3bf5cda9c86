//===- memory.h - A header that Debian's package of Gloo lacks ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Headers that the package installs include this one, which it does not
// install. They need only the layout of references to buffers. This folder
// comes after others in the compiler's search, so that Gloo's own header is
// used if it exists.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_MISSING_GLOO_COMMON_MEMORY_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_MISSING_GLOO_COMMON_MEMORY_H

#include <memory>

namespace gloo {

template <typename T> class NonOwningPtr;

/// Only Gloo's own code creates such pointers.
template <typename T> class WeakNonOwningPtr final {
  std::weak_ptr<T> ptr_;
  friend class NonOwningPtr<T>;
};

/// Keeps a buffer alive if it still exists.
template <typename T> class NonOwningPtr final {
public:
  NonOwningPtr() = default;
  explicit NonOwningPtr(const WeakNonOwningPtr<T> &of) : ptr_(of.ptr_.lock()) {}
  explicit operator bool() const noexcept { return ptr_ != nullptr; }

private:
  std::shared_ptr<T> ptr_;
};

} // namespace gloo

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_MISSING_GLOO_COMMON_MEMORY_H
