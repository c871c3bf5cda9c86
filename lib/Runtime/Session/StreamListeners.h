//===- StreamListeners.h - Who is told when a stream has come so far ------===//
//
// For callbacks. A stream asks after each instruction whether anybody is to be
// told, which costs it a load.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_STREAMLISTENERS_H
#define BAGUA_LIB_RUNTIME_SESSION_STREAMLISTENERS_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace bagua::runtime {

class StreamListeners {
public:
  static constexpr uint64_t kEverybody = UINT64_MAX;

  /// Has `tell` called once by tellUpTo(). The caller looks afterwards whether
  /// the stream has come to `target`: it may not have seen this one.
  void add(uint64_t target, std::function<void()> tell);

  /// Of a stream that has said that it has come to `count`.
  bool isDue(uint64_t count) const {
    return earliest.load(std::memory_order_seq_cst) <= count;
  }
  /// Calls those that wait for `count` or less, on this thread.
  void tellUpTo(uint64_t count);

private:
  std::mutex mutex;
  std::multimap<uint64_t, std::function<void()>> listeners;
  /// The least target; kEverybody where there is none.
  std::atomic<uint64_t> earliest{kEverybody};
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_STREAMLISTENERS_H
