//===- GraphGenerator.h - Random valid steps at graph level ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small steps over small clusters that use every synchronous method of
// docs/Rationale.md: buckets, parts, hierarchies, shards, servers, casts, other
// axes, exchanges.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_GRAPHGENERATOR_H
#define BAGUA_UNITTESTS_PROOFS_GRAPHGENERATOR_H

#include "Random.h"

#include <string>

namespace bagua::proofs {

/// The text of a module with a cluster and one step, which verify and pass the
/// graph proof.
std::string generateGraph(Random &random);

/// The same step as imported: without communication of gradients.
std::string generateImported(Random &random);

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_GRAPHGENERATOR_H
