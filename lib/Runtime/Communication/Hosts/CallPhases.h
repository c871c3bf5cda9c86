//===- CallPhases.h - The order in which a call between hosts goes --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call is filled, sent to members of other hosts, shown to those of this one,
// collected from all, and agreed on; then its data may move. Each phase is a
// type: its last method consumes it and makes the next phase. So code that
// skips a phase, repeats one, or reads what has not come yet does not compile.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_CALLPHASES_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_CALLPHASES_H

#include "Communication/CollectiveCall.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace bagua::runtime {

class CallExchange;
class PeerWaits;
class RunState;
struct CommunicatorOptions;

/// Moves only. The exchange outlives it.
class CallPhase {
public:
  CallPhase(CallPhase &&other) noexcept : exchange(&other.leave()) {}
  CallPhase &operator=(CallPhase &&) = delete;

protected:
  explicit CallPhase(CallExchange &ownExchange) : exchange(&ownExchange) {}
  ~CallPhase() = default;

  /// The phase has no exchange any more, and must not be used.
  CallExchange &leave() { return *std::exchange(exchange, nullptr); }

  CallExchange *exchange;
};

/// All members ask the same: data may move.
class AgreedCall : public CallPhase {
public:
  const CollectiveCall &callOf(int member) const;
  /// The small input, or the part of one, that came with a member's call.
  const std::byte *payloadOf(int member) const;

private:
  friend class CollectedCall;
  explicit AgreedCall(CallExchange &of) : CallPhase(of) {}
};

/// All members' calls are here.
class CollectedCall : public CallPhase {
public:
  /// Errors are those of checkCalls.
  absl::StatusOr<AgreedCall> agree() &&;

private:
  friend class ShownCall;
  explicit CollectedCall(CallExchange &of) : CallPhase(of) {}
};

/// The calls of this host's members are here.
class ShownCall : public CallPhase {
public:
  /// Whether they are alike, and none is refused: the same on all of them.
  bool areNeighboursAlike() const;
  /// Waits for the records of all peers. Errors have ended the run.
  absl::StatusOr<CollectedCall> collect(PeerWaits &waits) &&;

private:
  friend class SentCall;
  explicit ShownCall(CallExchange &of) : CallPhase(of) {}
};

/// This member's record goes to all peers.
class SentCall : public CallPhase {
public:
  /// Meets the other members of this host for `what`.
  absl::StatusOr<ShownCall> show(RunState &state, std::string_view what,
                                 const CommunicatorOptions &options) &&;

private:
  friend class FilledCall;
  SentCall(CallExchange &of, int64_t bytes)
      : CallPhase(of), payloadBytes(bytes) {}

  int64_t payloadBytes;
};

/// This member's own call.
class FilledCall : public CallPhase {
public:
  /// With so many bytes of CallExchange::payload(), a small input.
  absl::StatusOr<SentCall> send(int64_t payloadBytes) &&;
  /// To each peer with what `payloadFor` gives it, which others don't see.
  absl::StatusOr<SentCall>
  send(absl::FunctionRef<absl::Span<const std::byte>(int)> payloadFor) &&;

private:
  friend class CallExchange;
  explicit FilledCall(CallExchange &of) : CallPhase(of) {}
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_CALLPHASES_H
