//===- Encodings.cpp - How tensors are encoded to be sent -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of encodings, and their texts. A new encoding is a row here and a
// kernel (docs/Extending.md, "A new encoding").
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/Encodings.h"

#include "bagua/Support/Words.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

namespace bagua {
namespace {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// A part begins with its statistics and flags.
constexpr int64_t kHeaderBytes = 32;
constexpr int64_t kAlignment = 32;

/// Header and `payload` bytes, aligned; 0 for an empty part.
int64_t partBytes(int64_t count, int64_t payload) {
  if (count == 0)
    return 0;
  return (kHeaderBytes + payload + kAlignment - 1) / kAlignment * kAlignment;
}

/// A float32 statistic for each block.
int64_t blockStatistics(int64_t count, int64_t block) {
  return (count + block - 1) / block * 4;
}

int64_t halfBytes(int64_t count, const Encoding & /*encoding*/) {
  return 2 * count;
}

int64_t byteBytes(int64_t count, const Encoding & /*encoding*/) {
  return partBytes(count, count);
}

int64_t blockByteBytes(int64_t count, const Encoding &encoding) {
  return partBytes(count, count + blockStatistics(count, encoding.whole(0)));
}

/// Two signed levels of at most 7 share a byte.
int64_t qsgdBytes(int64_t count, const Encoding &encoding) {
  constexpr int64_t kMaxNibbleLevels = 7;
  int64_t codes =
      encoding.whole(0) <= kMaxNibbleLevels ? (count + 1) / 2 : count;
  return partBytes(count, codes + blockStatistics(count, encoding.whole(1)));
}

int64_t bitBytes(int64_t count, const Encoding & /*encoding*/) {
  return partBytes(count, (count + 7) / 8);
}

/// Pairs of a 4-byte index and a float32 value.
int64_t sparseBytes(int64_t count, const Encoding &encoding) {
  return partBytes(count, std::min(count, encoding.whole(0)) * 8);
}

/// float32 values at indices that all know.
int64_t sampledBytes(int64_t count, const Encoding &encoding) {
  return partBytes(count, std::min(count, encoding.whole(0)) * 4);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// More than any tensor has.
constexpr double kMostElements = 0x1p44;

/// A whole number of elements, levels or the like.
EncodingParameter count(std::string_view name, double most = kMostElements) {
  return {name, /*isWhole=*/true, 1, most};
}

std::vector<EncodingRow> casts() {
  return {
      {.id = EncodingId::Float16,
       .word = "f16",
       .summary = "a cast to float16",
       .bytes = halfBytes,
       .castTo = DataType::Float16,
       .isLinear = true,
       .alignment = 2,
       .elementTypes = {DataType::Float32},
       .relativeError = 0x1p-11,
       .isOffered = true},
      {.id = EncodingId::BFloat16,
       .word = "bf16",
       .summary = "a cast to bfloat16",
       .bytes = halfBytes,
       .castTo = DataType::BFloat16,
       .isLinear = true,
       .alignment = 2,
       .elementTypes = {DataType::Float32},
       .relativeError = 0x1p-8,
       .isOffered = true},
  };
}

/// A code for each element.
std::vector<EncodingRow> quantizers() {
  return {
      {.id = EncodingId::MinmaxUint8,
       .word = "minmax_uint8",
       .summary = "8 bits an element between a part's minimum and maximum "
                  "(BAGUA ByteGrad); `eps` is added to their difference",
       // With a larger eps, codes of common gradients would be too coarse.
       .parameters = {{"eps", /*isWhole=*/false, 0, 1e-3, 0}},
       .bytes = byteBytes,
       // Half of a 255th of at most twice that magnitude, and rounding.
       .relativeError = 1.0 / 254,
       .isOffered = true},
      {.id = EncodingId::Fp8E4M3,
       .word = "fp8_e4m3",
       .summary =
           "8-bit floats with a float32 scale for each block of elements",
       .parameters = {count("block")},
       .bytes = blockByteBytes},
      {.id = EncodingId::Qsgd,
       .word = "qsgd",
       .summary = "stochastic levels of |x| relative to each block's norm "
                  "(QSGD)",
       .parameters = {count("levels", 127), count("block")},
       .bytes = qsgdBytes,
       .isDeterministic = false},
      {.id = EncodingId::Onebit,
       .word = "onebit",
       .summary = "one sign bit an element and one scale a part (1-bit Adam)",
       .bytes = bitBytes,
       .needsFeedback = true},
      {.id = EncodingId::Signsgd,
       .word = "signsgd",
       .summary = "one sign bit an element, majority vote at the owner "
                  "(signSGD)",
       .bytes = bitBytes},
      {.id = EncodingId::Efsignsgd,
       .word = "efsignsgd",
       .summary = "one sign bit an element, scaled by the part's mean "
                  "magnitude (EF-signSGD)",
       .bytes = bitBytes,
       .needsFeedback = true},
  };
}

/// Some of the elements.
std::vector<EncodingRow> sparsifiers() {
  return {
      {.id = EncodingId::Topk,
       .word = "topk",
       .summary = "the `count` elements of largest magnitude of a part, as "
                  "index and value",
       .parameters = {count("count")},
       .bytes = sparseBytes,
       .needsFeedback = true},
      {.id = EncodingId::Gtopk,
       .word = "gtopk",
       .summary = "top-k, merged pairwise to k again at every level of a tree "
                  "(gTop-k)",
       .parameters = {count("count")},
       .bytes = sparseBytes,
       .isMergeable = true,
       .needsFeedback = true},
      {.id = EncodingId::Dgc,
       .word = "dgc",
       .summary = "top-k by a sampled threshold, capped at `count` and padded "
                  "(DGC)",
       .parameters = {count("count")},
       .bytes = sparseBytes,
       .needsFeedback = true},
      {.id = EncodingId::Randomk,
       .word = "randomk",
       .summary = "`count` elements at indices that all ranks draw alike; can "
                  "be all-reduced",
       .parameters = {count("count")},
       .bytes = sampledBytes,
       .isLinear = true,
       .isDeterministic = false},
  };
}

constexpr std::string_view kNoneWord = "none";

bool isWire(const EncodingRow &row) {
  return row.isOffered && !row.needsFeedback;
}

/// The shortest text that reads back as the same number.
std::string numberText(double value) {
  char text[32];
  auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
  assert(error == std::errc());
  return {text, end};
}

/// Its name and range: `block of at least 1`, `levels from 1 to 127`.
std::string describe(const EncodingParameter &parameter) {
  std::string text(parameter.name);
  if (parameter.most == kMostElements)
    return text + " of at least " + numberText(parameter.least);
  return text + " from " + numberText(parameter.least) + " to " +
         numberText(parameter.most);
}

} // namespace

bool EncodingRow::supports(DataType elementType) const {
  return std::find(elementTypes.begin(), elementTypes.end(), elementType) !=
         elementTypes.end();
}

const std::vector<EncodingRow> &getEncodings() {
  static const std::vector<EncodingRow> kRows = [] {
    std::vector<EncodingRow> rows = casts();
    for (const auto &more : {quantizers(), sparsifiers()})
      rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  }();
  return kRows;
}

const EncodingRow *findEncoding(EncodingId id) {
  for (const EncodingRow &row : getEncodings())
    if (row.id == id)
      return &row;
  return nullptr;
}

const EncodingRow *findEncoding(std::string_view word) {
  for (const EncodingRow &row : getEncodings())
    if (row.word == word)
      return &row;
  return nullptr;
}

const EncodingRow &rowOf(const Encoding &encoding) {
  const EncodingRow *row = findEncoding(encoding.id);
  assert(row && "none has no row");
  return *row;
}

int64_t encodedBytes(const Encoding &encoding, int64_t count,
                     int64_t elementBytes) {
  return encoding.isNone() ? count * elementBytes
                           : rowOf(encoding).bytes(count, encoding);
}

int64_t encodedSlotBytes(const Encoding &encoding, int64_t count,
                         int64_t elementBytes) {
  int64_t bytes = encodedBytes(encoding, count, elementBytes);
  if (encoding.isNone())
    return bytes;
  int64_t alignment = rowOf(encoding).alignment;
  return (bytes + alignment - 1) / alignment * alignment;
}

bool isReducible(const Encoding &encoding) {
  return encoding.isNone() || rowOf(encoding).castTo.has_value();
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

std::string checkParameters(const Encoding &encoding) {
  if (encoding.isNone())
    return "";
  const EncodingRow &row = rowOf(encoding);
  for (size_t i = 0; i < kMaxEncodingParameters; ++i) {
    double value = encoding.parameters[i];
    if (i >= row.parameters.size()) {
      if (value != 0)
        return "expected " + std::to_string(row.parameters.size()) +
               " parameters of " + std::string(row.word) + ", found more";
      continue;
    }
    const EncodingParameter &parameter = row.parameters[i];
    bool isInRange = value >= parameter.least && value <= parameter.most;
    if (!isInRange || (parameter.isWhole && value != std::floor(value)))
      return "expected " + describe(parameter) + ", found " + numberText(value);
  }
  return "";
}

std::string encodingText(const Encoding &encoding, bool saysAll) {
  if (encoding.isNone())
    return std::string(kNoneWord);
  const EncodingRow &row = rowOf(encoding);
  std::string said;
  for (size_t i = 0; i < row.parameters.size(); ++i)
    if (saysAll || row.parameters[i].otherwise != encoding.parameters[i])
      said += (said.empty() ? "" : ";") + std::string(row.parameters[i].name) +
              "=" + numberText(encoding.parameters[i]);
  std::string word(row.word);
  return said.empty() ? word : word + "<" + said + ">";
}

std::vector<std::string_view> wireWords() {
  std::vector<std::string_view> words = {kNoneWord};
  for (const EncodingRow &row : getEncodings())
    if (isWire(row))
      words.push_back(row.word);
  return words;
}

/// `name=value` into the encoding; returns what is wrong with it.
static std::string
readParameter(const EncodingRow &row, std::string_view text, Encoding &encoding,
              std::array<bool, kMaxEncodingParameters> &set) {
  size_t equals = std::min(text.find('='), text.size());
  std::string_view name = text.substr(0, equals);
  std::string_view number = text.substr(std::min(equals + 1, text.size()));
  for (size_t i = 0; i < row.parameters.size(); ++i) {
    if (row.parameters[i].name != name || set[i])
      continue;
    const char *end = number.data() + number.size();
    auto [rest, error] =
        std::from_chars(number.data(), end, encoding.parameters[i]);
    set[i] = true;
    return error == std::errc() && rest == end
               ? ""
               : "expected a number for " + std::string(name) + " of " +
                     std::string(row.word) + ", found '" + std::string(number) +
                     "'";
  }
  return "expected each parameter of " + std::string(row.word) +
         " once, as NAME=NUMBER, found '" + std::string(text) + "'";
}

/// `name=value;...`; returns what is wrong with it.
static std::string readParameters(const EncodingRow &row, std::string_view text,
                                  Encoding &encoding) {
  std::array<bool, kMaxEncodingParameters> set = {};
  while (!text.empty()) {
    size_t end = std::min(text.find(';'), text.size());
    if (std::string wrong =
            readParameter(row, text.substr(0, end), encoding, set);
        !wrong.empty())
      return wrong;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  for (size_t i = 0; i < row.parameters.size(); ++i) {
    const EncodingParameter &parameter = row.parameters[i];
    if (set[i])
      continue;
    if (!parameter.otherwise)
      return "expected " + std::string(parameter.name) + " for " +
             std::string(row.word) + ", found none";
    encoding.parameters[i] = *parameter.otherwise;
  }
  return checkParameters(encoding);
}

ParsedEncoding parseWire(std::string_view text) {
  ParsedEncoding parsed;
  if (text == kNoneWord)
    return parsed;
  size_t angle = std::min(text.find('<'), text.size());
  const EncodingRow *row = findEncoding(text.substr(0, angle));
  bool isClosed = angle == text.size() || text.back() == '>';
  if (!row || !isWire(*row) || !isClosed) {
    parsed.error = "expected " + joinWords(wireWords(), ", ", " or ") +
                   ", found '" + std::string(text) + "'";
    return parsed;
  }
  parsed.encoding.id = row->id;
  std::string_view parameters;
  if (angle < text.size())
    parameters = text.substr(angle + 1, text.size() - angle - 2);
  parsed.error = readParameters(*row, parameters, parsed.encoding);
  return parsed;
}

} // namespace bagua
