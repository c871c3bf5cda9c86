//===- Plan.h - A loaded plan ---------------------------------------------===//
//
// Reads, verifies and prints plan files. A Plan that exists is sound: indices
// are in range, values lie inside their arenas and tensors on every rank, the
// launch order respects the waits. The schema is Plan.fbs.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_PLAN_H
#define BAGUA_RUNTIME_PLAN_H

#include "bagua/Runtime/PlanLayout.h"
#include "bagua/Support/Topology.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace flatbuffers {
class FlatBufferBuilder;
template <typename T> struct Offset;
} // namespace flatbuffers

namespace bagua::runtime {

namespace fb {
struct Plan;
}

/// The version that this code reads and writes.
inline constexpr uint32_t kPlanVersion = 0;

/// An immutable plan.
class Plan {
public:
  /// InvalidArgument says what is wrong with the bytes: not a plan, another
  /// version (both are named), a wrong fingerprint, or which field is out of
  /// range.
  static absl::StatusOr<std::shared_ptr<const Plan>>
  fromBytes(std::string bytes);
  /// The same for a file; NotFound where it can't be read.
  static absl::StatusOr<std::shared_ptr<const Plan>>
  fromFile(const std::string &path);

  const fb::Plan &root() const { return *plan; }
  const PlanCluster &cluster() const { return shape; }
  const Topology &topology() const { return shape.topology(); }
  uint64_t fingerprint() const;

private:
  Plan(std::string fileBytes, const fb::Plan *root, PlanCluster cluster)
      : bytes(std::move(fileBytes)), plan(root), shape(std::move(cluster)) {}

  std::string bytes;
  const fb::Plan *plan;
  PlanCluster shape;
};

/// Finishes a plan that is being built: writes identifier and fingerprint and
/// returns the file's bytes. The `version` and `fingerprint` fields must have
/// been stored: builder.ForceDefaults(true) while the root table is built.
std::string finishPlan(flatbuffers::FlatBufferBuilder &builder,
                       flatbuffers::Offset<fb::Plan> root);

/// For people: a line for each tensor, instruction and wait.
std::string planToText(const Plan &plan);
/// All fields, deterministic, indented.
std::string planToJson(const Plan &plan);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_PLAN_H
