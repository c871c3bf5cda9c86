//===- PlanTensor.h - What a program may know of a plan's tensors ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For programs that look up their tensors in a plan: a framework knows a tensor
// by its name, and compares the rest with its own tensor.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_PLANTENSOR_H
#define BAGUA_RUNTIME_PLANTENSOR_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Support/DataType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bagua::runtime {

/// The numbers are part of the plan format: append, never renumber.
enum class TensorRole : uint8_t {
  Batch = 0,
  Input = 1,
  Param = 2,
  Optimizer = 3,
  Buffer = 4,
  Residual = 5,
  Replica = 6,
  Gradient = 7,
  Value = 8
};

struct PlanTensor {
  std::string name;
  TensorRole role = TensorRole::Value;
  DataType type = DataType::Float32;
  /// The shape of the whole tensor. A rank may store a part of it
  /// (Session::localBytes).
  std::vector<int64_t> shape;
  /// Whether the program gives the tensor in each step, and whether it may give
  /// it as absent.
  bool isGivenByProgram = false;
  bool isOptional = false;
  /// If false, the program binds the tensor or gives it at an address.
  bool isInArena = false;
};

/// All tensors of the plan, indexed by the number of their TensorId.
std::vector<PlanTensor> tensorsOf(const Plan &plan);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_PLANTENSOR_H
