//===- MakeTestPlan.cpp - Writes a plan for tests of tools ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bagua-make-test-plan RANKS [SCALE [NAME]] > plan.bagua, with a NUL byte for
// each @ of the name, or bagua-make-test-plan every > plan.bagua, with every
// opcode; `--text` and `--json` print the plan on standard input instead.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>

using namespace bagua::runtime;

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "4";
  if (what == "--text" || what == "--json") {
    std::string bytes{std::istreambuf_iterator<char>(std::cin),
                      std::istreambuf_iterator<char>()};
    auto plan = Plan::fromBytes(std::move(bytes));
    if (!plan.ok()) {
      std::cerr << plan.status() << "\n";
      return 1;
    }
    std::cout << (what == "--text" ? planToText(**plan) : planToJson(**plan));
    return 0;
  }
  if (what == "every") {
    std::cout << test::makeEveryOpcodePlan().bytes();
    return 0;
  }
  int64_t scale = argc > 2 ? std::atoll(argv[2]) : 1;
  test::PlanBuilder plan = test::makeDdpPlan(std::atoll(what.c_str()), scale);
  if (argc > 3) {
    plan.plan.name = argv[3];
    std::replace(plan.plan.name.begin(), plan.plan.name.end(), '@', '\0');
  }
  std::cout << plan.bytes();
  return 0;
}
