//===- ScheduleGenerator.h - Random steps scheduled by hand ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps with several streams, in-place updates, reused staging memory and the
// `after` that these need: what placement will write once it reuses memory.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_SCHEDULEGENERATOR_H
#define BAGUA_UNITTESTS_PROOFS_SCHEDULEGENERATOR_H

#include "Random.h"

#include <string>

namespace bagua::proofs {

/// The text of a module with one scheduled step. Not every one is free of
/// races: the order that a reuse of memory needs is written down only most of
/// the time.
std::string generateSchedule(Random &random);

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_SCHEDULEGENERATOR_H
