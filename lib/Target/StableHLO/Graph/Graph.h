//===- Graph.h - A training step as index arrays --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The importer's data: the ops of an exported step after calls are inlined and
// wrappers removed, in a topological order, with operands and results as
// indices. It has no model and no names of helpers, and does not change the IR.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_GRAPH_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_GRAPH_H

#include "StableHLO/Graph/Inline.h"
#include "StableHLO/Graph/Mesh.h"

#include "bagua/Support/ReduceKind.h"
#include "bagua/Support/UpdateRules.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <string>
#include <vector>

namespace bagua::importer {

using ValueId = int32_t;
using OpId = int32_t;
inline constexpr int32_t kNone = -1;

enum class OpKind : uint8_t {
  /// Element i of the result depends on element i of operands of its shape.
  Elementwise,
  /// The same elements in another shape.
  Reshape,
  /// Every element of the operand, repeated.
  Broadcast,
  /// No operands: constant, iota.
  Constant,
  /// Any other op that is known to have no effect.
  Pure,
  /// Different on every rank even if its operands agree (replica_id, rng).
  RankDependent,
  /// Unknown: the op may have any effect, and is never dropped.
  Opaque,
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Permute,
  /// Written by the importer: one operand times a factor, or a copy.
  Scale,
  /// Written by the importer: a structured update, see Update.
  Update,
};

/// Whether an op is communication between devices that the importer reads.
inline bool isCommunication(OpKind kind) {
  return kind >= OpKind::AllReduce && kind <= OpKind::Permute;
}
inline bool isReduction(OpKind kind) {
  return kind == OpKind::AllReduce || kind == OpKind::ReduceScatter;
}

/// Set for communication.
struct Collective {
  AxisMask axes = 0;
  ReduceKind kind = ReduceKind::Sum;
  /// The dimension that reduce_scatter and all_to_all cut, and the one along
  /// which all_gather and all_to_all put pieces together.
  int64_t splitDimension = 0;
  int64_t concatDimension = 0;
  /// For Permute: in turn, the place in the group that sends and the one that
  /// receives.
  std::vector<int64_t> pairs;
};

/// Set for Update.
struct Update {
  UpdateRule rule = UpdateRule::Sgd;
  unsigned stateCount = 1;
  /// The learning rate if it is a literal; otherwise the last operand is the
  /// rate.
  std::optional<float> lr;
  /// Those of the rule's row.
  std::vector<float> constants;
  BiasCorrection bias = BiasCorrection::None;
  /// The state by which the module corrects; kNone without a correction.
  ValueId count = kNone;
};

struct FlatOp {
  OpKind kind = OpKind::Pure;
  bool isDead = false;
  /// The op in the file; null if there is none. Updates keep the op that they
  /// replace.
  mlir::Operation *source = nullptr;
  mlir::Location loc;
  /// The scope of the outermost call from which the op comes; empty if there is
  /// none.
  llvm::StringRef callScope;
  llvm::SmallVector<ValueId, 4> operands;
  llvm::SmallVector<ValueId, 1> results;
  int64_t flops = 0;
  int64_t bytes = 0;
  /// The op, or one in its region, asks for the rank or is random.
  bool dependsOnRank = false;
  /// The op communicates by itself, in a region.
  bool communicates = false;
  Collective collective;
  Update update;
  /// For Scale.
  double factor = 1;

  explicit FlatOp(mlir::Location loc) : loc(loc) {}
};

struct FlatValue {
  mlir::RankedTensorType type;
  /// The value in the file that the body of one device can use.
  mlir::Value source;
  /// The value that replaced this one in the graph; kNone for none.
  ValueId replacedBy = kNone;
  /// kNone for arguments.
  OpId def = kNone;
  /// The value depends on no argument and on nothing unknown.
  bool isStatic = false;
  /// For a value that depends on the device alone, and is static: the axes
  /// along which it differs.
  AxisMask ofDevice = 0;
  bool isOfDevice = false;
  /// Axes over which nothing proves that ranks agree on the value, although the
  /// analysis assumes that states which the step keeps alike are equal. A
  /// reduction of the value over these axes stays.
  AxisMask unproven = 0;
  /// The number of all elements, if it is known.
  std::optional<double> splat;
};

struct Argument {
  ValueId value = kNone;
  /// Position in the exported function.
  unsigned index = 0;
  mlir::Location loc;
  /// Tree path such as `params['a']['b']`; empty if none.
  std::string path;
  /// The way in which the mesh cuts the argument.
  Sharding sharding;
  AxisMask sharded = 0;
  bool isDonated = false;
  /// The module declares the argument equal on all replicas.
  bool isSame = false;
  /// Axes over which each rank has a copy of its own and the module does not
  /// say whether the copies are equal: those of a pmap, unless declared the
  /// same.
  AxisMask own = 0;
  int64_t aliasedOutput = kNone;

  explicit Argument(mlir::Location loc) : loc(loc) {}
};

struct Output {
  ValueId value = kNone;
  mlir::Location loc;
  /// Tree path such as `[0]['a']['b']`; empty if none.
  std::string path;
  /// The output is there only so that a mapping can name it: the step doesn't
  /// return it.
  bool isForMapping = false;

  explicit Output(mlir::Location loc) : loc(loc) {}
};

/// Users of every value, as one array with offsets.
class Uses {
public:
  Uses(const std::vector<FlatOp> &ops, size_t valueCount);
  /// The ops that use the value, in order; an op that uses it twice is listed
  /// twice.
  llvm::ArrayRef<OpId> of(ValueId value) const {
    return llvm::ArrayRef(users).slice(offsets[value],
                                       offsets[value + 1] - offsets[value]);
  }

private:
  std::vector<uint32_t> offsets;
  std::vector<OpId> users;
};

struct Graph {
  /// The exported module's name.
  std::string name;
  mlir::Location loc;
  int64_t replicas = 1;
  int64_t partitions = 1;
  /// The body is written for one device: shard_map, manual computation.
  bool isManual = false;
  Mesh mesh;
  std::vector<FlatOp> ops;
  std::vector<FlatValue> values;
  std::vector<Argument> arguments;
  std::vector<Output> outputs;
  /// The exported function, all functions of the module by name, and the block
  /// that is written for one device.
  mlir::func::FuncOp entry;
  Functions functions;
  mlir::Block *body = nullptr;
  /// The number of each of the file's values; values that a wrapper renames
  /// share one.
  llvm::DenseMap<mlir::Value, ValueId> ids;
  /// The integer that all elements of a value are, on each device.
  llvm::DenseMap<ValueId, std::vector<int64_t>> deviceNumbers;

  explicit Graph(mlir::Location loc) : loc(loc) {}

  int64_t deviceCount() const { return replicas * partitions; }
  FlatOp *defOf(ValueId value) {
    return values[value].def == kNone ? nullptr : &ops[values[value].def];
  }
  const FlatOp *defOf(ValueId value) const {
    return values[value].def == kNone ? nullptr : &ops[values[value].def];
  }
  int64_t countOf(ValueId value) const {
    return values[value].type.getNumElements();
  }
  bool sameShape(ValueId a, ValueId b) const {
    return values[a].type.getShape() == values[b].type.getShape();
  }
  /// The graph's value for a value of the file; kNone for values in loops and
  /// branches.
  ValueId idOf(mlir::Value value) const {
    auto found = ids.find(value);
    ValueId id = found == ids.end() ? kNone : found->second;
    while (id != kNone && values[id].replacedBy != kNone)
      id = values[id].replacedBy;
    return id;
  }
  Uses computeUses() const { return Uses(ops, values.size()); }
  /// Marks ops dead that neither an output nor an opaque op needs. O(ops).
  void removeDeadOps();
  /// Whether each element of the op's result depends on one element of each
  /// operand: elementwise ops, and ops that only rename elements.
  static bool isElementwise(OpKind kind) {
    return kind == OpKind::Elementwise || kind == OpKind::Reshape ||
           kind == OpKind::Scale;
  }
};

/// Values that depend on the marked arguments. O(ops).
std::vector<bool> dependents(const Graph &graph,
                             llvm::ArrayRef<ValueId> sources);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_GRAPH_H
