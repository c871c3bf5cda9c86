//===- LocalValue.h - What a rank stores of a value -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values that operations work on: a place, the number and type of the
// elements, and their encoding.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_LOCALVALUE_H
#define BAGUA_RUNTIME_LOCALVALUE_H

#include "bagua/Runtime/Place.h"

#include "bagua/Runtime/PlanLayout.h"
#include "bagua/Support/DataType.h"

#include <cstdint>

namespace bagua::runtime {

/// The part of a value that this rank stores.
struct LocalValue {
  Place place;
  DataType type = DataType::Float32;
  /// Elements here, and of the logical tensor.
  int64_t count = 0;
  int64_t wholeCount = 0;
  Layout layout;
  /// Without one: a part and a term, and no slots.
  Encoding encoding;
  int64_t parts = 1;
  int64_t terms = 1;
  int64_t slotBytes = 0;

  int64_t bytes() const {
    return encoding.isNone() ? count * dataTypeBytes(type)
                             : parts * terms * slotBytes;
  }
};

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_LOCALVALUE_H
