//===- Bagua.h - The bagua dialect ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of the dialect: attributes, types, interfaces, ops.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_BAGUA_H
#define BAGUA_DIALECT_BAGUA_BAGUA_H

#include "bagua/Dialect/Bagua/Facts.h"
#include "bagua/Support/Collective.h"
#include "bagua/Support/Encodings.h"
#include "bagua/Support/ReduceKind.h"
#include "bagua/Support/UpdateRules.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace bagua {

class AxesAttr;
class ClusterOp;
class MeaningAnalysis;

/// One entry of a layout.
struct LayoutEntry {
  enum class Kind { Shard, Root, Server };
  /// The number of a `server` entry that is spread over all servers.
  static constexpr int64_t kAllServers = -1;

  Kind kind;
  /// An AxesAttr for Shard and Root, null for Server.
  mlir::Attribute axes;
  int64_t server = kAllServers;

  AxesAttr getAxes() const;
  static LayoutEntry shard(AxesAttr axes);
  static LayoutEntry root(AxesAttr axes);
  static LayoutEntry onServer(int64_t server);

  friend bool operator==(const LayoutEntry &a, const LayoutEntry &b) {
    return a.kind == b.kind && a.axes == b.axes && a.server == b.server;
  }
  friend llvm::hash_code hash_value(const LayoutEntry &entry) {
    return llvm::hash_combine(entry.kind, entry.axes, entry.server);
  }
};

/// The hash of attributes, found by the namespace of the encoding.
inline llvm::hash_code hash_value(const Encoding &encoding) {
  llvm::hash_code hash = llvm::hash_value(encoding.id);
  for (double parameter : encoding.parameters) // -0 is 0
    hash = llvm::hash_combine(hash, llvm::bit_cast<uint64_t>(parameter + 0.0));
  return hash;
}

/// The ways in which a pass may rewrite a reduction.
enum class Rewriting {
  /// One bucket with others, or several parts.
  Bucket,
  /// The same in another encoding.
  Wire,
  /// Collectives over some of its axes one after the other.
  Hierarchy,
  /// A reduce_scatter and an all_gather.
  Halves,
  /// A push and a pull.
  Servers,
};

/// The element type as plans and the runtime have it; nothing for others.
std::optional<DataType> dataTypeOf(mlir::Type elementType);

/// The kind of a scheduled value's place; see PlaceAttr.
enum class PlaceKind { Program, Named, Arena };

/// The side effect of compute ops: the training program's own state.
struct ProgramResource
    : public mlir::SideEffects::Resource::Base<ProgramResource> {
  llvm::StringRef getName() final { return "program"; }
};

} // namespace bagua

/// Lets walks and replacements of attributes reach the axes of a layout's
/// entries.
template <> struct mlir::AttrTypeSubElementHandler<bagua::LayoutEntry> {
  static void walk(const bagua::LayoutEntry &entry,
                   AttrTypeImmediateSubElementWalker &walker) {
    walker.walk(entry.axes);
  }
  static bagua::LayoutEntry replace(const bagua::LayoutEntry &entry,
                                    AttrSubElementReplacements &attributes,
                                    TypeSubElementReplacements &) {
    bagua::LayoutEntry replaced = entry;
    if (entry.axes)
      replaced.axes = attributes.take_front(1)[0];
    return replaced;
  }
};

#include "bagua/Dialect/Bagua/BaguaDialect.h.inc"
#include "bagua/Dialect/Bagua/BaguaEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "bagua/Dialect/Bagua/BaguaAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "bagua/Dialect/Bagua/BaguaTypes.h.inc"

namespace bagua {

/// The tensor that a value is, or whose encoded form it is.
mlir::RankedTensorType logicalTensor(mlir::Type type);

/// A bucket and its tensors, which lie in it one after the other or part by
/// part.
struct BucketView {
  mlir::Value whole;
  mlir::ValueRange tensors;
  /// Null if each tensor's elements lie together.
  LayoutAttr striped;
};

/// The fields of a plan's instruction beside its values, axes and reduction.
/// Fields that an opcode does not use keep their defaults (docs/PlanFormat.md).
struct InstructionFields {
  ExchangePattern pattern = ExchangePattern::Ring;
  llvm::SmallVector<int64_t> shape;
  int64_t splitDim = 0, concatDim = 0;
  /// For each pair in turn, the sender and the receiver.
  llvm::SmallVector<int64_t> pairs;
  LayoutAttr striped = {};
  llvm::SmallVector<float> constants;
  BiasCorrection biasCorrection = BiasCorrection::None;
  /// The rule of an update or a direction.
  UpdateRule rule = UpdateRule::Sgd;
  /// The rate if it is a literal; otherwise the last operand is the rate.
  std::optional<float> learningRate;
};

/// Defines the meaning of results whose elements `i` are a function of the
/// operands' elements `i` and of the op's attributes.
void defineElementwise(mlir::Operation *op, MeaningAnalysis &meanings);

} // namespace bagua

#include "bagua/Dialect/Bagua/BaguaInterfaces.h.inc"

namespace bagua {

/// The attribute of a step with its contract: an ArrayAttr of RelationAttr and
/// UpdateAttr, which say what must hold of the tensors that the runtime gives
/// back. Written once, before any decision about communication.
inline constexpr llvm::StringLiteral kContractAttr = "bagua.contract";
/// The text of the strategy that compiled a module, or a step.
inline constexpr llvm::StringLiteral kStrategyAttr = "bagua.strategy";
/// The attribute of a step with the algorithm of its contract, a StringAttr;
/// without it, the algorithm is data parallelism.
inline constexpr llvm::StringLiteral kRelaxationAttr = "bagua.relaxation";
/// The attribute of a step with the meanings of its next states: a
/// DenseI64ArrayAttr of one number for each state argument, equal for next
/// values of equal meaning (Meaning.h). The passes that decide what the step
/// computes (import, relax) write it; a pass that changes the meaning on
/// purpose writes it anew. It holds at graph level.
inline constexpr llvm::StringLiteral kMeaningAttr = "bagua.meaning";

/// The layout of a tensor type; null if every rank has the whole tensor.
LayoutAttr getLayout(mlir::RankedTensorType type);
/// The same logical tensor with another layout; a null layout means none.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type,
                                  LayoutAttr layout);
/// The type with one more entry.
mlir::RankedTensorType pushEntry(mlir::RankedTensorType type,
                                 LayoutEntry entry);
/// The type without its last entry; null if that is not `entry`.
mlir::RankedTensorType popEntry(mlir::RankedTensorType type, LayoutEntry entry);
/// Whether ranks along some of the axes store different elements of a tensor
/// (or of an encoded one), or some ranks store none.
bool isCutOver(mlir::Type type, AxesAttr over);
/// Elements of the logical tensor.
int64_t getElementCount(mlir::RankedTensorType type);
/// Bytes of `count` elements of the type's element type; i1 takes a byte.
int64_t getElementBytes(mlir::Type elementType);
/// The name of a param's gradient: `<param>.grad`.
std::string gradientName(llvm::StringRef param);
/// The param of a value that is marked as its gradient; null for other values.
mlir::StringAttr getGradientParam(mlir::Value value);

} // namespace bagua

#define GET_OP_CLASSES
#include "bagua/Dialect/Bagua/BaguaOps.h.inc"

#endif // BAGUA_DIALECT_BAGUA_BAGUA_H
