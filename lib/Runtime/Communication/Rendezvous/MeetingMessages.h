//===- MeetingMessages.h - What ranks say until they have met -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made and checked here; Joining.cpp says when. Each side proves to the other
// that it knows what tells the run from others: the secret in the store, or,
// where ranks meet at an address that all know, the run's name. A proof is
// derived from that for one process and one direction, so who sees it learns
// nothing by which he could pass for rank 0.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_MEETINGMESSAGES_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_MEETINGMESSAGES_H

#include "Communication/Rendezvous/Joining.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bagua::runtime {

/// Of the messages. Ranks of different ones refuse each other.
constexpr int kProtocol = 5;

/// "2, 5, 6", of many the first and how many more there are.
std::string listRanks(const std::vector<int> &ranks);

/// A rank's first word, from the process that has drawn `process`.
ControlMessage helloOf(const JoinOptions &options, uint64_t process,
                       absl::string_view secret);
/// Whether it comes from somebody who knows `secret`.
bool isHelloOf(const ControlMessage &hello, absl::string_view secret);
/// What keeps a rank of this run from taking part; empty: nothing. All but
/// whether it is expected.
std::string disagreement(const ControlMessage &hello,
                         const JoinOptions &options);

/// By which rank 0 proves itself to the process that said `hello`.
std::string proofFor(const ControlMessage &hello, absl::string_view secret);

ControlMessage refusalOf(const absl::Status &why);
ControlMessage welcomeOf(const Joined &joined);

/// What rank 0 has said, checked field by field: nothing (a heartbeat), or who
/// has joined, without the channel. Aborted: the connection is not to rank 0 of
/// this run, or not to one that can be understood; another error: rank 0
/// refuses this rank, for that reason. `hello` and `secret` as they were said.
absl::StatusOr<std::optional<Joined>> readAnswer(const ControlMessage &said,
                                                 const ControlMessage &hello,
                                                 absl::string_view secret,
                                                 const JoinOptions &options);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_MEETINGMESSAGES_H
