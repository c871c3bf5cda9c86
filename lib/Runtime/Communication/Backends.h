//===- Backends.h - The table of backends ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A backend is a row: a name, a device, promises, and functions that allocate
// memory and create communicators for a rank of a run. Each backend has a
// folder of its own; only its row is in Backends.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_BACKENDS_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_BACKENDS_H

#include "Communication/Run.h"

#include "bagua/Runtime/Backend.h"

#include "absl/types/span.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace bagua::runtime {

struct BackendRow {
  absl::string_view name;
  Device &(*device)();
  BackendTraits traits;
  /// Whether ranks of this run can use the backend.
  bool (*isOpen)(const Run &run);
  /// As in Backend, of checked members, and only where the backend is open.
  bool (*reaches)(const Run &run, const std::vector<int> &members);
  absl::StatusOr<std::shared_ptr<std::byte>> (*allocate)(
      const std::shared_ptr<Run> &run, size_t bytes);
  absl::StatusOr<std::unique_ptr<Communicator>> (*createCommunicator)(
      const std::shared_ptr<Run> &run, const CommunicatorGroup &group,
      const CommunicatorOptions &options);
};

/// All backends. Those of the host come in the order in which control() prefers
/// them.
absl::Span<const BackendRow> backendRows();

/// The backends that are open in a run, for its world.
class Backends {
public:
  explicit Backends(std::shared_ptr<Run> run);
  ~Backends();

  Backend *find(absl::string_view name) const;
  std::vector<std::string> names() const;
  Backend &control() const { return *host; }

private:
  std::vector<std::unique_ptr<Backend>> rows;
  std::unique_ptr<Backend> host;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_BACKENDS_H
