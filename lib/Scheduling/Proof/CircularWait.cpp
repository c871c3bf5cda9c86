//===- CircularWait.cpp - Tasks that wait for each other ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A depth-first walk along the waits, on a stack of its own.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Proof/CircularWait.h"

#include <cstddef>

using namespace bagua;

std::vector<int32_t>
bagua::findCircularWait(const std::vector<std::vector<int32_t>> &waits) {
  enum class State : uint8_t { New, OnPath, Done };
  std::vector<State> states(waits.size(), State::New);
  std::vector<size_t> next(waits.size(), 0);
  std::vector<int32_t> path;
  auto enter = [&](int32_t task) {
    states[task] = State::OnPath;
    path.push_back(task);
  };
  for (size_t start = 0; start < waits.size(); ++start) {
    if (states[start] == State::New)
      enter(static_cast<int32_t>(start));
    while (!path.empty()) {
      int32_t task = path.back();
      if (next[task] == waits[task].size()) {
        states[task] = State::Done;
        path.pop_back();
        continue;
      }
      int32_t awaited = waits[task][next[task]++];
      if (states[awaited] == State::New)
        enter(awaited);
      else if (states[awaited] == State::OnPath) {
        auto first = path.begin();
        while (*first != awaited)
          ++first;
        return std::vector<int32_t>(first, path.end());
      }
    }
  }
  return {};
}
