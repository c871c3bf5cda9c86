//===- Checkpoint.cpp - Files of state that a crash can't harm ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds which of a rank's files has the newest state that all ranks have.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Checkpoint.h"

#include "Files/ReadFile.h"
#include "Files/ReplaceFile.h"
#include "Session/SessionState.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace bagua::runtime {
namespace {

/// Identifies a state: its number of steps, then its session.
using StateName = std::pair<int64_t, int64_t>;
/// The steps of a missing state.
constexpr int64_t kNoSteps = -1;

/// The names of a rank's own states.
std::vector<StateName> readNames(const World &world,
                                 absl::Span<const std::string> paths) {
  std::vector<StateName> names;
  for (const std::string &path : paths) {
    absl::StatusOr<std::string> bytes =
        readFile(path, std::numeric_limits<size_t>::max() - 1);
    absl::StatusOr<SavedState> state =
        bytes.ok() ? readState(*bytes) : bytes.status();
    const bool isOwn = state.ok() && state->rank == world.rank() &&
                       state->ranks == world.size();
    names.push_back(isOwn ? StateName(state->steps, state->session)
                          : StateName(kNoSteps, 0));
  }
  return names;
}

/// Whether each rank has the name among its `length` numbers in `found`.
bool isOnAll(const StateName &name, const std::vector<int64_t> &found,
             size_t length) {
  for (size_t rank = 0; rank < found.size(); rank += length) {
    bool isThere = false;
    for (size_t i = rank; i < rank + length; i += 2)
      isThere |= StateName(found[i], found[i + 1]) == name;
    if (!isThere)
      return false;
  }
  return true;
}

} // namespace

absl::Status writeCheckpoint(const std::string &path, absl::string_view bytes) {
  return replaceFile("checkpoint", path, bytes);
}

absl::StatusOr<std::optional<size_t>>
findNewestCheckpoint(World &world, absl::Span<const std::string> paths) {
  std::vector<int> all(static_cast<size_t>(world.size()));
  std::iota(all.begin(), all.end(), 0);
  auto group = world.createCommunicator(
      all, absl::StrCat("checkpoints", world.nextNumber()));
  if (!group.ok())
    return group.status();
  const std::vector<StateName> own = readNames(world, paths);
  int64_t most = static_cast<int64_t>(own.size());
  absl::Status status =
      (*group)->allReduce(&most, &most, 1, DataType::Int64, ReduceKind::Max);
  if (!status.ok())
    return status;
  // Each rank sends the same number of names, padded with missing states.
  std::vector<int64_t> sent;
  for (const auto &[steps, session] : own)
    sent.insert(sent.end(), {steps, session});
  sent.resize(static_cast<size_t>(2 * most), kNoSteps);
  std::vector<int64_t> found(sent.size() * all.size());
  if (most > 0)
    status = (*group)->gatherFromOwners(sent.data(), found.data(),
                                        static_cast<int64_t>(found.size()),
                                        DataType::Int64, world.size(), all);
  if (!status.ok())
    return status;
  std::optional<size_t> newest;
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i].first != kNoSteps && (!newest || own[*newest] < own[i]) &&
        isOnAll(own[i], found, sent.size()))
      newest = i;
  return newest;
}

} // namespace bagua::runtime
