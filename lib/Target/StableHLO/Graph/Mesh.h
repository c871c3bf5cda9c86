//===- Mesh.h - The exported mesh, shardings and replica groups -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axes over which the exported step runs, how they cut a value, and the set
// of axes for which a list of device groups stands.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_MESH_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_MESH_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

#include <optional>
#include <string>
#include <vector>

namespace bagua::importer {

/// A set of mesh axes, bit i for axis i.
using AxisMask = uint32_t;
inline constexpr size_t kMaxAxes = 31;

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  /// The name of the axis of which this is a part; empty if it is whole.
  std::string cutFrom = "";
};

/// Named axes, outermost first; device ids count fastest along the last one.
struct Mesh {
  std::vector<MeshAxis> axes;

  AxisMask allAxes() const { return (AxisMask(1) << axes.size()) - 1; }
  /// The number of devices along the axes, or the largest integer.
  int64_t sizeOf(AxisMask mask) const;
  /// The place of a device, by its coordinates, in its group along these axes.
  int64_t placeOf(int64_t device, AxisMask mask) const;
  /// The mesh of these axes alone.
  Mesh only(AxisMask mask) const;
  /// `[data = 2, expert = 4]`, for messages.
  std::string str() const;
  /// The set of axes along which exactly these groups run, with the other
  /// coordinates fixed; nothing if there is none. If there are several (axes of
  /// size 1), the largest set. Each group is a list of device ids.
  std::optional<AxisMask>
  matchGroups(std::vector<std::vector<int64_t>> groups) const;
  /// The pairs of a permutation by places in the groups over `mask`, from pairs
  /// of device ids: in turn, the sender and the receiver. Nothing unless all
  /// groups do the same and no group sends to another.
  std::optional<std::vector<int64_t>>
  matchPairs(const std::vector<int64_t> &pairs, AxisMask mask) const;
};

/// Fails, with an error, if two axes have one name.
mlir::LogicalResult verifyNames(mlir::Location loc, const Mesh &mesh);

/// How a value is cut: the axes that cut its dimensions. GSPMD's tilings name
/// no axes; they are factors of the device list, as strides in device ids.
struct Sharding {
  struct Factor {
    int64_t stride = 1;
    int64_t size = 1;
  };
  /// GSPMD: every factor of the device list, whether it cuts or not.
  std::vector<Factor> allFactors;
  /// GSPMD: the factors that cut a dimension.
  std::vector<Factor> cutting;
  /// Shardy: names of axes that cut a dimension.
  std::vector<std::string> axisNames;
};

/// Reads GSPMD's `{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}`,
/// `{replicated}`, `{manual}`. An error names a text that is not understood.
mlir::FailureOr<Sharding> parseGspmdSharding(mlir::Location loc,
                                             llvm::StringRef text);

/// The factors of the device list along which a group of devices, ascending,
/// runs; empty if there are none.
Sharding shardingOfGroup(llvm::ArrayRef<int64_t> group);

/// Reads Shardy's `[<@mesh, [{"data"}, {}]>, ...]`, one sharding for each
/// value.
mlir::FailureOr<std::vector<Sharding>>
parseShardySharding(mlir::Location loc, llvm::StringRef text);

/// Reads Shardy's `mesh<["data"=2, "expert"=4]>`.
mlir::FailureOr<Mesh> parseShardyMesh(mlir::Location loc, llvm::StringRef text);

/// The coarsest mesh of unnamed axes that has every factor of the shardings;
/// names are empty. Fails if factors cross.
mlir::FailureOr<Mesh> meshOfShardings(mlir::Location loc, int64_t devices,
                                      llvm::ArrayRef<Sharding> shardings);

/// Cuts axes such that groups inside them run along axes, too: "d" of 4 with
/// groups of neighbours becomes "d.0" and "d.1" of 2 each. An axis whose cuts
/// do not nest stays whole.
Mesh cutAxes(const Mesh &mesh, llvm::ArrayRef<Sharding> groups);

/// The axes that cut a value.
mlir::FailureOr<AxisMask> axesOfSharding(mlir::Location loc, const Mesh &mesh,
                                         const Sharding &sharding);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_MESH_H
