//===- Encodings.h - How tensors are encoded to be sent -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row for each encoding: its word, its parameters, the bytes of an encoded
// part, and what may be done with encoded values. Attributes of the dialect,
// prices, plans and the runtime all ask the row. What an encoding computes is
// its kernel's (lib/Runtime/Kernels/Encodings).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_ENCODINGS_H
#define BAGUA_SUPPORT_ENCODINGS_H

#include "bagua/Support/DataType.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bagua {

/// The numbers are part of the plan format: append, never renumber.
enum class EncodingId : uint8_t {
  /// Elements as they are.
  None = 0,
  Float16 = 1,
  BFloat16 = 2,
  MinmaxUint8 = 3,
  Fp8E4M3 = 4,
  Qsgd = 5,
  Onebit = 6,
  Signsgd = 7,
  Efsignsgd = 8,
  Topk = 9,
  Gtopk = 10,
  Dgc = 11,
  Randomk = 12,
};

inline constexpr size_t kMaxEncodingParameters = 2;

/// An encoding and its parameters, in the order of the row's; 0 for those that
/// the row doesn't have.
struct Encoding {
  EncodingId id = EncodingId::None;
  std::array<double, kMaxEncodingParameters> parameters = {};

  bool isNone() const { return id == EncodingId::None; }
  /// A parameter that is a whole number.
  int64_t whole(size_t index) const {
    return static_cast<int64_t>(parameters[index]);
  }

  friend bool operator==(const Encoding &a, const Encoding &b) {
    return a.id == b.id && a.parameters == b.parameters;
  }
  friend bool operator!=(const Encoding &a, const Encoding &b) {
    return !(a == b);
  }
};

struct EncodingParameter {
  std::string_view name;
  bool isWhole;
  /// Inclusive.
  double least;
  double most;
  /// Where a text leaves it out; nothing: no text may.
  std::optional<double> otherwise = std::nullopt;
};

/// A part is what one encode makes of consecutive elements; statistics (a
/// minimum, a norm, a scale) belong to a part.
struct EncodingRow {
  EncodingId id;
  /// In texts of strategies, attributes of the dialect, and plans.
  std::string_view word;
  /// For manuals: a noun phrase.
  std::string_view summary;
  std::vector<EncodingParameter> parameters = {};
  /// Bytes of a part of `count` elements, 0 for none.
  int64_t (*bytes)(int64_t count, const Encoding &encoding) = nullptr;
  /// For a cast, the element type of the encoded tensor. Every op works on such
  /// tensors, so sums of them stay collectives that reduce.
  std::optional<DataType> castTo = std::nullopt;
  /// Encoded values may be added element by element.
  bool isLinear = false;
  /// Encoded values merge pairwise in a fixed tree order.
  bool isMergeable = false;
  /// The same input encodes to the same bytes, without a seed.
  bool isDeterministic = true;
  /// The error of the encoding must be added to the value that is encoded next:
  /// the encoding is biased, and training does not converge otherwise.
  bool needsFeedback = false;
  /// The alignment of a part in memory, in bytes.
  int64_t alignment = 32;
  std::vector<DataType> elementTypes = {DataType::Float32, DataType::Float16,
                                        DataType::BFloat16};
  /// The largest difference between an element and what becomes of it, relative
  /// to the largest magnitude in its part, or to 1 if that is smaller; 0: no
  /// such bound is known.
  double relativeError = 0;
  /// The runtime has a kernel for it, or is a cast.
  bool isOffered = false;

  bool supports(DataType elementType) const;
};

/// All but None.
const std::vector<EncodingRow> &getEncodings();

/// Null for None and for a number or word that no row has.
const EncodingRow *findEncoding(EncodingId id);
const EncodingRow *findEncoding(std::string_view word);

/// The row of an encoding that is not None.
const EncodingRow &rowOf(const Encoding &encoding);

/// Bytes of `count` elements of `elementBytes` each, encoded as one part.
int64_t encodedBytes(const Encoding &encoding, int64_t count,
                     int64_t elementBytes);

/// The same rounded up to where the next part may begin.
int64_t encodedSlotBytes(const Encoding &encoding, int64_t count,
                         int64_t elementBytes);

/// Whether collectives that reduce work on encoded values as on tensors: those
/// of None and of casts.
bool isReducible(const Encoding &encoding);

/// Describes what is wrong with the parameters; empty if nothing. The encoding
/// must have a row.
std::string checkParameters(const Encoding &encoding);

/// `none`, `bf16`, `minmax_uint8`, `qsgd<levels=7;block=256>`: parameters that
/// are what a text without them means are left out, unless it is to say all.
std::string encodingText(const Encoding &encoding, bool saysAll = false);

struct ParsedEncoding {
  Encoding encoding;
  /// Names what was found and what was expected; empty if the text is right.
  std::string error;
};

/// The inverse of encodingText, of what can be sent in place of a tensor: the
/// runtime offers it, and it needs no feedback.
ParsedEncoding parseWire(std::string_view text);

/// The words that parseWire knows, in order, `none` first.
std::vector<std::string_view> wireWords();

} // namespace bagua

#endif // BAGUA_SUPPORT_ENCODINGS_H
