//===- ControlChannel.cpp - Messages over a connected socket --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A message is its length in 4 bytes, then a FlatBuffer.
//
//===----------------------------------------------------------------------===//
#include "Communication/Control/ControlChannel.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <utility>

namespace bagua::runtime {
namespace {

constexpr size_t kHeaderBytes = sizeof(flatbuffers::uoffset_t);
/// Bytes that one call reads at most.
constexpr size_t kPieceBytes = 16 * 1024;

absl::Status gone(const char *why) {
  return absl::UnavailableError(absl::StrCat("the connection ", why));
}

bool isTryAgain(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

} // namespace

ControlChannel::ControlChannel(Descriptor connected)
    : descriptor(std::move(connected)) {
  int flags = fcntl(descriptor.number(), F_GETFL);
  fcntl(descriptor.number(), F_SETFL, flags | O_NONBLOCK);
}

void ControlChannel::queue(const ControlMessage &message) {
  flatbuffers::FlatBufferBuilder builder;
  builder.FinishSizePrefixed(fb::ControlMessage::Pack(builder, &message));
  outgoing.append(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                  builder.GetSize());
}

absl::Status ControlChannel::flush() {
  while (hasUnsent()) {
    ssize_t written = send(descriptor.number(), outgoing.data() + sent,
                           outgoing.size() - sent, MSG_NOSIGNAL);
    if (written < 0)
      return isTryAgain(errno) ? absl::OkStatus() : gone(std::strerror(errno));
    sent += static_cast<size_t>(written);
  }
  outgoing.clear();
  sent = 0;
  return absl::OkStatus();
}

absl::Status ControlChannel::fill() {
  while (incoming.size() <= kMaxBytes) {
    size_t before = incoming.size();
    incoming.resize(before + kPieceBytes);
    ssize_t got =
        recv(descriptor.number(), incoming.data() + before, kPieceBytes, 0);
    incoming.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0)
      return gone("was closed");
    if (got < 0)
      return isTryAgain(errno) ? absl::OkStatus() : gone(std::strerror(errno));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<ControlMessage>> ControlChannel::next() {
  if (incoming.size() < kHeaderBytes)
    return std::nullopt;
  const auto *begin = reinterpret_cast<const uint8_t *>(incoming.data());
  size_t bytes = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(begin);
  if (bytes > kMaxBytes)
    return absl::InvalidArgumentError(absl::StrCat(
        "a message of ", bytes, " bytes, expected at most ", kMaxBytes));
  if (incoming.size() < kHeaderBytes + bytes)
    return std::nullopt;
  // The copy is aligned as FlatBuffers requires.
  std::string whole = incoming.substr(0, kHeaderBytes + bytes);
  incoming.erase(0, whole.size());
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(whole.data()), whole.size());
  if (!fb::VerifySizePrefixedControlMessageBuffer(verifier))
    return absl::InvalidArgumentError("a malformed message");
  ControlMessage message;
  fb::GetSizePrefixedControlMessage(whole.data())->UnPackTo(&message);
  return message;
}

} // namespace bagua::runtime
