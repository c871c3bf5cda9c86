//===- LayerTable.h - Layers with tensors and times -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contents of a table of layers, independent of its format.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_LAYERS_LAYERTABLE_H
#define BAGUA_TARGET_LAYERS_LAYERTABLE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

#include <string>
#include <vector>

namespace bagua::importer {

struct LayerParam {
  mlir::RankedTensorType type;
  /// Unique in the layer; empty if the table gives no name.
  std::string name;
};

struct Layer {
  std::string name;
  /// Empty for a layer without params.
  llvm::SmallVector<LayerParam, 2> params;
  mlir::RankedTensorType activation;
  int64_t forwardNs = 0;
  int64_t backwardNs = 0;
  /// The layers whose activations it uses; all of them come before it.
  llvm::SmallVector<unsigned, 2> inputs;
  /// The layers whose backward runs before its own.
  llvm::SmallVector<unsigned, 2> backwardInputs;
  mlir::Location loc;

  explicit Layer(mlir::Location loc) : loc(loc) {}
};

struct LayerTable {
  std::vector<Layer> layers;
  /// Indices of layers in the order in which their backward runs.
  std::vector<unsigned> backwardOrder;
};

/// Reads either format. Errors name the line.
mlir::FailureOr<LayerTable> readLayerTable(mlir::MLIRContext *context,
                                           llvm::StringRef text,
                                           llvm::StringRef fileName);

} // namespace bagua::importer

#endif // BAGUA_TARGET_LAYERS_LAYERTABLE_H
