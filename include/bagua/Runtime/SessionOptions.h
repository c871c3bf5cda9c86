//===- SessionOptions.h - How a session runs ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a training program may set when it connects; all ranks may differ.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_SESSIONOPTIONS_H
#define BAGUA_RUNTIME_SESSIONOPTIONS_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace bagua {
class TraceWriter;
}

namespace bagua::runtime {

struct SessionOptions {
  /// How long this rank waits for others: in each collective, once its own
  /// program has given what the collective needs, and in Session::create and
  /// start. Then the run ends with DeadlineExceeded, which names the ranks that
  /// are missing and what they say they wait for. Holds in place of the
  /// world's. A rank waits for its own program without limit, which may compile
  /// or load data for as long as it likes; so a step may take any time that all
  /// ranks take alike, and a rank may be late by the limit. At most ten years.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  /// Told on some thread of the session, once for each wait that has taken a
  /// tenth of the limit, who waits for whom or which tensor the program has not
  /// given. May be empty.
  std::function<void(const std::string &)> onWarning;
  /// If set, every instruction, wait and gift is recorded there; outlives the
  /// session. Recording allocates.
  TraceWriter *trace = nullptr;
  /// For tests: arenas begin as NaNs instead of zeros, and finish() fails if
  /// anything was written right before or after one.
  bool checksMemory = false;
  /// For tests: called before each instruction that has something to do, with
  /// the session's step and the instruction's number, on the thread that is
  /// about to run it. May be empty.
  std::function<void(int64_t step, uint32_t instruction)> onInstruction;
};

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_SESSIONOPTIONS_H
