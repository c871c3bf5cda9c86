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
enum class UpdateRule : uint8_t {
  Sgd = 0,
  Adam = 1,
  AdamApply = 2,
  /// You et al., 2020.
  Lamb = 3,
  /// You et al., 2017, whose momentum is of directions.
  Lars = 4,
  /// The same with a momentum of steps.
  LarsTrace = 5,
};

/// On what a new state's element depends, besides the same elements of states
/// and inputs.
enum class UpdateLocality : uint8_t {
  Element,
  /// On the norms of the whole param and of the whole direction, a function of
  /// the elements of states and gradient.
  TensorNorm,
};

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
  /// A usual value, for measurements.
  float usual = 0;
  When when = When::Always;
  /// Finite values alone, or those of at least 0 and below 1.
  bool isShare = false;
};

/// The opcode of an update that names its rule.
inline constexpr uint8_t kUpdateOpcode = 23;

struct UpdateRow {
  UpdateRule rule;
  /// In contracts and messages.
  std::string_view word;
  /// The names of all of its states, the param first.
  std::vector<std::string_view> states;
  /// The last states may be missing from here on.
  size_t leastStates = states.size();
  /// Tensors that it reads after the states: the gradient, or given moments.
  size_t inputs = 1;
  /// In the order of plans.
  std::vector<UpdateConstant> constants = {};
  bool correctsBias = false;
  UpdateLocality locality = UpdateLocality::Element;
  /// The names of its work in measurements of a host: by number of states, from
  /// `leastStates` on.
  std::vector<std::string_view> works = {};
  /// A contract may speak of it: a check repeats its arithmetic.
  bool isPromised = true;
  /// In plans. It has an op of its own, under its word, if it has an opcode of
  /// its own; otherwise it is a `bagua.update`.
  uint8_t opcode = kUpdateOpcode;

  bool hasOwnOp() const { return opcode != kUpdateOpcode; }
  bool needsNorms() const { return locality == UpdateLocality::TensorNorm; }
};

/// By number.
const std::vector<UpdateRow> &getUpdateRules();

/// Null for a number or word that no row has.
const UpdateRow *findUpdateRule(UpdateRule rule);
const UpdateRow *findUpdateRule(std::string_view word);

/// The row of an instruction's update; null for other opcodes, and for the
/// number of a rule that has an opcode of its own.
const UpdateRow *findUpdate(uint8_t opcode, uint8_t rule);

/// The row of a rule that is there.
const UpdateRow &rowOf(UpdateRule rule);

/// The words of all rules of which a contract may speak.
std::vector<std::string_view> promisedUpdates();

/// The words of all rules without an op of their own.
std::vector<std::string_view> generalUpdates();

/// The work of an update of so many states, whose number is right.
std::string_view workOf(const UpdateRow &row, size_t states);

/// All works of updates, in alphabetic order.
std::vector<std::string_view> updateWorks();

/// The constants that an update has.
std::vector<const UpdateConstant *>
constantsOf(const UpdateRow &row, size_t states, BiasCorrection correction);

/// Describes what is wrong with an update's states, constants and bias
/// correction; empty if nothing.
std::string checkUpdate(const UpdateRow &row, size_t states,
                        const std::vector<float> &constants,
                        BiasCorrection correction);

} // namespace bagua

#endif // BAGUA_SUPPORT_UPDATERULES_H
