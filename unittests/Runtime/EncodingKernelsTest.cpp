//===- EncodingKernelsTest.cpp - Encodings, to the bit --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Against golden vectors of another implementation (Inputs/), and what every
// encoding promises: elements within its row's bound, sizes, NaN for NaN.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Encodings/EncodingKernels.h"
#include "Kernels/Blocks.h"

#include "bagua/Support/Parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>

namespace bagua::runtime {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytesOfHex(const std::string &text) {
  Bytes bytes;
  for (size_t i = 0; text != "-" && i < text.size(); i += 2)
    bytes.push_back(
        static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// Elements or slots in memory of their own, which is dirty before.
class Value {
public:
  Value(DataType type, int64_t count) {
    value.type = type;
    value.count = value.wholeCount = count;
    allocate();
  }
  /// With slots for parts of `largest` elements; 0: of its own largest part.
  Value(const Encoding &encoding, DataType type, int64_t count,
        int64_t parts = 1, int64_t terms = 1, int64_t largest = 0) {
    value.type = type;
    value.count = value.wholeCount = count;
    value.encoding = encoding;
    value.parts = parts;
    value.terms = terms;
    value.slotBytes =
        encodedSlotBytes(encoding, largest ? largest : partSize(count, parts),
                         dataTypeBytes(type));
    allocate();
  }
  Value(const Value &) = delete;

  LocalValue value;
  Bytes bytes;

private:
  void allocate() {
    bytes.assign(value.bytes(), std::byte{0xa5});
    address = bytes.data();
    value.place = Place(&address);
  }

  std::byte *address;
};

std::vector<Encoding> offeredEncodings() {
  std::vector<Encoding> found;
  for (const EncodingRow &row : getEncodings()) {
    if (!row.isOffered || row.castTo)
      continue;
    Encoding encoding{row.id};
    for (size_t i = 0; i < row.parameters.size(); ++i)
      encoding.parameters[i] =
          row.parameters[i].otherwise.value_or(row.parameters[i].least);
    found.push_back(encoding);
  }
  return found;
}

Bytes encodeAlone(const Encoding &encoding, const Bytes &elements,
                  DataType type) {
  Value from(type, static_cast<int64_t>(elements.size()) / dataTypeBytes(type));
  std::copy(elements.begin(), elements.end(), from.bytes.begin());
  Value to(encoding, type, from.value.count);
  encodeValue(from.value, to.value);
  return to.bytes;
}

Bytes decodeAlone(const Encoding &encoding, const Bytes &part, DataType type,
                  int64_t count) {
  Value from(encoding, type, count), to(type, count);
  EXPECT_EQ(from.bytes.size(), part.size());
  std::copy(part.begin(), part.end(), from.bytes.begin());
  decodeValue(from.value, to.value, ReduceKind::Sum);
  return to.bytes;
}

std::vector<float> asFloats(const Bytes &bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

Bytes asBytes(const std::vector<float> &floats, DataType type) {
  Bytes bytes(floats.size() * dataTypeBytes(type));
  store(type, floats.data(), static_cast<int64_t>(floats.size()), bytes.data());
  return bytes;
}

std::vector<std::vector<std::string>> readGolden(const std::string &kind) {
  std::ifstream file(BAGUA_TEST_INPUTS "/minmax_uint8.txt");
  EXPECT_TRUE(file.good());
  std::vector<std::vector<std::string>> found;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<std::string> row{std::istream_iterator<std::string>(words),
                                 std::istream_iterator<std::string>()};
    if (row.front() == kind)
      found.push_back(row);
  }
  return found;
}

const Encoding kPublished{EncodingId::MinmaxUint8, {1e-7}};

TEST(EncodingKernelsTest, PartsAgreeWithGoldenVectors) {
  int found = 0;
  for (const auto &row : readGolden("part")) {
    Bytes elements = bytesOfHex(row[2]), encoded = bytesOfHex(row[3]);
    auto count = static_cast<int64_t>(elements.size() / sizeof(float));
    if (count == 0)
      continue;
    ++found;
    EXPECT_EQ(encodeAlone(kPublished, elements, DataType::Float32), encoded)
        << row[1];
    Bytes decoded = decodeAlone(kPublished, encoded, DataType::Float32, count);
    EXPECT_EQ(decoded, bytesOfHex(row[4])) << row[1];
  }
  EXPECT_EQ(found, 36);
}

/// Scatter-gather of a tensor on some ranks, as a plan has it.
std::vector<float> scatterGather(const Encoding &encoding,
                                 const std::vector<std::vector<float>> &given,
                                 ReduceKind kind) {
  auto ranks = static_cast<int64_t>(given.size());
  auto count = static_cast<int64_t>(given[0].size());
  std::vector<std::unique_ptr<Value>> sent;
  for (const std::vector<float> &x : given) {
    Value from(DataType::Float32, count);
    std::memcpy(from.bytes.data(), x.data(), from.bytes.size());
    sent.push_back(std::make_unique<Value>(encoding, DataType::Float32, count,
                                           /*parts=*/ranks));
    encodeValue(from.value, sent.back()->value);
  }
  const int64_t slot = sent[0]->value.slotBytes;
  Value gathered(encoding, DataType::Float32, count, /*parts=*/ranks);
  for (int64_t owner = 0; owner < ranks; ++owner) {
    int64_t size = partRange(count, ranks, owner).size();
    // Slots are of the largest part's size, whoever owns them.
    int64_t largest = partSize(count, ranks);
    Value terms(encoding, DataType::Float32, size, 1, ranks, largest);
    Value part(DataType::Float32, size);
    Value again(encoding, DataType::Float32, size, 1, 1, largest);
    for (int64_t rank = 0; rank < ranks; ++rank)
      std::memcpy(terms.bytes.data() + rank * slot,
                  sent[rank]->bytes.data() + owner * slot, slot);
    if (size > 0) {
      decodeValue(terms.value, part.value, kind);
      encodeValue(part.value, again.value);
    }
    std::memcpy(gathered.bytes.data() + owner * slot, again.bytes.data(), slot);
  }
  Value result(DataType::Float32, count);
  decodeValue(gathered.value, result.value, ReduceKind::Sum);
  return asFloats(result.bytes);
}

TEST(EncodingKernelsTest, ReductionsAgreeWithGoldenVectors) {
  int found = 0;
  for (const auto &row : readGolden("reduce")) {
    int64_t ranks = std::stoi(row[1]), count = std::stoi(row[2]);
    std::vector<float> all = asFloats(bytesOfHex(row[3]));
    std::vector<std::vector<float>> given;
    for (int64_t rank = 0; rank < ranks; ++rank)
      given.emplace_back(all.begin() + rank * count,
                         all.begin() + (rank + 1) * count);
    EXPECT_EQ(scatterGather(kPublished, given, ReduceKind::Mean),
              asFloats(bytesOfHex(row[4])))
        << ranks << " ranks, " << count << " elements";
    ++found;
  }
  EXPECT_EQ(found, 12);
}

TEST(EncodingKernelsTest, EveryOfferedRowHasAKernel) {
  for (const EncodingRow &row : getEncodings())
    EXPECT_EQ(findEncodingKernel(row.id) != nullptr,
              row.isOffered && !row.castTo)
        << row.word;
}

// Of several blocks, an odd number, and one that ends with a block.
TEST(EncodingKernelsTest, ElementsStayWithinTheBound) {
  std::mt19937 random(7);
  for (const Encoding &encoding : offeredEncodings())
    for (DataType type :
         {DataType::Float32, DataType::Float16, DataType::BFloat16})
      for (int64_t count : {1, 2, 31, 511, 512, 513, 4097})
        for (float scale : {1.0f, 1000.0f}) {
          std::normal_distribution<float> normal(0, scale);
          std::vector<float> x(count), back(count);
          for (float &value : x)
            value = normal(random);
          Bytes elements = asBytes(x, type);
          load(type, elements.data(), count, x.data());
          Bytes part = encodeAlone(encoding, elements, type);
          Bytes decoded = decodeAlone(encoding, part, type, count);
          load(type, decoded.data(), count, back.data());
          float largest = 1;
          for (float value : x)
            largest = std::max(largest, std::fabs(value));
          // The result is rounded to its own type once more.
          double rounding = type == DataType::Float32   ? 1e-6
                            : type == DataType::Float16 ? 0x1p-11
                                                        : 0x1p-8;
          double bound = largest * (rowOf(encoding).relativeError + rounding);
          for (int64_t i = 0; i < count; ++i)
            ASSERT_NEAR(back[i], x[i], bound)
                << encodingText(encoding) << " of " << count;
          EXPECT_EQ(encodeAlone(encoding, elements, type), part);
        }
}

// Halves of a step beyond the extremes would be infinite.
TEST(EncodingKernelsTest, WhatIsFiniteStaysFinite) {
  for (const Encoding &encoding : offeredEncodings())
    for (auto [type, largest] :
         {std::pair(DataType::Float16, 65504.0f),
          std::pair(DataType::BFloat16, 0x1.fep127f),
          std::pair(DataType::Float32, std::numeric_limits<float>::max())}) {
      for (float other : {-largest, 0.0f, largest * 0.999f, 1.0f}) {
        std::vector<float> x = {largest, other, largest / 3, -largest / 7};
        Bytes elements = asBytes(x, type);
        Bytes decoded = decodeAlone(
            encoding, encodeAlone(encoding, elements, type), type, 4);
        std::vector<float> back(4);
        load(type, decoded.data(), 4, back.data());
        for (float value : back)
          EXPECT_TRUE(std::isfinite(value))
              << encodingText(encoding) << " of " << largest << ", " << other;
      }
    }
}

TEST(EncodingKernelsTest, OneThatIsNotFiniteSpoilsItsPart) {
  for (const Encoding &encoding : offeredEncodings())
    for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                      std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity()})
      for (int64_t at : {0, 40, 599}) {
        std::vector<float> x(600, 2.5f);
        x[at] = bad;
        Bytes part = encodeAlone(encoding, asBytes(x, DataType::Float32),
                                 DataType::Float32);
        // Nothing of the others is sent.
        for (size_t i = 12; i < part.size(); ++i)
          ASSERT_EQ(part[i], std::byte{0}) << encodingText(encoding);
        for (float value :
             asFloats(decodeAlone(encoding, part, DataType::Float32, 600)))
          ASSERT_TRUE(std::isnan(value)) << encodingText(encoding);
      }
}

// The default loses no codes, however small the range.
TEST(EncodingKernelsTest, MinmaxIsAsFineForEveryRange) {
  Encoding exact{EncodingId::MinmaxUint8};
  for (float unit : {1e-38f, 1e-30f, 1e-10f, 1.0f, 1e30f}) {
    std::vector<float> x;
    for (int i = 0; i < 256; ++i)
      x.push_back(static_cast<float>(i) * unit / 255);
    Bytes elements = asBytes(x, DataType::Float32);
    std::vector<float> back = asFloats(
        decodeAlone(exact, encodeAlone(exact, elements, DataType::Float32),
                    DataType::Float32, 256));
    for (int i = 0; i < 256; ++i)
      EXPECT_NEAR(back[i], x[i], unit / 500) << unit << " " << i;
  }
  for (float value : {0.0f, -0.0f, 3.25f, -1e38f}) {
    Bytes elements = asBytes(std::vector<float>(9, value), DataType::Float32);
    EXPECT_EQ(asFloats(decodeAlone(
                  exact, encodeAlone(exact, elements, DataType::Float32),
                  DataType::Float32, 9)),
              std::vector<float>(9, value));
  }
}

} // namespace
} // namespace bagua::runtime
