//===- Disagreement.h - Names a fact in which members differ --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If members' words of an agreement differ, all members find this in each
// other's calls. They then exchange their facts by collectives of the same
// communicator: first the values, then the text of the fact that differs.
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

/// Marks the error of calls whose words differ although all members have stated
/// facts.
void markDisagreement(absl::Status &status);
bool isDisagreement(const absl::Status &status);

/// The first fact in which members differ, as in "the number of the forward is
/// 3 on rank 1; 4 on rank 0, 2". Empty if it is none of those that all members
/// carry. Collective over the members, whose words must be 0 meanwhile; errors
/// are the communicator's. O(members x facts) memory.
absl::StatusOr<std::string>
describeDisagreement(Communicator &communicator,
                     absl::Span<const int> worldRanks,
                     const AgreedFacts &facts);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_DISAGREEMENT_H
