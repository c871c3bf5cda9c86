//===- StepAgreement.h - The facts that a step's collectives carry --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts that a program states of its steps and of the tensors it gives, as
// the words that collectives carry. A collective of a stream carries the facts
// of its step, and those of all tensors that are given before it can start. The
// plan says which tensors these are, so that all ranks name the same.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_STEPAGREEMENT_H
#define BAGUA_LIB_RUNTIME_SESSION_STEPAGREEMENT_H

#include "Session/StreamPrograms.h"

#include "bagua/Runtime/Agreement.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Support/StepsInFlight.h"

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace bagua::runtime {

class StepAgreement {
public:
  explicit StepAgreement(const Plan &plan);

  // For the program's thread.

  /// States a fact of all steps that are opened from now on.
  void set(absl::string_view name, uint64_t value, absl::string_view meaning);
  /// States a fact of a tensor, from the next time it is given.
  void setTensor(uint32_t tensor, uint64_t value, absl::string_view meaning);
  /// Applies the stated facts to `step`. The last step but one before it has
  /// ended.
  void open(int64_t step);
  void give(uint32_t tensor, int64_t step) {
    given[sideOf(step)][tensor] = stated[tensor];
  }

  // For the streams: for a step that is open, and for tensors that were given
  // in it.

  /// Whether anything is stated of the step.
  bool isStated(int64_t step) const { return opened[sideOf(step)].isStated; }
  /// The shares of a word (agreementShare).
  uint64_t shareOfStep(int64_t step) const {
    return opened[sideOf(step)].share;
  }
  uint64_t shareOf(uint32_t tensor, int64_t step) const {
    return agreementShare(kTensors + tensor, given[sideOf(step)][tensor]);
  }

  /// The facts of a step, and the fact of a tensor that was given in it.
  const std::vector<uint64_t> &valuesOfStep(int64_t step) const {
    return opened[sideOf(step)].values;
  }
  uint64_t valueOf(uint32_t tensor, int64_t step) const {
    return given[sideOf(step)][tensor];
  }
  size_t tensorCount() const { return stated.size(); }
  /// Facts are numbered: those of the step first, then those of tensors.
  std::string nameOf(size_t fact, int64_t step) const;
  std::string meaningOf(size_t fact, int64_t step) const;

private:
  /// Numbers of tensors' facts start here, so that their shares differ from
  /// those of a step's facts.
  static constexpr uint64_t kTensors = 1 << 20;

  static size_t sideOf(int64_t step) {
    return static_cast<size_t>(step % kStepsInFlight);
  }

  struct StepFacts {
    std::vector<uint64_t> values;
    uint64_t share = 0;
    bool isStated = false;
  };

  const Plan &plan;
  std::vector<uint64_t> stated;
  bool isAnyStated = false;
  std::array<StepFacts, kStepsInFlight> opened;
  std::array<std::vector<uint64_t>, kStepsInFlight> given;

  /// Guards what programs change and streams read when they have failed.
  mutable std::mutex mutex;
  /// The facts of steps.
  Agreement facts;
  /// The meanings of tensors' facts, by tensor and value.
  std::map<std::pair<uint32_t, uint64_t>, std::string> meanings;
};

/// The facts behind the word of one collective, in steps of one side.
class CollectiveFacts final : public AgreedFacts {
public:
  /// `carriers` are the collective and those before it in its stream, whose
  /// tensors its word covers. All arguments outlive this object.
  CollectiveFacts(const StepAgreement &agreement,
                  absl::Span<const ScheduledInstruction> carriers, int64_t step)
      : agreement(agreement), carriers(carriers), step(step) {}

  std::vector<uint64_t> values() const override;
  /// A barrier carries no facts of tensors.
  size_t carried() const override {
    return agreement.valuesOfStep(step).size() +
           (carriers.empty() ? 0 : agreement.tensorCount());
  }
  std::string nameOf(size_t fact) const override {
    return agreement.nameOf(fact, step);
  }
  std::string meaningOf(size_t fact) const override {
    return agreement.meaningOf(fact, step);
  }

private:
  const StepAgreement &agreement;
  const absl::Span<const ScheduledInstruction> carriers;
  const int64_t step;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_STEPAGREEMENT_H
