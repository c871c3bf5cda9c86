//===- UpdateRulesTest.cpp - Rows of optimizers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that plans hold, and each message about a wrong update.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/UpdateRules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

using namespace bagua;

TEST(UpdateRulesTest, NumbersArePartOfTheFormat) {
  const char *words[] = {"sgd", "adam", "adam_apply"};
  ASSERT_EQ(getUpdateRules().size(), std::size(words));
  for (size_t number = 0; number < std::size(words); ++number) {
    const UpdateRow &row = getUpdateRules()[number];
    EXPECT_EQ(static_cast<size_t>(row.rule), number);
    EXPECT_EQ(row.word, words[number]);
    EXPECT_EQ(findUpdateRule(row.word), &row);
    EXPECT_EQ(findUpdateRule(row.rule), &row);
  }
  EXPECT_EQ(findUpdateRule("adagrad"), nullptr);
  EXPECT_EQ(findUpdateRule(static_cast<UpdateRule>(200)), nullptr);
}

/// Each row is sound: there is a work for each number of states, and names of
/// constants differ.
TEST(UpdateRulesTest, RowsAreSound) {
  for (const UpdateRow &row : getUpdateRules()) {
    EXPECT_GE(row.leastStates, 1u) << row.word;
    EXPECT_EQ(row.works.size(), row.states.size() - row.leastStates + 1)
        << row.word;
    std::set<std::string_view> names;
    for (const UpdateConstant &constant : row.constants)
      EXPECT_TRUE(names.insert(constant.name).second) << row.word;
  }
}

struct WrongUpdate {
  UpdateRule rule;
  size_t states;
  std::vector<float> constants;
  BiasCorrection correction;
  const char *message;
};

TEST(UpdateRulesTest, SaysWhatIsWrong) {
  using Correction = BiasCorrection;
  const std::vector<float> betas = {0.9f, 0.999f, 1e-8f, 0};
  const WrongUpdate cases[] = {
      {UpdateRule::Sgd, 1, {}, Correction::None, ""},
      {UpdateRule::Sgd, 2, {0.9f}, Correction::None, ""},
      {UpdateRule::Sgd,
       3,
       {0.9f},
       Correction::None,
       "expected 1 or 2 states (param and momentum) of sgd, found 3"},
      {UpdateRule::Sgd,
       0,
       {},
       Correction::None,
       "expected 1 or 2 states (param and momentum) of sgd, found 0"},
      {UpdateRule::Sgd,
       1,
       {0.9f},
       Correction::None,
       "expected no constants of sgd with 1 state, found 1 constant"},
      {UpdateRule::Sgd,
       2,
       {INFINITY},
       Correction::None,
       "expected a momentum of sgd that is finite, found inf"},
      {UpdateRule::Sgd,
       1,
       {},
       Correction::StepSize,
       "expected no bias correction of sgd, found step_size"},
      {UpdateRule::Adam, 3, betas, Correction::Moments, ""},
      {UpdateRule::Adam,
       3,
       {0.9f, 1, 1e-8f, 0},
       Correction::None,
       "expected a beta2 of adam of at least 0 and below 1, found 1"},
      {UpdateRule::Adam,
       3,
       {NAN, 0, 1e-8f, 0},
       Correction::None,
       "expected a beta1 of adam of at least 0 and below 1, found nan"},
      {UpdateRule::AdamApply, 1, {1e-8f}, Correction::None, ""},
      {UpdateRule::AdamApply, 1, {1e-8f, 0.9f, 0.99f}, Correction::Moments, ""},
      {UpdateRule::AdamApply,
       1,
       {1e-8f},
       Correction::Moments,
       "expected eps, beta1 and beta2 of adam_apply with 1 state and bias "
       "correction moments, found 1 constant"},
  };
  for (const WrongUpdate &wrong : cases)
    EXPECT_EQ(checkUpdate(rowOf(wrong.rule), wrong.states, wrong.constants,
                          wrong.correction),
              wrong.message);
}
