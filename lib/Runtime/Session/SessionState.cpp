//===- SessionState.cpp - A rank's state as bytes -------------------------===//
//
// A reader that trusts no length, and its writer.
//
//===----------------------------------------------------------------------===//
#include "Session/SessionState.h"

#include "bagua/Support/Fingerprint.h"

#include <cstring>
#include <utility>

namespace bagua::runtime {
namespace {

constexpr absl::string_view kMagic = "BGST";
constexpr uint32_t kStateVersion = 0;

template <typename T> void append(std::string &out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void appendString(std::string &out, absl::string_view text) {
  append<uint64_t>(out, text.size());
  out.append(text.data(), text.size());
}

/// Takes from the front of what is left; false when that is too short.
class Reader {
public:
  explicit Reader(absl::string_view bytes) : rest(bytes) {}

  template <typename T> bool read(T &value) {
    if (rest.size() < sizeof(T))
      return false;
    std::memcpy(&value, rest.data(), sizeof(T));
    rest.remove_prefix(sizeof(T));
    return true;
  }

  bool readString(std::string &text) {
    uint64_t length;
    if (!read(length) || rest.size() < length)
      return false;
    text.assign(rest.data(), length);
    rest.remove_prefix(length);
    return true;
  }

  bool isAtEnd() const { return rest.empty(); }

private:
  absl::string_view rest;
};

} // namespace

bool isSavedState(const fb::Tensor &tensor) {
  switch (tensor.role()) {
  case fb::Role::Optimizer:
  case fb::Role::Buffer:
  case fb::Role::Residual:
  case fb::Role::Replica:
    return true;
  case fb::Role::Param:
    return tensor.arena() >= 0;
  default:
    return false;
  }
}

std::string writeState(const SavedState &state) {
  std::string out(kMagic);
  append(out, kStateVersion);
  append(out, state.steps);
  append<uint64_t>(out, state.tensors.size());
  for (const auto &[name, tensor] : state.tensors) {
    appendString(out, name);
    append(out, tensor.type);
    appendString(out, tensor.bytes);
  }
  append(out, fingerprintBytes(out.data(), out.size()));
  return out;
}

absl::StatusOr<SavedState> readState(absl::string_view bytes) {
  uint32_t version;
  uint64_t count, found;
  if (bytes.size() < kMagic.size() + sizeof(found) ||
      bytes.substr(0, kMagic.size()) != kMagic)
    return absl::InvalidArgumentError("not a session's state");
  absl::string_view body = bytes.substr(0, bytes.size() - sizeof(found));
  std::memcpy(&found, bytes.data() + body.size(), sizeof(found));
  if (found != fingerprintBytes(body.data(), body.size()))
    return absl::InvalidArgumentError("the session's state is damaged");
  Reader reader(body.substr(kMagic.size()));
  SavedState state;
  bool isGood = reader.read(version) && version == kStateVersion &&
                reader.read(state.steps) && state.steps >= 0 &&
                reader.read(count);
  for (uint64_t i = 0; isGood && i < count; ++i) {
    std::string name;
    SavedTensor tensor;
    isGood = reader.readString(name) && reader.read(tensor.type) &&
             reader.readString(tensor.bytes);
    state.tensors[std::move(name)] = std::move(tensor);
  }
  if (!isGood || !reader.isAtEnd())
    return absl::InvalidArgumentError(
        "the session's state is of another version");
  return state;
}

} // namespace bagua::runtime
