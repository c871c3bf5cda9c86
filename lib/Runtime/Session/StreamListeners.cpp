//===- StreamListeners.cpp - Who is told when a stream has come so far ----===//
//
// A stream counts first and then looks at `earliest`; who adds sets `earliest`
// and then looks at the count (Counter::value). One of the two sees the other.
//
//===----------------------------------------------------------------------===//
#include "Session/StreamListeners.h"

#include <utility>
#include <vector>

namespace bagua::runtime {

void StreamListeners::add(uint64_t target, std::function<void()> tell) {
  std::lock_guard<std::mutex> lock(mutex);
  listeners.emplace(target, std::move(tell));
  earliest.store(listeners.begin()->first, std::memory_order_seq_cst);
}

void StreamListeners::tellUpTo(uint64_t count) {
  std::vector<std::function<void()>> due;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto end = listeners.upper_bound(count);
    for (auto listener = listeners.begin(); listener != end; ++listener)
      due.push_back(std::move(listener->second));
    listeners.erase(listeners.begin(), end);
    earliest.store(listeners.empty() ? kEverybody : listeners.begin()->first,
                   std::memory_order_seq_cst);
  }
  for (auto &tell : due)
    tell();
}

} // namespace bagua::runtime
