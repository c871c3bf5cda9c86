//===- CheckMessage.h - Checks a control message before it is used --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every field of a control message is checked here before it is used as an
// index, a code or a length. The sender may be a stranger, a rank of another
// version, or a damaged process.
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

/// Checks a message from rank `sender`, after the `size` ranks of the run have
/// met. Only rank 0 may speak for other ranks. InvalidArgument says what was
/// found in place of what; its text follows "it sent".
absl::Status checkMessage(const ControlMessage &message, int sender, int size);

/// Checks that `code` is the code of an error, and that there is a text.
absl::Status checkError(const ControlMessage &message);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CHECKMESSAGE_H
