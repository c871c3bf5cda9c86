//===- Graph.h - A training step as index arrays --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the importer works on: the ops of an exported step after calls are
// inlined and wrappers removed, in a topological order, with operands and
// results as indices. No model, no names of helpers, no IR mutation.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_GRAPH_H
#define BAGUA_TARGET_STABLEHLO_GRAPH_H

#include "Inline.h"
#include "Mesh.h"

#include "bagua/Support/ReduceKind.h"

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
  /// Every element of the operand some number of times.
  Broadcast,
  /// No operands: constant, iota.
  Constant,
  /// Any other op that is known to have no effect.
  Pure,
  /// Different on every rank though its operands may agree (replica_id, rng).
  RankDependent,
  /// Not known: may have any effect, and is never dropped.
  Opaque,
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Permute,
  /// Written by the importer: one operand times a factor, or a copy.
  Scale,
  /// Written by the importer: structured updates, see Update.
  Sgd,
  Adam,
};

/// Ops that devices do together, and read as such.
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
  /// What reduce_scatter and all_to_all cut, and what all_gather and all_to_all
  /// put together.
  int64_t splitDimension = 0;
  int64_t concatDimension = 0;
  /// Of Permute: places in a group, of who sends and who gets it, in turn.
  std::vector<int64_t> pairs;
};

enum class BiasForm : uint8_t { None, Moments, StepSize };

/// Set for Sgd (states w, or w and m) and Adam (w, m, v).
struct Update {
  unsigned stateCount = 1;
  /// Literal learning rate; without one it is the last operand.
  std::optional<float> lr;
  /// SGD's momentum.
  std::optional<float> momentum;
  float beta1 = 0, beta2 = 0, eps = 0, decay = 0;
  BiasForm bias = BiasForm::None;
};

struct FlatOp {
  OpKind kind = OpKind::Pure;
  bool isDead = false;
  /// The op in the file. Null for none; updates keep the op that they replace.
  mlir::Operation *source = nullptr;
  mlir::Location loc;
  /// Scope of the outermost call through which the op came; empty for none.
  llvm::StringRef callScope;
  llvm::SmallVector<ValueId, 4> operands;
  llvm::SmallVector<ValueId, 1> results;
  int64_t flops = 0;
  int64_t bytes = 0;
  /// Itself or in a region: it asks for the rank, or is random.
  bool dependsOnRank = false;
  /// In a region it has communication of its own.
  bool communicates = false;
  Collective collective;
  Update update;
  /// Of Scale.
  double factor = 1;

  explicit FlatOp(mlir::Location loc) : loc(loc) {}
};

struct FlatValue {
  mlir::RankedTensorType type;
  /// In the file, where the body of one device can use it.
  mlir::Value source;
  /// What took its place in the graph; kNone for nothing.
  ValueId replacedBy = kNone;
  /// kNone for arguments.
  OpId def = kNone;
  /// Depends on no argument and on nothing unknown.
  bool isStatic = false;
  /// Of what depends on the device alone, which is static: along which axes it
  /// differs.
  AxisMask ofDevice = 0;
  bool isOfDevice = false;
  /// Axes over which nothing proves that ranks have it alike, though the states
  /// that the step keeps alike are taken to be: what is reduced over them stays
  /// reduced.
  AxisMask unproven = 0;
  /// All elements, where they are known to be one number.
  std::optional<double> splat;
};

struct Argument {
  ValueId value = kNone;
  /// Position in the exported function.
  unsigned index = 0;
  mlir::Location loc;
  /// Tree path such as `params['a']['b']`; empty if none.
  std::string path;
  /// How the mesh cuts it.
  Sharding sharding;
  AxisMask sharded = 0;
  bool isDonated = false;
  /// Declared equal on all replicas.
  bool isSame = false;
  /// Axes over which each rank has a copy of its own, of which the module does
  /// not say whether it is alike: those of a pmap, unless declared the same.
  AxisMask own = 0;
  int64_t aliasedOutput = kNone;

  explicit Argument(mlir::Location loc) : loc(loc) {}
};

struct Output {
  ValueId value = kNone;
  mlir::Location loc;
  /// Tree path such as `[0]['a']['b']`; empty if none.
  std::string path;
  /// It is there so that a mapping can name it: the step doesn't return it.
  bool isForMapping = false;

  explicit Output(mlir::Location loc) : loc(loc) {}
};

/// Users of every value, as one array with offsets.
class Uses {
public:
  Uses(const std::vector<FlatOp> &ops, size_t valueCount);
  /// Ops that use the value, in order; one that uses it twice is listed twice.
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
  /// The exported function, all of the module by name, and the block that is
  /// written for one device.
  mlir::func::FuncOp entry;
  Functions functions;
  mlir::Block *body = nullptr;
  /// Of the file's values; what a wrapper renames is one value.
  llvm::DenseMap<mlir::Value, ValueId> ids;
  /// Integers that all elements of a value are, on each device.
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
  /// What stands for a value of the file; kNone for values in loops and
  /// branches.
  ValueId idOf(mlir::Value value) const {
    auto found = ids.find(value);
    ValueId id = found == ids.end() ? kNone : found->second;
    while (id != kNone && values[id].replacedBy != kNone)
      id = values[id].replacedBy;
    return id;
  }
  Uses computeUses() const { return Uses(ops, values.size()); }
  /// Marks ops dead that no output and no opaque op needs. O(ops).
  void removeDeadOps();
  /// Whether an op of this kind depends on single elements alone: elementwise
  /// ops, and those that only rename elements.
  static bool isElementwise(OpKind kind) {
    return kind == OpKind::Elementwise || kind == OpKind::Reshape ||
           kind == OpKind::Scale;
  }
};

/// Values that depend on the marked arguments. O(ops).
std::vector<bool> dependents(const Graph &graph,
                             llvm::ArrayRef<ValueId> sources);

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_GRAPH_H
