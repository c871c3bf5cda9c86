//===- CheckMessage.cpp - Checks a control message before it is used ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table says who may send which kind; each field has a range.
//
//===----------------------------------------------------------------------===//
#include "Communication/Control/CheckMessage.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace bagua::runtime {
namespace {

using fb::ControlKind;

/// The senders of a kind of message after ranks have met.
enum class Sender { Nobody, Rank0, Others, All };

Sender senderOf(ControlKind kind) {
  switch (kind) {
  case ControlKind::Hello:
  case ControlKind::Welcome:
  case ControlKind::Refusal:
    return Sender::Nobody;
  case ControlKind::Kept:
    return Sender::Rank0;
  case ControlKind::Claim:
  case ControlKind::Ask:
    return Sender::Others;
  case ControlKind::Heartbeat:
  case ControlKind::Abort:
  case ControlKind::Note:
  case ControlKind::Leave:
  case ControlKind::Goodbye:
  case ControlKind::Lost: // others' of themselves: a thread hangs
    return Sender::All;
  }
  return Sender::Nobody; // not an enumerator
}

absl::Status wrong(const char *what, int64_t found,
                   const std::string &expected) {
  return absl::InvalidArgumentError(absl::StrCat(
      "a message with ", what, " ", found, ", expected ", expected));
}

absl::Status checkLength(const char *what, const std::string &text,
                         size_t most) {
  return text.size() <= most ? absl::OkStatus()
                             : wrong(what, static_cast<int64_t>(text.size()),
                                     absl::StrCat("at most ", most));
}

/// Checks the place of an error; -1 stands for none.
absl::Status checkPlace(const ControlMessage &message, int size) {
  if (message.at_rank < -1 || message.at_rank >= size)
    return wrong("an error of rank", message.at_rank,
                 absl::StrCat("one below ", size));
  const int64_t least =
      std::min({message.at_tensor, message.at_instruction, message.at_step});
  return least < -1 ? wrong("an error of number", least, "one from 0")
                    : absl::OkStatus();
}

} // namespace

absl::Status checkError(const ControlMessage &message) {
  constexpr int kLast = static_cast<int>(absl::StatusCode::kUnauthenticated);
  if (message.code < 1 || message.code > kLast)
    return wrong("code", message.code, absl::StrCat("1 to ", kLast));
  return checkLength("a text of bytes", message.text, kMostText);
}

absl::Status checkMessage(const ControlMessage &message, int sender, int size) {
  const Sender allowed = senderOf(message.kind);
  const bool isAllowed =
      allowed == Sender::All ||
      allowed == (sender == 0 ? Sender::Rank0 : Sender::Others);
  if (!isAllowed)
    return absl::InvalidArgumentError(
        absl::StrCat("a message of kind ", static_cast<int>(message.kind),
                     sender == 0 ? ", which rank 0 does not send"
                                 : ", which no other rank than rank 0 sends"));
  if (sender != 0 && message.rank != sender)
    return wrong("rank", message.rank, absl::StrCat("its own, ", sender));
  if (message.rank < 0 || message.rank >= size)
    return wrong("rank", message.rank, absl::StrCat("one below ", size));
  absl::Status status = checkLength("a key of bytes", message.key, kMostKey);
  status.Update(checkLength("a text of bytes", message.text, kMostText));
  if (message.kind == ControlKind::Abort) {
    status.Update(checkError(message));
    status.Update(checkPlace(message, size));
  }
  return status;
}

} // namespace bagua::runtime
