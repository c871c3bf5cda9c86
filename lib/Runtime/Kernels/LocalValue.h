//===- LocalValue.h - What a rank stores of a value -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What operations are made for: a place, and how many of which elements.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_LOCALVALUE_H
#define BAGUA_LIB_RUNTIME_KERNELS_LOCALVALUE_H

#include "Kernels/Place.h"

#include "bagua/Runtime/PlanLayout.h"
#include "bagua/Support/DataType.h"

#include <cstdint>

namespace bagua::runtime {

/// What this rank stores of a value.
struct LocalValue {
  Place place;
  DataType type = DataType::Float32;
  /// Elements here, and of the logical tensor.
  int64_t count = 0;
  int64_t wholeCount = 0;
  Layout layout;

  int64_t bytes() const { return count * dataTypeBytes(type); }
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_LOCALVALUE_H
