//===- CallPhasesTest.cpp - A call's phases come in their order -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asked of the compiler: of each phase, what can be called on it, and that only
// the phase before makes it. So this file fails by not compiling.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/CallExchange.h"

#include <gtest/gtest.h>

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

namespace bagua::runtime {
namespace {

using PayloadFor = absl::FunctionRef<absl::Span<const std::byte>(int)>;

/// The methods that an object of this type and value category has, in words.
template <typename Phase> constexpr std::string_view methods() {
  constexpr bool kSends = requires(Phase && phase) {
    std::forward<Phase>(phase).send(int64_t{0});
  };
  constexpr bool kSendsParts = requires(Phase && phase, PayloadFor payloadFor) {
    std::forward<Phase>(phase).send(payloadFor);
  };
  constexpr bool kShows = requires(Phase && phase, RunState & state,
                                   const CommunicatorOptions &options) {
    std::forward<Phase>(phase).show(state, "", options);
  };
  constexpr bool kCollects = requires(Phase && phase, PeerWaits & waits) {
    std::forward<Phase>(phase).collect(waits);
  };
  constexpr bool kAgrees = requires(Phase && phase) {
    std::forward<Phase>(phase).agree();
  };
  constexpr bool kReadsNeighbours = requires(Phase && phase) {
    std::forward<Phase>(phase).areNeighboursAlike();
  };
  constexpr bool kReadsCalls = requires(Phase && phase) {
    std::forward<Phase>(phase).callOf(0);
  };
  constexpr bool kReadsInputs = requires(Phase && phase) {
    std::forward<Phase>(phase).payloadOf(0);
  };
  static_assert(kSends == kSendsParts && kReadsCalls == kReadsInputs);
  constexpr int kCount =
      kSends + kShows + kCollects + kAgrees + kReadsNeighbours + kReadsCalls;
  static_assert(kCount <= 2);
  if (kReadsNeighbours)
    return kCollects ? "collect, neighbours" : "neighbours";
  if (kCount != 1)
    return kCount == 0 ? "none" : "several";
  return kSends      ? "send"
         : kShows    ? "show"
         : kCollects ? "collect"
         : kAgrees   ? "agree"
                     : "read";
}

/// Objects of a phase that somebody holds, and those that are given away.
static_assert(methods<FilledCall>() == "send");
static_assert(methods<FilledCall &>() == "none");
static_assert(methods<SentCall>() == "show");
static_assert(methods<SentCall &>() == "none");
static_assert(methods<ShownCall>() == "collect, neighbours");
static_assert(methods<ShownCall &>() == "neighbours");
static_assert(methods<CollectedCall>() == "agree");
static_assert(methods<CollectedCall &>() == "none");
static_assert(methods<AgreedCall>() == "read");
static_assert(methods<AgreedCall &>() == "read");

/// Each makes the next one.
static_assert(std::same_as<decltype(std::declval<FilledCall>().send(0)),
                           absl::StatusOr<SentCall>>);
static_assert(std::same_as<decltype(std::declval<SentCall>().show(
                               std::declval<RunState &>(), "",
                               std::declval<CommunicatorOptions &>())),
                           absl::StatusOr<ShownCall>>);
static_assert(std::same_as<decltype(std::declval<ShownCall>().collect(
                               std::declval<PeerWaits &>())),
                           absl::StatusOr<CollectedCall>>);
static_assert(std::same_as<decltype(std::declval<CollectedCall>().agree()),
                           absl::StatusOr<AgreedCall>>);

/// And nobody else does, from an exchange, another phase, or one more of it.
template <typename Phase, typename... Others>
constexpr bool isOnlyMoved =
    std::is_move_constructible_v<Phase> &&
    !std::is_copy_constructible_v<Phase> && !std::is_copy_assignable_v<Phase> &&
    !std::is_move_assignable_v<Phase> &&
    !std::is_default_constructible_v<Phase> &&
    !std::is_constructible_v<Phase, CallExchange &> &&
    !std::is_constructible_v<Phase, CallExchange &, int64_t> &&
    (!std::is_constructible_v<Phase, Others> && ...);
static_assert(isOnlyMoved<FilledCall, SentCall, ShownCall, CollectedCall>);
static_assert(isOnlyMoved<SentCall, FilledCall, ShownCall, CollectedCall>);
static_assert(isOnlyMoved<ShownCall, FilledCall, SentCall, CollectedCall>);
static_assert(isOnlyMoved<CollectedCall, FilledCall, SentCall, ShownCall>);
static_assert(
    isOnlyMoved<AgreedCall, FilledCall, SentCall, ShownCall, CollectedCall>);

} // namespace
} // namespace bagua::runtime
