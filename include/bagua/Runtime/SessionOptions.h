//===- SessionOptions.h - How a session runs ------------------------------===//
//
// What a training program may set when it connects; all ranks may differ.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_SESSIONOPTIONS_H
#define BAGUA_RUNTIME_SESSIONOPTIONS_H

#include <chrono>
#include <functional>
#include <string>

namespace bagua {
class TraceWriter;
}

namespace bagua::runtime {

struct SessionOptions {
  /// Every wait ends after this with DeadlineExceeded, naming who waits for
  /// whom; a warning goes to `onWarning` at a tenth of it.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  /// Called on some thread of the session. May be empty.
  std::function<void(const std::string &)> onWarning;
  /// If set, every instruction, wait and gift is recorded there; outlives the
  /// session. Recording allocates.
  TraceWriter *trace = nullptr;
  /// For tests: arenas begin as NaNs instead of zeros, and finish() fails if
  /// anything was written right before or after one.
  bool checksMemory = false;
};

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_SESSIONOPTIONS_H
