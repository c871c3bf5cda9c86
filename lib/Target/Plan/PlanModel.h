//===- PlanModel.h - What a plan will hold, with indices ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors, arenas, values and instructions of a scheduled step, numbered. Read
// from the IR in one place; the writers put it into the file's form.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_PLAN_PLANMODEL_H
#define BAGUA_LIB_TARGET_PLAN_PLANMODEL_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Support/DataType.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace bagua {

/// Bytes of an arena, or of a bound tensor.
struct Storage {
  int32_t tensor = -1;
  int32_t arena = -1;
  int64_t offset = 0;
};

/// A tensor that the plan will have.
struct TensorModel {
  std::string name;
  /// Null for a gradient or another value that is no argument.
  ArgumentAttr argument;
  bool isGradient = false;
  mlir::RankedTensorType type;
  Storage storage;
  bool givenByProgram = false;
  bool optional = false;
  std::vector<uint32_t> users;
};

struct PlanInstruction {
  mlir::Operation *op;
  std::string name;
  uint32_t stream;
  std::vector<uint32_t> ready;
  std::vector<uint32_t> after;
  std::vector<uint32_t> afterPrevious;
};

struct PlanProgramOp {
  /// Null for the end of the step, where the program takes back next states.
  ComputeOp op;
  std::vector<uint32_t> waits;
  std::vector<uint32_t> gives;
  bool late = false;
};

/// Everything of a plan but its encoding.
class PlanModel {
public:
  explicit PlanModel(StepOp step) : step(step), cluster(step.lookupCluster()) {}

  /// Fails, with an error, where the step isn't placed or can't be run.
  llvm::LogicalResult read();

  StepOp step;
  ClusterOp cluster;
  std::vector<std::string> streams;
  llvm::MapVector<mlir::StringAttr, int64_t> arenas;
  std::vector<TensorModel> tensors;
  /// Values that instructions use, and where they lie.
  llvm::MapVector<mlir::Value, Storage> values;
  std::vector<PlanInstruction> instructions;
  std::vector<PlanProgramOp> program;

  /// The arguments whose next values instructions make. Unordered.
  llvm::DenseSet<mlir::Value> statesOfInstructions();
  uint32_t valueNumber(mlir::Value value) const {
    return static_cast<uint32_t>(values.find(value) - values.begin());
  }
  std::optional<uint32_t> findTensor(llvm::StringRef name) const;
  /// Whether the states are not the program's to update.
  bool isExpected(UpdateAttr update) const;
  bool isUpdatedByProgram(llvm::StringRef state) const {
    return updatedByProgram.contains(state);
  }
  /// Bytes that a value takes on the rank with the largest part.
  int64_t bytesOf(mlir::Value value) const;

private:
  llvm::LogicalResult readValues();
  llvm::LogicalResult readTensors();
  void addTensor(mlir::Value value, llvm::StringRef name);
  void addLostTensors();
  void resolveStorage();
  llvm::LogicalResult readInstructions();
  llvm::LogicalResult readDependencies(PlanInstruction &instruction,
                                       const NextValues &next);
  void readUsers();
  llvm::LogicalResult readProgram();
  std::vector<ComputeOp> programOrder();
  void addTakenStates();
  /// As what the program gets a value of the runtime's: by its name, or in the
  /// place of a tensor that has one.
  std::optional<uint32_t> tensorOf(mlir::Value value) const;
  std::string labelOf(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, PlaceAttr> places;
  llvm::StringMap<uint32_t> tensorNumbers;
  /// Those in arenas, by arena, offset and type.
  llvm::DenseMap<std::tuple<int32_t, int64_t, mlir::Type>, uint32_t> tensorAt;
  llvm::StringSet<> updatedByProgram;
  llvm::DenseMap<mlir::Operation *, uint32_t> instructionNumbers;
};

} // namespace bagua

#endif // BAGUA_LIB_TARGET_PLAN_PLANMODEL_H
