//===- PlanTensor.h - What a program may know of a plan's tensors ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For programs that find their tensors in the plan: a name is what a framework
// knows, the rest is to be compared with it.
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
  /// Of the whole tensor, of which a rank may store a part
  /// (Session::localBytes).
  std::vector<int64_t> shape;
  /// Whether the program gives it in each step, and may give it as absent.
  bool isGivenByProgram = false;
  bool isOptional = false;
  /// Else the program binds it, or gives it at an address.
  bool isInArena = false;
};

/// All of them, by the number of their TensorId.
std::vector<PlanTensor> tensorsOf(const Plan &plan);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_PLANTENSOR_H
