//===- DataType.h - Element types of tensors that are communicated --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types that compiler, plan and runtime know, each with its size
// and the name that MLIR prints. Kernels and codecs are elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_DATATYPE_H
#define BAGUA_SUPPORT_DATATYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace bagua {

/// The numbers are part of the plan format: append, never renumber.
enum class DataType : uint8_t {
  Float32 = 0,
  Float16 = 1,
  BFloat16 = 2,
  Float64 = 3,
  Int8 = 4,
  Int32 = 5,
  Int64 = 6,
};

inline constexpr int kDataTypeCount = 7;

/// Bytes of one element.
int64_t dataTypeBytes(DataType type);

/// The name as MLIR prints it: f32, f16, bf16, f64, i8, i32, i64.
std::string_view dataTypeName(DataType type);

/// The inverse of dataTypeName; nothing for an unknown name.
std::optional<DataType> parseDataType(std::string_view name);

} // namespace bagua

#endif // BAGUA_SUPPORT_DATATYPE_H
