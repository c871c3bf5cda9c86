//===- NamesTest.cpp - Names and sizes of types and reduction kinds -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names are part of the IR and of printed plans.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/DataType.h"
#include "bagua/Support/ReduceKind.h"

#include "gtest/gtest.h"

#include <string>

namespace bagua {
namespace {

TEST(NamesTest, data_type_names_and_sizes) {
  struct Row {
    DataType type;
    const char *name;
    int64_t bytes;
  };
  const Row rows[] = {
      {DataType::Float32, "f32", 4},   {DataType::Float16, "f16", 2},
      {DataType::BFloat16, "bf16", 2}, {DataType::Float64, "f64", 8},
      {DataType::Int8, "i8", 1},       {DataType::Int32, "i32", 4},
      {DataType::Int64, "i64", 8},
  };
  EXPECT_EQ(std::size(rows), static_cast<size_t>(kDataTypeCount));
  for (const Row &row : rows) {
    EXPECT_EQ(dataTypeName(row.type), row.name);
    EXPECT_EQ(dataTypeBytes(row.type), row.bytes);
    EXPECT_EQ(parseDataType(row.name), row.type);
  }
}

TEST(NamesTest, reduce_kind_names) {
  const std::pair<ReduceKind, const char *> rows[] = {
      {ReduceKind::Sum, "sum"},
      {ReduceKind::Mean, "mean"},
      {ReduceKind::Min, "min"},
      {ReduceKind::Max, "max"}};
  EXPECT_EQ(std::size(rows), static_cast<size_t>(kReduceKindCount));
  for (auto [kind, name] : rows) {
    EXPECT_EQ(reduceKindName(kind), name);
    EXPECT_EQ(parseReduceKind(name), kind);
  }
}

TEST(NamesTest, unknown_names_are_nothing) {
  for (const char *name : {"", "f3", "f320", "F32", "float", "summ"}) {
    EXPECT_EQ(parseDataType(name), std::nullopt) << name;
    EXPECT_EQ(parseReduceKind(name), std::nullopt) << name;
  }
}

} // namespace
} // namespace bagua
