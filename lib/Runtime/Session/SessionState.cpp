//===- SessionState.cpp - A rank's state as bytes -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reader that trusts no length, a writer, and the conversion of a state to
// another rank, cluster or plan.
//
//===----------------------------------------------------------------------===//
#include "Session/SessionState.h"
#include "Plan/PhaseTable.h"
#include "Plan/Roles.h"

#include "Session/TensorOwners.h"

#include "bagua/Support/DataType.h"
#include "bagua/Support/Fingerprint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bagua::runtime {
namespace {

constexpr absl::string_view kMagic = "BGST";
constexpr uint32_t kStateVersion = 3;

template <typename T> void append(std::string &out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void appendString(std::string &out, absl::string_view text) {
  append<uint64_t>(out, text.size());
  out.append(text.data(), text.size());
}

/// Takes fields from the front of the remaining bytes; returns false if these
/// are too short.
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

bool readTensor(Reader &reader, std::string &name, SavedTensor &tensor) {
  uint8_t role;
  uint64_t dimensions;
  if (!reader.readString(name) || !reader.read(tensor.type) ||
      tensor.type > static_cast<uint8_t>(fb::DataType::MAX) ||
      !reader.read(role) || role > static_cast<uint8_t>(fb::Role::MAX) ||
      !reader.read(tensor.updates) || tensor.updates < 0 ||
      tensor.updates > kMaxSteps || !reader.read(dimensions))
    return false;
  tensor.role = static_cast<fb::Role>(role);
  for (uint64_t i = 0; i < dimensions; ++i) {
    int64_t size;
    if (!reader.read(size))
      return false;
    tensor.shape.push_back(size);
  }
  return reader.readString(tensor.layout) && reader.readString(tensor.bytes);
}

bool readTensors(Reader &reader, std::map<std::string, SavedTensor> &tensors) {
  uint64_t count;
  bool isGood = reader.read(count);
  for (uint64_t i = 0; isGood && i < count; ++i) {
    std::string name;
    SavedTensor tensor;
    isGood = readTensor(reader, name, tensor) &&
             tensors.try_emplace(std::move(name), std::move(tensor)).second;
  }
  return isGood;
}

void appendTensors(std::string &out,
                   const std::map<std::string, SavedTensor> &tensors) {
  append<uint64_t>(out, tensors.size());
  for (const auto &[name, tensor] : tensors) {
    appendString(out, name);
    append(out, tensor.type);
    append(out, static_cast<uint8_t>(tensor.role));
    append(out, tensor.updates);
    append<uint64_t>(out, tensor.shape.size());
    for (int64_t size : tensor.shape)
      append(out, size);
    appendString(out, tensor.layout);
    appendString(out, tensor.bytes);
  }
}

absl::Status invalid(const std::string &message) {
  return absl::InvalidArgumentError(message);
}

std::string nameOf(const fb::Tensor &tensor) { return tensor.name()->str(); }

std::string formOf(const SavedTensor &tensor) {
  return absl::StrCat(
      std::string(dataTypeName(static_cast<DataType>(tensor.type))), " [",
      absl::StrJoin(tensor.shape, "x"), "]", tensor.layout.empty() ? "" : " ",
      tensor.layout);
}

/// Whether the runtime runs the updates of a step: the step of a plan, or that
/// of a state.
bool hasUpdates(const std::vector<bool> &isUpdated) {
  return std::find(isUpdated.begin(), isUpdated.end(), true) != isUpdated.end();
}

bool hasUpdates(const SavedState &state) {
  return std::any_of(state.tensors.begin(), state.tensors.end(),
                     [](const auto &entry) {
                       return entry.second.role == fb::Role::Param ||
                              entry.second.role == fb::Role::Optimizer;
                     });
}

/// Checks that a state is of a step with the same gradients, as far as both
/// plans name them.
absl::Status compareGradients(const SavedState &own, const SavedState &state) {
  bool isKnown = own.gradients.empty() || state.gradients.empty();
  for (const auto &[name, tensor] : own.gradients) {
    auto found = state.gradients.find(name);
    if (found == state.gradients.end())
      continue;
    isKnown = true;
    if (found->second.type != tensor.type ||
        found->second.shape != tensor.shape)
      return invalid(absl::StrCat("the state is of another model: expected '",
                                  name, "' of ", formOf(tensor), ", found ",
                                  formOf(found->second)));
  }
  return isKnown ? absl::OkStatus()
                 : invalid(absl::StrCat(
                       "the state is of another model: expected gradients of '",
                       own.plan, "', found those of '", state.plan, "'"));
}

/// The axes' sizes and the number of servers.
std::string clusterOf(const Plan &plan) {
  const fb::Cluster &cluster = *plan.root().cluster();
  std::vector<int64_t> sizes, serverAxes;
  for (const fb::Axis *axis : *cluster.axes())
    sizes.push_back(axis->size());
  if (cluster.server_axes())
    serverAxes.assign(cluster.server_axes()->begin(),
                      cluster.server_axes()->end());
  return absl::StrCat(
      "[", absl::StrJoin(sizes, ", "), "], ", cluster.dedicated_servers(),
      " servers",
      cluster.has_colocated_servers()
          ? absl::StrCat(" and on [", absl::StrJoin(serverAxes, ", "), "]")
          : "");
}

/// Converts one tensor of a state saved on `cluster` to `tensor` of a plan.
absl::Status adaptTensor(const Plan &plan, int64_t rank,
                         const fb::Tensor &tensor, const std::string &cluster,
                         SavedTensor &saved) {
  SavedTensor wanted = describeTensor(tensor);
  Layout layout = readLayout(tensor.layout());
  int64_t elementBytes = dataTypeBytes(static_cast<DataType>(tensor.type()));
  int64_t bytes = localCount(tensor, plan.cluster(), rank) * elementBytes;
  bool isWhole = saved.layout.empty();
  bool isSame = saved.type == wanted.type && saved.shape == wanted.shape;
  const std::string own = clusterOf(plan);
  bool isOneCluster = cluster == own;
  if (isSame && saved.layout == wanted.layout && !isWhole && !isOneCluster)
    return invalid(absl::StrCat("state of tensor '", nameOf(tensor),
                                "', of which each rank keeps a part: expected "
                                "that of ranks ",
                                own, ", found that of ranks ", cluster));
  if (isSame && saved.layout == wanted.layout && (isWhole || isOneCluster) &&
      static_cast<int64_t>(saved.bytes.size()) == bytes)
    return absl::OkStatus();
  if (isSame && isWhole && plan.cluster().isWorker(rank) &&
      !isOnServers(layout) &&
      static_cast<int64_t>(saved.bytes.size()) ==
          elementsOf(tensor) * elementBytes) {
    ElementRange range =
        workerRange(elementsOf(tensor), layout, plan.cluster(), rank);
    saved.bytes = saved.bytes.substr(range.begin * elementBytes,
                                     range.size() * elementBytes);
    return absl::OkStatus();
  }
  return invalid(absl::StrCat("state of tensor '", nameOf(tensor),
                              "': expected ", formOf(wanted), " of ", bytes,
                              " bytes, found ", formOf(saved), " of ",
                              saved.bytes.size()));
}

} // namespace

SavedState describeState(const Plan &plan, int64_t rank, int64_t steps) {
  SavedState state;
  state.steps = steps;
  state.rank = rank;
  state.ranks = plan.topology().ranks();
  state.cluster = clusterOf(plan);
  state.plan = plan.root().name()->str();
  if (std::string strategies = strategiesOf(plan.root()); !strategies.empty())
    absl::StrAppend(&state.plan, "' by '", strategies);
  for (const fb::Tensor *tensor : *plan.root().tensors())
    if (tensor->role() == fb::Role::Gradient) {
      SavedTensor gradient = describeTensor(*tensor);
      gradient.layout.clear();
      state.gradients[nameOf(*tensor)] = std::move(gradient);
    }
  return state;
}

SavedTensor describeTensor(const fb::Tensor &tensor) {
  SavedTensor saved;
  saved.type = static_cast<uint8_t>(tensor.type());
  saved.role = tensor.role();
  if (tensor.shape())
    saved.shape.assign(tensor.shape()->begin(), tensor.shape()->end());
  saved.layout = layoutToString(readLayout(tensor.layout()));
  return saved;
}

std::vector<bool> findSaved(const Plan &plan, int64_t rank,
                            const std::vector<bool> &isUpdated) {
  const std::vector<bool> isUsed = findUsed(plan);
  std::vector<bool> isSaved(isUpdated.size());
  for (uint32_t i = 0; i < isSaved.size(); ++i) {
    const fb::Tensor &tensor = *plan.root().tensors()->Get(i);
    isSaved[i] = isState(tensor.role()) && isUsed[i] &&
                 hasTensor(tensor, plan.cluster(), rank) &&
                 (tensor.role() != fb::Role::Param || isUpdated[i] ||
                  tensor.arena() >= 0);
  }
  return isSaved;
}

absl::Status adaptState(const Plan &plan, int64_t rank,
                        const std::vector<bool> &isUpdated, SavedState &state) {
  SavedState own = describeState(plan, rank, state.steps);
  if (state.rank != own.rank || state.ranks != own.ranks)
    return invalid(absl::StrCat("expected the state of rank ", own.rank, " of ",
                                own.ranks, ", found that of rank ", state.rank,
                                " of ", state.ranks));
  if (absl::Status status = compareGradients(own, state); !status.ok())
    return status;
  const auto &tensors = *plan.root().tensors();
  std::vector<bool> isSaved = findSaved(plan, rank, isUpdated);
  std::map<std::string, uint32_t> byName;
  for (uint32_t i = 0; i < tensors.size(); ++i)
    if (isState(tensors.Get(i)->role()))
      byName[nameOf(*tensors.Get(i))] = i;
  for (auto &[name, saved] : state.tensors) {
    auto found = byName.find(name);
    // The program may own a param under one plan, and the runtime under
    // another.
    if (found == byName.end() ||
        (!isSaved[found->second] && saved.role != fb::Role::Param))
      return invalid(absl::StrCat(
          "the plan has no state named '", name, "', as '", state.plan, "' has",
          hasUpdates(state) && !hasUpdates(isUpdated)
              ? ", since this plan leaves the updates to the program: a plan "
                "of a strategy with updates=runtime can load this state"
              : ""));
    absl::Status status = adaptTensor(plan, rank, *tensors.Get(found->second),
                                      state.cluster, saved);
    if (!status.ok())
      return status;
  }
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const fb::Tensor &tensor = *tensors.Get(i);
    bool isNeeded =
        isSaved[i] && (tensor.role() != fb::Role::Param || isUpdated[i]);
    if (isNeeded && state.tensors.count(nameOf(tensor)) == 0)
      return invalid(absl::StrCat(
          "there is no state of tensor '", nameOf(tensor), "', which '",
          state.plan, "' does not keep",
          hasUpdates(isUpdated) && !hasUpdates(state)
              ? ", since that plan leaves the updates to the program: a plan "
                "of a strategy with updates=program can load this state"
              : ""));
  }
  return absl::OkStatus();
}

std::string writeState(const SavedState &state) {
  std::string out(kMagic);
  append(out, kStateVersion);
  append(out, state.session);
  append(out, state.steps);
  append(out, state.rank);
  append(out, state.ranks);
  appendString(out, state.cluster);
  appendString(out, state.plan);
  appendTensors(out, state.gradients);
  appendTensors(out, state.tensors);
  append(out, fingerprintBytes(out.data(), out.size()));
  return out;
}

absl::StatusOr<SavedState> readState(absl::string_view bytes) {
  uint32_t version = 0;
  uint64_t found;
  if (bytes.size() < kMagic.size() + sizeof(found) ||
      bytes.substr(0, kMagic.size()) != kMagic)
    return absl::InvalidArgumentError("not a session's state");
  absl::string_view body = bytes.substr(0, bytes.size() - sizeof(found));
  std::memcpy(&found, bytes.data() + body.size(), sizeof(found));
  if (found != fingerprintBytes(body.data(), body.size()))
    return absl::InvalidArgumentError("the session's state is damaged");
  Reader reader(body.substr(kMagic.size()));
  if (!reader.read(version) || version != kStateVersion)
    return invalid(absl::StrCat("expected a session's state of version ",
                                kStateVersion, ", found version ", version));
  SavedState state;
  bool isGood = reader.read(state.session) && reader.read(state.steps) &&
                reader.read(state.rank) && reader.read(state.ranks) &&
                reader.readString(state.cluster) &&
                reader.readString(state.plan) &&
                readTensors(reader, state.gradients) &&
                readTensors(reader, state.tensors);
  if (!isGood || !reader.isAtEnd())
    return invalid("the session's state is malformed");
  if (state.steps < 0 || state.steps > kMaxSteps)
    return invalid(absl::StrCat("expected a state of 0 to ", kMaxSteps,
                                " steps, found ", state.steps));
  return state;
}

} // namespace bagua::runtime
