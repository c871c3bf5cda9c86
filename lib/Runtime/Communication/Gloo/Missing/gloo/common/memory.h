//===- memory.h - What Debian's package of Gloo leaves out ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Headers that it installs include this one, which it does not. What they need
// of it is the layout of references to buffers: behind others' headers in the
// compiler's search, so that Gloo's own is taken where it is there.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_MISSING_GLOO_COMMON_MEMORY_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_MISSING_GLOO_COMMON_MEMORY_H

#include <memory>

namespace gloo {

template <typename T> class NonOwningPtr;

/// Gloo's own makes them.
template <typename T> class WeakNonOwningPtr final {
  std::weak_ptr<T> ptr_;
  friend class NonOwningPtr<T>;
};

/// Keeps a buffer, where it is still there.
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
