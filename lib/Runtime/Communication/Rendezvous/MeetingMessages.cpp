//===- MeetingMessages.cpp - The messages of ranks until they have met ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No field is used before it is checked, whoever sent it.
//
//===----------------------------------------------------------------------===//
#include "Communication/Rendezvous/MeetingMessages.h"

#include "Communication/Control/CheckMessage.h"
#include "Communication/DurationToString.h"
#include "Communication/Secret.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <utility>

namespace bagua::runtime {
namespace {

using fb::ControlKind;

/// The most ranks that a message names.
constexpr size_t kMostNamed = 32;

std::string purposeOf(const ControlMessage &hello, absl::string_view speaker) {
  return absl::StrCat(speaker, " meets process ", hello.process, " as rank ",
                      hello.rank);
}

/// Checks the number of each rank's host; hosts are numbered in the order of
/// first ranks from 0.
absl::Status checkHosts(const std::vector<int> &hosts, int size) {
  if (hosts.size() != static_cast<size_t>(size))
    return absl::AbortedError(absl::StrCat("rank 0 welcomes to a run of ",
                                           hosts.size(), " ranks, expected ",
                                           size));
  int next = 0;
  for (int host : hosts) {
    if (host < 0 || host > next)
      return absl::AbortedError(
          absl::StrCat("rank 0 names a host ", host, ", expected 0 to ", next));
    next = std::max(next, host + 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Joined>> readWelcome(const ControlMessage &said,
                                                  absl::string_view secret,
                                                  const JoinOptions &options) {
  if (absl::Status status = checkHosts(said.hosts, options.size); !status.ok())
    return status;
  if (!isSecret(said.secret) || (options.store && said.secret != secret))
    return absl::AbortedError("rank 0 welcomes to another run");
  if (said.text.size() > kMostName)
    return absl::AbortedError(
        absl::StrCat("rank 0 names an address of ", said.text.size(),
                     " bytes, expected at most ", kMostName));
  Joined joined;
  joined.hosts = said.hosts;
  joined.secret = said.secret;
  joined.reachedAt = said.text;
  return std::optional(std::move(joined));
}

} // namespace

std::string listRanks(const std::vector<int> &ranks) {
  const size_t named = std::min(ranks.size(), kMostNamed);
  std::string list = absl::StrJoin(ranks.begin(), ranks.begin() + named, ", ");
  if (named < ranks.size())
    absl::StrAppend(&list, " and ", ranks.size() - named, " more");
  return list;
}

ControlMessage helloOf(const JoinOptions &options, uint64_t process,
                       absl::string_view secret) {
  ControlMessage hello;
  hello.kind = ControlKind::Hello;
  hello.rank = options.rank;
  hello.size = options.size;
  hello.version = kProtocol;
  hello.host = options.host;
  hello.patience_ns = options.patience.count();
  hello.process = process;
  hello.proof = derive(secret, purposeOf(hello, "a guest"));
  return hello;
}

bool isHelloOf(const ControlMessage &hello, absl::string_view secret) {
  return hello.kind == ControlKind::Hello &&
         isDerived(hello.proof, secret, purposeOf(hello, "a guest"));
}

std::string disagreement(const ControlMessage &hello,
                         const JoinOptions &options) {
  if (hello.version != kProtocol)
    return absl::StrCat("rank ", hello.rank, " speaks version ", hello.version,
                        " of the protocol, rank 0 version ", kProtocol);
  if (hello.size != options.size)
    return absl::StrCat("rank ", hello.rank, " says that the run has ",
                        hello.size, " ranks, rank 0 says ", options.size);
  if (hello.rank < 1 || hello.rank >= options.size)
    return absl::StrCat("a rank ", hello.rank, " has come, expected 1 to ",
                        options.size - 1);
  if (hello.host.size() > kMostName)
    return absl::StrCat("rank ", hello.rank, "'s host has a name of ",
                        hello.host.size(), " bytes, expected at most ",
                        kMostName);
  if (hello.patience_ns != options.patience.count())
    return absl::StrCat(
        "rank ", hello.rank, " lets others be silent for ",
        durationToString(std::chrono::nanoseconds(hello.patience_ns)),
        " (patience), rank 0 for ", durationToString(options.patience));
  return {};
}

std::string proofFor(const ControlMessage &hello, absl::string_view secret) {
  return derive(secret, purposeOf(hello, "rank 0"));
}

ControlMessage refusalOf(const absl::Status &why) {
  ControlMessage refusal;
  refusal.kind = ControlKind::Refusal;
  refusal.code = why.raw_code();
  refusal.text = std::string(why.message().substr(0, kMostText));
  return refusal;
}

ControlMessage welcomeOf(const Joined &joined) {
  ControlMessage welcome;
  welcome.kind = ControlKind::Welcome;
  welcome.hosts = joined.hosts;
  welcome.secret = joined.secret;
  welcome.text = joined.reachedAt;
  return welcome;
}

absl::StatusOr<std::optional<Joined>> readAnswer(const ControlMessage &said,
                                                 const ControlMessage &hello,
                                                 absl::string_view secret,
                                                 const JoinOptions &options) {
  if (!isDerived(said.proof, secret, purposeOf(hello, "rank 0")))
    return absl::AbortedError(
        absl::StrCat("the process that listens there is not rank 0 of this "
                     "run: it does not know the run's ",
                     options.store ? "secret" : "name"));
  switch (said.kind) {
  case ControlKind::Heartbeat:
    if (said.text.size() > kMostText)
      return absl::AbortedError(
          absl::StrCat("rank 0 sent a text of ", said.text.size(),
                       " bytes, expected at most ", kMostText));
    return std::nullopt;
  case ControlKind::Welcome:
    return readWelcome(said, secret, options);
  case ControlKind::Refusal:
    if (absl::Status status = checkError(said); !status.ok())
      return absl::AbortedError(absl::StrCat("rank 0 sent ", status.message()));
    return absl::Status(static_cast<absl::StatusCode>(said.code), said.text);
  default:
    return absl::AbortedError(absl::StrCat(
        "rank 0 sent a message of kind ", static_cast<int>(said.kind),
        ", which it does not send while ranks meet"));
  }
}

} // namespace bagua::runtime
