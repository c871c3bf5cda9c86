//===- UpdateRules.h - How optimizers make new states ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row for each optimizer: its word, its states, its constants, and whether
// it corrects a bias. The dialect's verifiers, contracts, plans, kernels,
// checks and the importer all ask the row. What an optimizer computes is its
// kernel's (lib/Runtime/Kernels/Updates), and once more, independently, the
// check's (lib/Replay/Updates).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_UPDATERULES_H
#define BAGUA_SUPPORT_UPDATERULES_H

#include "bagua/Support/Words.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bagua {

/// The numbers are part of the plan format: append, never renumber.
enum class UpdateRule : uint8_t { Sgd = 0, Adam = 1, AdamApply = 2 };

/// How the bias of Adam's moments is corrected. The numbers are part of the
/// plan format.
enum class BiasCorrection : uint8_t {
  None = 0,
  /// Each moment (Kingma and Ba, 2015, algorithm 1).
  Moments = 1,
  /// The step's size (the same, end of section 2).
  StepSize = 2,
};

template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<BiasCorrection> = {
    "none", "moments", "step_size"};

struct UpdateConstant {
  enum class When {
    Always,
    /// If the update has all of the row's states.
    AllStates,
    /// If the update corrects a bias.
    BiasCorrection,
  };

  std::string_view name;
  /// What it often is, for measurements.
  float usual = 0;
  When when = When::Always;
  /// Finite values alone, or those of at least 0 and below 1.
  bool isShare = false;
};

struct UpdateRow {
  UpdateRule rule;
  /// In contracts and messages.
  std::string_view word;
  /// Of all of its states, the param first.
  std::vector<std::string_view> states;
  /// The last states may be missing from here on.
  size_t leastStates = states.size();
  /// Tensors that it reads after the states: the gradient, or given moments.
  size_t inputs = 1;
  /// In the order of plans.
  std::vector<UpdateConstant> constants = {};
  bool correctsBias = false;
  /// The names of its work in measurements of a host: by number of states, from
  /// `leastStates` on.
  std::vector<std::string_view> works = {};
  /// A contract may speak of it: a check repeats its arithmetic.
  bool isPromised = true;
};

/// By number.
const std::vector<UpdateRow> &getUpdateRules();

/// Null for a number or word that no row has.
const UpdateRow *findUpdateRule(UpdateRule rule);
const UpdateRow *findUpdateRule(std::string_view word);

/// The row of a rule that is there.
const UpdateRow &rowOf(UpdateRule rule);

/// The words of all rules of which a contract may speak.
std::vector<std::string_view> promisedUpdates();

/// The work of an update of so many states, whose number is right.
std::string_view workOf(const UpdateRow &row, size_t states);

/// All works of updates, in alphabetic order.
std::vector<std::string_view> updateWorks();

/// The constants that an update has.
std::vector<const UpdateConstant *>
constantsOf(const UpdateRow &row, size_t states, BiasCorrection correction);

/// What is wrong with an update's states, constants and bias correction; empty
/// if nothing.
std::string checkUpdate(const UpdateRow &row, size_t states,
                        const std::vector<float> &constants,
                        BiasCorrection correction);

} // namespace bagua

#endif // BAGUA_SUPPORT_UPDATERULES_H
