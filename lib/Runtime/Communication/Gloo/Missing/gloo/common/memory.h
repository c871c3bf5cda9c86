//===- memory.h - What Debian's package of Gloo leaves out ----------------===//
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

/// Only ever a reference in headers.
template <typename T> class NonOwningPtr;

/// Gloo's own makes and follows them.
template <typename T> class WeakNonOwningPtr final {
  std::weak_ptr<T> ptr_;
};

} // namespace gloo

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_MISSING_GLOO_COMMON_MEMORY_H
