//===- CheckMessage.h - Whether a message may be acted on -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every field of a control message is checked here before it is used as an
// index, a code or a length: whoever sends it may be a stranger, a rank of
// another version, or a damaged process.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CHECKMESSAGE_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CHECKMESSAGE_H

#include "Communication/Control/ControlChannel.h"

#include "absl/status/status.h"

#include <cstddef>

namespace bagua::runtime {

/// The most bytes of a message's text, and of a key.
constexpr size_t kMostText = size_t{64} << 10;
constexpr size_t kMostKey = size_t{16} << 10;

/// Of a run of `size` ranks that have met: a message from rank `sender`, which
/// speaks for others only if it is rank 0. InvalidArgument says what was found
/// in place of what, to be read behind "it sent".
absl::Status checkMessage(const ControlMessage &message, int sender, int size);

/// That `code` is the code of an error, and the text is one that is said.
absl::Status checkError(const ControlMessage &message);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CHECKMESSAGE_H
