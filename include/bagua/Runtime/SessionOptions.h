//===- SessionOptions.h - How a session runs ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options that a training program may set when it creates a session. Ranks
// may differ in all of them.
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
  /// start. After that the run ends with DeadlineExceeded, which names the
  /// missing ranks and what they say they wait for. This replaces the world's
  /// timeout. A rank waits for its own program without a limit, since the
  /// program may compile or load data for any time. Only the lag between ranks
  /// counts, however slow all programs are. At most ten years.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  /// The name of the backend that communicates and whose device has the
  /// tensors. Empty: the host's (World::control). All ranks choose the same.
  std::string backend;
  /// The number of the session's first step, for a program that resumes and
  /// keeps all state itself: the plan's table of phases counts from 0. A
  /// session that loads a state takes the number from there. All ranks choose
  /// the same.
  int64_t firstStep = 0;
  /// Called on some thread of the session, once for each wait that has taken a
  /// tenth of the timeout. The text says which rank waits for which, or which
  /// tensor the program has not given. May be empty.
  std::function<void(const std::string &)> onWarning;
  /// If set, every instruction, every wait and each giving of a tensor is
  /// recorded there. The writer outlives the session. Recording allocates.
  TraceWriter *trace = nullptr;
  /// For tests: fills arenas with NaNs instead of zeros at the beginning, and
  /// makes finish() fail if anything was written right before or after an
  /// arena.
  bool checksMemory = false;
  /// For tests: called before each instruction that has something to do, with
  /// the session's step and the instruction's number, on the thread that is
  /// about to run it. May be empty.
  std::function<void(int64_t step, uint32_t instruction)> onInstruction;
};

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_SESSIONOPTIONS_H
