//===- DataType.cpp - Element types of tensors that are communicated ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes and names of the element types, each in one table.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/DataType.h"

#include <cassert>

namespace bagua {
namespace {

struct DataTypeFacts {
  std::string_view name;
  int64_t bytes;
};

// Indexed by the enumerator's number.
constexpr DataTypeFacts kFacts[kDataTypeCount] = {
    {"f32", 4}, {"f16", 2}, {"bf16", 2}, {"f64", 8},
    {"i8", 1},  {"i32", 4}, {"i64", 8},
};

const DataTypeFacts &factsOf(DataType type) {
  int index = static_cast<int>(type);
  assert(index < kDataTypeCount && "not a data type");
  return kFacts[index];
}

} // namespace

int64_t dataTypeBytes(DataType type) { return factsOf(type).bytes; }

std::string_view dataTypeName(DataType type) { return factsOf(type).name; }

std::optional<DataType> parseDataType(std::string_view name) {
  for (int i = 0; i < kDataTypeCount; ++i)
    if (kFacts[i].name == name)
      return static_cast<DataType>(i);
  return std::nullopt;
}

} // namespace bagua
