//===- Disagreement.h - In which fact members differ ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Members whose words of an agreement differ know that from each other's calls,
// all of them or none. Then they show each other their facts, by collectives of
// the same communicator: values first, then the words of the one that differs.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_DISAGREEMENT_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_DISAGREEMENT_H

#include "bagua/Runtime/Agreement.h"
#include "bagua/Runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <string>

namespace bagua::runtime {

/// Marks the error of calls whose words differ, where all have stated facts.
void markDisagreement(absl::Status &status);
bool isDisagreement(const absl::Status &status);

/// "the number of the forward is 3 on rank 1; 4 on rank 0, 2": the first fact
/// in which members differ; empty where it is none that all of them carry.
/// Collective over the members, whose words are 0 for
/// that long; errors are the communicator's. O(members x facts) memory.
absl::StatusOr<std::string>
describeDisagreement(Communicator &communicator,
                     absl::Span<const int> worldRanks,
                     const AgreedFacts &facts);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_DISAGREEMENT_H
