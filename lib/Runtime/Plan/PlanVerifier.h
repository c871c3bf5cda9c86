//===- PlanVerifier.h - Whether a plan's fields mean something ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second check on load. Takes a buffer that passed FlatBuffers' verifier
// and trusts nothing in it: whatever the bytes, it ends in time proportional to
// the file's size and allocates no more than that.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_PLAN_PLANVERIFIER_H
#define BAGUA_LIB_RUNTIME_PLAN_PLANVERIFIER_H

#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Runtime/PlanLayout.h"
#include "bagua/Support/Limits.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bagua::runtime {

// Larger than any cluster and tensor, and small enough that sums and products
// of a few of them fit 63 bits.
inline constexpr int64_t kMaxRanks = int64_t{1} << 20;
inline constexpr int64_t kMaxElements = int64_t{1} << 44;
/// A step of three days.
inline constexpr int64_t kMaxStepNs = int64_t{1} << 48;
inline constexpr size_t kMaxAxes = 32;
inline constexpr size_t kMaxStreams = 64;
inline constexpr size_t kMaxInstructions = size_t{1} << 24;

/// A value or tensor, decoded once.
struct VerifiedValue {
  fb::DataType type = fb::DataType::Float32;
  int64_t count = 0;
  /// Index into PlanVerifier::layouts: equal layouts have equal numbers.
  int layout = 0;
  /// Index into PlanVerifier::forms, likewise; 0 for elements as they are.
  int form = 0;
  /// Whether dedicated servers store it, too, though it has no layout; false
  /// where there are none.
  bool isOnEveryRank = false;
  /// The bytes on the rank that stores most.
  int64_t maxBytes = 0;
  /// The alignment of its first byte.
  int64_t alignment = 1;
  /// Where: a tensor's number, or -1 - an arena's; and the bytes in it.
  int64_t space = 0;
  int64_t offset = 0;

  int64_t end() const { return offset + maxBytes; }
  bool overlaps(const VerifiedValue &other) const {
    return space == other.space && offset < other.end() && other.offset < end();
  }
  bool hasPlaceOf(const VerifiedValue &other) const {
    return space == other.space && offset == other.offset;
  }
  bool isEncoded() const { return form != 0; }
  /// Element type, count, layout and encoding.
  bool hasTypeOf(const VerifiedValue &other) const {
    return hasTensorOf(other) && form == other.form;
  }
  /// The same but for the encoding.
  bool hasTensorOf(const VerifiedValue &other) const {
    return type == other.type && count == other.count && layout == other.layout;
  }
};

class PlanVerifier {
public:
  PlanVerifier(const fb::Plan &root, size_t fileBytes)
      : plan(root), listBudget(static_cast<int64_t>(fileBytes)),
        shape(Topology({}), false, {}) {}

  absl::Status verify();

  const PlanCluster &cluster() const { return shape; }
  const Layout &layoutOf(const VerifiedValue &value) const {
    return layouts[value.layout];
  }
  const EncodedForm &formOf(const VerifiedValue &value) const {
    return forms[value.form];
  }
  /// The number of a layout; a new one if it is new.
  int internLayout(const Layout &layout);
  const std::vector<VerifiedValue> &values() const { return valueInfos; }
  const std::vector<VerifiedValue> &tensors() const { return tensorInfos; }

  /// `axes` in range, ascending. Null is the empty list.
  absl::Status verifyAxes(const flatbuffers::Vector<uint32_t> *axes);
  /// The layout's number.
  absl::StatusOr<int> verifyLayout(
      const flatbuffers::Vector<flatbuffers::Offset<fb::LayoutEntry>> *entries);
  /// Every element below `limit`; `what` names them. Null is the empty list.
  absl::Status verifyIndices(const flatbuffers::Vector<uint32_t> *indices,
                             size_t limit, absl::string_view what);
  /// Places below `groupSize` in turn, of who sends and of who gets it; nobody
  /// sends twice or gets twice. Null is the empty list.
  absl::Status verifyPairs(const flatbuffers::Vector<uint32_t> *pairs,
                           int64_t groupSize);
  /// FlatBuffers lets tables share lists. All lists together may be as long as
  /// if each were stored on its own, which bounds the time of verification.
  absl::Status spend(size_t listLength);

private:
  absl::Status verifyCluster();
  absl::Status verifyStorage();
  absl::StatusOr<VerifiedValue> verifyTensor(const fb::Tensor &tensor);
  absl::StatusOr<VerifiedValue> verifyValue(const fb::Value &value);
  absl::Status verifyTensors();
  absl::Status verifyPhases();
  absl::Status verifySteps();
  absl::Status measure(fb::DataType type, int64_t count, int layout,
                       VerifiedValue &info);
  absl::Status verifyEncoding(const fb::Value &value, VerifiedValue &info);
  absl::Status verifyArenaPlace(const VerifiedValue &info, int64_t arena);

  const fb::Plan &plan;
  int64_t listBudget;
  PlanCluster shape;
  std::vector<Layout> layouts;
  /// By the layout's contents.
  std::map<std::vector<int64_t>, int> layoutNumbers;
  /// The first is of elements as they are.
  std::vector<EncodedForm> forms = {EncodedForm()};
  std::vector<VerifiedValue> tensorInfos;
  std::vector<VerifiedValue> valueInfos;
};

/// Integers, of which a mean is not defined.
inline bool isInteger(fb::DataType type) {
  return type == fb::DataType::Int8 || type == fb::DataType::Int32 ||
         type == fb::DataType::Int64;
}

/// The product of the sizes. InvalidArgument for more than kMaxAxes of them, a
/// negative one, or more than kMaxElements in all. Null is the empty list.
absl::StatusOr<int64_t>
countElements(const flatbuffers::Vector<int64_t> *shape);

/// Verifies an instruction's values and attributes by the rules of its opcode;
/// in InstructionVerifier.cpp.
absl::Status verifyInstruction(PlanVerifier &verifier,
                               const fb::Instruction &instruction);

/// Everything of one step; in PlanStepVerifier.cpp. `runsBeforeIteration` says
/// that a row of `at` runs it.
absl::Status verifyStep(PlanVerifier &verifier, const fb::Plan &plan,
                        const fb::Step &step, bool runsBeforeIteration);

/// Verifies the contract of a step whose other fields are verified; in
/// ContractVerifier.cpp.
absl::Status verifyContract(PlanVerifier &verifier, const fb::Plan &plan,
                            const fb::Step &step);

/// Everything. The error's message names the field.
absl::StatusOr<PlanCluster> verifyPlan(const fb::Plan &plan, size_t fileBytes);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_PLAN_PLANVERIFIER_H
