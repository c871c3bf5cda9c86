//===- HLOBuilder.h - Writing StableHLO with a stock MLIR -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the StableHLO ops in which communication is written back, in the
// generic form and with the stub dialects of Reader.h.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_WRITING_HLOBUILDER_H
#define BAGUA_LIB_TARGET_STABLEHLO_WRITING_HLOBUILDER_H

#include "bagua/Support/ReduceKind.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <vector>

namespace bagua::importer {

/// Groups of devices, all of one size, in the order in which their values are
/// summed.
using DeviceGroups = std::vector<std::vector<int64_t>>;

/// Shapes are those of one device. `index` and `at` are scalars of type i32.
class HLOBuilder {
public:
  /// Writes at the insertion point of `builder`. `isReplicated`: devices are
  /// replicas; otherwise they are partitions, which communicate over channels.
  /// Channels up to number `channels` are in use.
  HLOBuilder(mlir::OpBuilder &builder, mlir::Location loc, bool isReplicated,
             int64_t channels)
      : builder(builder), loc(loc), isReplicated(isReplicated),
        channels(channels) {}

  /// The same elements in another shape; the value itself if it has that shape.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value flatten(mlir::Value value);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  /// The flattened value with zeros appended, `count` elements in all.
  mlir::Value pad(mlir::Value value, int64_t count);
  /// Elements [begin, end) of the dimension.
  mlir::Value slice(mlir::Value value, unsigned dimension, int64_t begin,
                    int64_t end);
  /// `count` elements of a tensor of rank 1, from `at` on.
  mlir::Value sliceAt(mlir::Value value, mlir::Value at, int64_t count);
  mlir::Value concatenate(mlir::ValueRange values, unsigned dimension);

  /// A tensor of the value's shape and element type that is filled with a
  /// number.
  mlir::Value splatLike(mlir::Value value, double number);
  /// `name` is an elementwise op of two operands, such as `add`.
  mlir::Value binary(llvm::StringRef name, mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value condition, mlir::Value then,
                     mlir::Value otherwise);

  /// This device's own number, from one number for each device.
  mlir::Value ownOf(llvm::ArrayRef<int32_t> numbers);

  mlir::Value allReduce(mlir::Value value, ReduceKind kind,
                        const DeviceGroups &groups);
  /// The groups' size must divide the dimension.
  mlir::Value reduceScatter(mlir::Value value, unsigned dimension,
                            ReduceKind kind, const DeviceGroups &groups);
  mlir::Value allGather(mlir::Value value, unsigned dimension,
                        const DeviceGroups &groups);
  /// `pairs` are places in each of the groups: in turn, the place that sends
  /// and the one that receives.
  mlir::Value permute(mlir::Value value, llvm::ArrayRef<int64_t> pairs,
                      const DeviceGroups &groups);
  mlir::Value allToAll(mlir::Value value, int64_t split, int64_t concat,
                       mlir::Type type, const DeviceGroups &groups);

private:
  mlir::Value create(llvm::StringRef name, mlir::ValueRange operands,
                     mlir::Type type,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::Operation *createReduction(llvm::StringRef name, mlir::Value value,
                                   mlir::Type type, ReduceKind kind,
                                   llvm::ArrayRef<mlir::NamedAttribute> more,
                                   const DeviceGroups &groups);
  mlir::Value reduce(llvm::StringRef name, mlir::Value value,
                     llvm::ArrayRef<int64_t> shape, ReduceKind kind,
                     llvm::ArrayRef<mlir::NamedAttribute> more,
                     const DeviceGroups &groups);
  /// Between partitions, adds a channel of the op's own.
  void addChannel(llvm::SmallVectorImpl<mlir::NamedAttribute> &attributes);
  mlir::NamedAttribute table(llvm::StringRef name,
                             llvm::ArrayRef<int64_t> numbers, int64_t columns);
  llvm::SmallVector<mlir::NamedAttribute>
  groupAttributes(const DeviceGroups &groups);
  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute value) {
    return builder.getNamedAttr(name, value);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  bool isReplicated;
  int64_t channels;
};

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_WRITING_HLOBUILDER_H
