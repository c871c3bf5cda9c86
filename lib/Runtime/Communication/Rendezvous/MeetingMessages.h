//===- MeetingMessages.h - The messages of ranks until they have met ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages are made and checked here; Joining.cpp says when they are sent. Each
// side proves to the other that it knows what distinguishes this run: the
// secret in the store or, if ranks meet at an address that all know, the run's
// name. A proof is derived from that for one process and one direction, so
// whoever sees it learns nothing by which it could pass for rank 0.
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

/// The version of the messages. Ranks of different versions refuse each other.
constexpr int kProtocol = 5;

/// "2, 5, 6"; of many ranks the first ones, and how many more there are.
std::string listRanks(const std::vector<int> &ranks);

/// A rank's first message; its process has drawn the number `process`.
ControlMessage helloOf(const JoinOptions &options, uint64_t process,
                       absl::string_view secret);
/// Whether the sender knows `secret`.
bool isHelloOf(const ControlMessage &hello, absl::string_view secret);
/// Why a rank of this run can't take part; empty if it can. Does not check
/// whether the rank is expected.
std::string disagreement(const ControlMessage &hello,
                         const JoinOptions &options);

/// The proof of rank 0 for the process that said `hello`.
std::string proofFor(const ControlMessage &hello, absl::string_view secret);

ControlMessage refusalOf(const absl::Status &why);
ControlMessage welcomeOf(const Joined &joined);

/// Checks, field by field, what rank 0 has said to `hello` with `secret`.
/// Returns nothing for a heartbeat, else the result of joining, without the
/// channel. Aborted if the peer is not rank 0 of this run, or can't be
/// understood. Another error means that rank 0 refuses this rank, for that
/// reason.
absl::StatusOr<std::optional<Joined>> readAnswer(const ControlMessage &said,
                                                 const ControlMessage &hello,
                                                 absl::string_view secret,
                                                 const JoinOptions &options);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_MEETINGMESSAGES_H
